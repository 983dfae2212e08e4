// Calls between tags, or alone, whose arguments are JSON; and what readers of several formats
// share.
#include "base/ascii.h"
#include "proto/reply/json_values.h"
#include "proto/reply/reply_machine.h"
#include "proto/tool_name.h"

namespace weft {

// Whether a call of this format may begin with the byte.
bool ReplyParser::Machine::OpensCall(char byte) const {
  if (!options_.parses_calls) return false;
  switch (options_.format.calls) {
    case CallFormat::kPlainJson:
    case CallFormat::kLlama:
    case CallFormat::kGlm4:
    case CallFormat::kHarmony:
    case CallFormat::kSolar:
      return false;
    case CallFormat::kMistral:
    case CallFormat::kMistralNamed:
      return byte == '[';
    case CallFormat::kCommandAction:
      return byte == 'A';
    default:
      return byte == '<';
  }
}

ParseTask<bool> ReplyParser::Machine::ReadCalls() {
  const CallFormat format = options_.format.calls;
  bool read = false;
  if (const auto* listed = FindSyntax(kJsonCallSyntaxes, format)) {
    read = co_await ReadListedCalls(listed->open, listed->close);
  } else if (const auto* xml = FindSyntax(kXmlCallSyntaxes, format)) {
    read = co_await ReadXmlCalls(*xml);
  } else if (const auto* dict = FindSyntax(kDictCallSyntaxes, format)) {
    read = co_await ReadDictCall(dict->open, dict->close);
  } else if (const auto* python = FindSyntax(kPythonCallSyntaxes, format)) {
    read = co_await ReadPythonCalls(python->open, python->close);
  } else if (format == CallFormat::kMistral || format == CallFormat::kMistralNamed) {
    read = co_await ReadMistralCalls();
  } else if (format == CallFormat::kDeepSeekV3 || format == CallFormat::kDeepSeekV31) {
    read = co_await ReadDeepSeekCalls();
  } else if (format == CallFormat::kKimi) {
    read = co_await ReadKimiCalls();
  }
  co_return read;
}

// What `read_call` reads, or a list of it: [a, b].
ParseTask<bool> ReplyParser::Machine::ReadCallList(CallReader read_call) {
  co_await SkipSpace();
  const bool is_list = co_await SkipText("[");
  while (true) {
    co_await SkipSpace();
    const bool read = co_await (this->*read_call)();
    if (!read || !is_list) co_return read;
    Record();
    co_await SkipSpace();
    const bool more = co_await SkipText(",");
    if (more) continue;
    const bool closed = co_await SkipText("]");
    co_return closed;
  }
}

// Up to `end`, which is skipped, as a JSON string, as it arrives. `on_lines`: it may stand on lines
// of its own, whose ends are not part of it.
ParseTask<bool> ReplyParser::Machine::ReadStringUntil(std::string_view end, bool on_lines) {
  const std::string end_on_line = "\n" + std::string(end);
  if (on_lines) co_await SkipText("\n");
  output_.AddArguments("\"");
  while (true) {
    bool ended = co_await SkipText(end);
    if (!ended && on_lines) ended = co_await SkipText(end_on_line);
    if (ended) break;
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return false;
    std::string json;
    AppendJsonEscaped(static_cast<char>(byte), json);
    output_.AddArguments(json);
    Skip();
  }
  output_.AddArguments("\"");
  co_return true;
}

// JSON after an opening tag; the closing one may be missing, or come after too many brackets.
ParseTask<bool> ReplyParser::Machine::ReadListedCalls(std::string_view open,
                                                      std::string_view close) {
  const bool is_keyed = options_.format.calls == CallFormat::kApertus;
  bool read = co_await SkipText(open);
  if (read) {
    read = co_await ReadCallList(is_keyed ? &Machine::ReadKeyedCalls : &Machine::ReadJsonCall);
  }
  if (!read) co_return false;
  Record();
  co_await SkipSpace();
  int byte = co_await input_.Peek();
  while (byte == '}' || byte == ']') {
    Skip();
    co_await SkipSpace();
    byte = co_await input_.Peek();
  }
  const bool closed = co_await SkipText(close);
  co_return closed;
}

ParseTask<bool> ReplyParser::Machine::ReadMistralCalls() {
  bool read = co_await SkipText("[TOOL_CALLS]");
  if (!read) co_return false;
  co_await SkipSpace();
  const int byte = co_await input_.Peek();
  if (byte == '[' || byte == '{') {
    read = co_await ReadCallList(&Machine::ReadJsonCall);
  } else {
    read = co_await ReadMistralNamedCall();
  }
  co_return read;
}

// f[ARGS]{...}, f[CALL_ID]123456789[ARGS]{...} or f{...}
ParseTask<bool> ReplyParser::Machine::ReadMistralNamedCall() {
  std::string name;
  co_await ReadName(name);
  const bool has_id = co_await SkipText("[CALL_ID]");
  if (has_id) {
    std::string id;
    co_await ReadName(id);
  }
  const bool has_tag = co_await SkipText("[ARGS]");
  if (has_id && !has_tag) co_return false;
  co_await SkipSpace();
  const int byte = co_await input_.Peek();
  if (byte != '{' || !BeginCall(name)) co_return false;
  const bool read = co_await ReadArgumentsObject();
  co_return read;
}

ParseTask<> ReplyParser::Machine::ReadName(std::string& name) {
  while (name.size() < kMaxReplyNameBytes) {
    const int byte = co_await input_.Peek();
    if (!IsToolNameCharacter(static_cast<char>(byte))) break;
    name += static_cast<char>(byte);
    Skip();
  }
  co_return {};
}

ParseTask<bool> ReplyParser::Machine::ReadDeepSeekCalls() {
  const bool is_list = co_await SkipText("<｜tool▁calls▁begin｜>");
  bool read = co_await ReadDeepSeekCall();
  if (!read) co_return false;
  while (read) {
    Record();
    co_await SkipSpace();
    read = co_await ReadDeepSeekCall();
  }
  if (!is_list) co_return record_.empty();
  const bool closed = co_await SkipText("<｜tool▁calls▁end｜>");
  co_return closed;
}

ParseTask<bool> ReplyParser::Machine::ReadDeepSeekCall() {
  std::string name;
  bool read = co_await SkipText("<｜tool▁call▁begin｜>");
  if (read) read = co_await ReadUntil("<｜tool▁sep｜>", kMaxReplyNameBytes, name);
  if (!read) co_return false;
  const int byte = co_await input_.Peek();
  const bool is_fenced = byte != '{';  // V3 and R1: the type comes first, then the name
  if (is_fenced) {
    name.clear();
    read = co_await ReadUntil("\n", kMaxReplyNameBytes, name);
    if (read) read = co_await SkipText("```json");
    if (!read) co_return false;
    co_await SkipSpace();
  }
  const int brace = co_await input_.Peek();
  if (brace != '{' || !BeginCall(Trimmed(name, kJsonSpace))) co_return false;
  read = co_await ReadArgumentsObject();
  if (!read) co_return false;
  Record();
  co_await SkipSpace();
  if (is_fenced) {
    co_await SkipText("```");
    co_await SkipSpace();
  }
  read = co_await SkipText("<｜tool▁call▁end｜>");
  co_return read;
}

ParseTask<bool> ReplyParser::Machine::ReadKimiCalls() {
  const bool is_list = co_await SkipText("<|tool_calls_section_begin|>");
  bool read = co_await ReadKimiCall();
  if (!read) co_return false;
  while (read) {
    Record();
    co_await SkipSpace();
    read = co_await ReadKimiCall();
  }
  if (!is_list) co_return record_.empty();
  const bool closed = co_await SkipText("<|tool_calls_section_end|>");
  co_return closed;
}

// The id, "functions.f:0", holds the name.
ParseTask<bool> ReplyParser::Machine::ReadKimiCall() {
  std::string id;
  bool read = co_await SkipText("<|tool_call_begin|>");
  if (read) read = co_await ReadUntil("<|tool_call_argument_begin|>", kMaxReplyNameBytes, id);
  if (!read) co_return false;
  co_await SkipSpace();
  const std::string_view whole = Trimmed(id, kJsonSpace);
  std::string_view name = whole.substr(0, whole.rfind(':'));
  if (name.starts_with("functions.")) name.remove_prefix(std::string_view("functions.").size());
  const int brace = co_await input_.Peek();
  if (brace != '{' || !BeginCall(name, whole)) co_return false;
  read = co_await ReadArgumentsObject();
  if (!read) co_return false;
  Record();
  co_await SkipSpace();
  read = co_await SkipText("<|tool_call_end|>");
  co_return read;
}

// The whole reply is calls, perhaps in a Markdown fence; only the name of a tool tells them from
// other JSON.
ParseTask<bool> ReplyParser::Machine::ReadUntaggedCalls() {
  needs_known_name_ = true;
  if (options_.format.calls == CallFormat::kLlama) {
    const bool is_code = co_await SkipText("<|python_start|>");
    if (!is_code) co_await SkipText("<|python_tag|>");
    const int bracket = co_await input_.Peek();
    const int next = bracket == '[' ? co_await input_.Peek(1) : ParseInput::kEnd;
    if (next != ParseInput::kEnd && IsToolNameCharacter(static_cast<char>(next))) {
      const bool read = co_await ReadCallList(&Machine::ReadPythonCall);
      if (!read) co_return false;
      Record();
      co_await SkipSpace();
      const bool ended = co_await SkipText("<|python_end|>");
      co_return ended;
    }
  }
  if (options_.format.calls == CallFormat::kGlm4) {
    const int byte = co_await input_.Peek();
    if (IsToolNameCharacter(static_cast<char>(byte))) {
      const bool read = co_await ReadGlm4Calls();
      co_return read;
    }
  }
  const bool is_fenced = co_await SkipText("```");
  if (is_fenced) co_await SkipText("json");
  while (true) {
    const bool read = co_await ReadCallList(&Machine::ReadJsonCall);
    if (!read) co_return false;
    Record();
    co_await SkipSpace();
    const bool more = co_await SkipText(";");
    if (!more) break;
  }
  if (!is_fenced) {
    const bool ended = co_await SkipText("<|python_end|>");
    co_return ended;  // otherwise the space that was read is no call
  }
  const bool closed = co_await SkipText("```");
  co_return closed;
}

// A name and its arguments on the line below, perhaps several.
ParseTask<bool> ReplyParser::Machine::ReadGlm4Calls() {
  while (true) {
    std::string name;
    co_await ReadName(name);
    co_await SkipSpace();
    const int brace = co_await input_.Peek();
    if (brace != '{' || !BeginCall(name)) co_return false;
    const bool read = co_await ReadArgumentsObject();
    if (!read) co_return false;
    Record();
    co_await SkipSpace();
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return true;
  }
}

}  // namespace weft
