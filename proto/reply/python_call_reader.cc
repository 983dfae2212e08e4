// f(a=1, b="x"): calls in Python's syntax, with literals for arguments.
#include "base/ascii.h"
#include "base/utf8.h"
#include "proto/reply/json_values.h"
#include "proto/reply/reply_machine.h"
#include "proto/tool_name.h"

namespace weft {

// Between tags, each on a line of its own or all in a list.
ParseTask<bool> ReplyParser::Machine::ReadPythonCalls(std::string_view open,
                                                      std::string_view close) {
  python_open_ = open;
  bool read = co_await SkipText(open);
  if (!read) co_return false;
  co_await SkipSpace();
  const int first = co_await input_.Peek();
  read = co_await ReadCallList(&Machine::ReadPythonCall);
  while (read) {
    Record();
    co_await SkipSpace();
    const bool closed = co_await SkipText(close);
    if (closed) co_return true;
    if (first == '[') co_return false;
    read = co_await ReadPythonCall();
  }
  co_return false;
}

ParseTask<bool> ReplyParser::Machine::ReadPythonCall() {
  std::string name;
  co_await ReadName(name);
  bool read = co_await SkipText("(");
  if (!read) co_return false;
  co_await SkipSpace();
  const bool is_empty = co_await SkipText(")");
  if (is_empty) {
    if (!BeginCall(name)) co_return false;
    output_.AddArguments("{}");
    co_return true;
  }
  // What is no call says so here: arguments have names.
  std::string key;
  co_await ReadName(key);
  co_await SkipSpace();
  read = co_await SkipText("=");
  if (!read || key.empty() || !BeginCall(name)) co_return false;
  output_.AddArguments("{");
  read = co_await ReadPythonArguments(std::move(key));
  co_return read;
}

// From the first value on, and the closing parenthesis.
ParseTask<bool> ReplyParser::Machine::ReadPythonArguments(std::string key) {
  while (true) {
    output_.AddArguments(JsonString(key) + ": ");
    bool read = co_await ReadPythonValue(0);
    if (!read) co_return false;
    co_await SkipSpace();
    const bool more = co_await SkipText(",");
    co_await SkipSpace();
    const bool closed = co_await SkipText(")");
    if (closed) break;
    if (!more) co_return false;
    key.clear();
    co_await ReadName(key);
    co_await SkipSpace();
    read = co_await SkipText("=");
    if (!read || key.empty()) co_return false;
    output_.AddArguments(", ");
  }
  output_.AddArguments("}");
  co_return true;
}

ParseTask<bool> ReplyParser::Machine::ReadPythonValue(int depth) {
  if (depth == kMaxValueDepth) co_return false;
  co_await SkipSpace();
  const int first = co_await input_.Peek();
  bool read = false;
  switch (first) {
    case '"':
    case '\'':
      read = co_await ReadPythonString();
      co_return read;
    case '[':
    case '(':
      Skip();
      read = co_await ReadPythonItems(first == '[' ? ']' : ')', depth);
      co_return read;
    case '{':
      Skip();
      read = co_await ReadPythonItems('}', depth);
      co_return read;
    default:
      break;
  }
  std::string text;
  while (text.size() <= kMaxReplyNameBytes) {
    const int byte = co_await input_.Peek();
    const auto character = static_cast<char>(byte);
    if (byte == ParseInput::kEnd) co_return false;
    if (!IsAsciiAlphanumeric(character) && character != '.' && character != '-' &&
        character != '+') {
      break;
    }
    text += character;
    Skip();
  }
  const std::string json = JsonScalarOf(text);
  output_.AddArguments(json);
  co_return !json.empty();
}

// The items of a list or tuple, or the members of a dictionary, and what closes them.
ParseTask<bool> ReplyParser::Machine::ReadPythonItems(char close, int depth) {
  const bool has_keys = close == '}';
  output_.AddArguments(has_keys ? "{" : "[");
  bool is_first = true;
  while (true) {
    co_await SkipSpace();
    const bool closed = co_await SkipText({&close, 1});
    if (closed) break;
    if (!is_first) output_.AddArguments(", ");
    is_first = false;
    bool read = false;
    if (has_keys) {
      const int quote = co_await input_.Peek();
      if (quote != '"' && quote != '\'') co_return false;
      read = co_await ReadPythonString();
      if (!read) co_return false;
      co_await SkipSpace();
      read = co_await SkipText(":");
      if (!read) co_return false;
      output_.AddArguments(": ");
    }
    read = co_await ReadPythonValue(depth + 1);
    if (!read) co_return false;
    co_await SkipSpace();
    const int next = co_await input_.Peek();
    if (next == ',') {
      Skip();
    } else if (next != close) {
      co_return false;
    }
  }
  output_.AddArguments(has_keys ? "}" : "]");
  co_return true;
}

// As it arrives.
ParseTask<bool> ReplyParser::Machine::ReadPythonString() {
  const int quote = co_await input_.Peek();
  Skip();
  output_.AddArguments("\"");
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return false;
    if (byte == '<') {
      const bool begins_another = co_await At(python_open_);
      if (begins_another) co_return false;
    }
    Skip();
    if (byte == quote) break;
    std::string text(1, static_cast<char>(byte));
    if (byte == '\\') {
      const bool read = co_await ReadPythonEscape(text);
      if (!read) co_return false;
    }
    std::string json;
    for (const char character : text) AppendJsonEscaped(character, json);
    output_.AddArguments(json);
  }
  output_.AddArguments("\"");
  co_return true;
}

// After the backslash; one that escapes nothing known stays.
ParseTask<bool> ReplyParser::Machine::ReadPythonEscape(std::string& text) {
  constexpr std::string_view kNames = "\"'\\nrtbf";
  constexpr std::string_view kValues = "\"'\\\n\r\t\b\f";
  const int kind = co_await input_.Peek();
  if (kind == ParseInput::kEnd) co_return false;
  if (const size_t known = kNames.find(static_cast<char>(kind)); known != std::string_view::npos) {
    text = kValues[known];
    Skip();
  } else if (kind == 'u') {
    uint32_t unit = 0;
    const bool read = co_await ReadHexUnit(unit);
    if (!read) co_return false;
    text.clear();
    AppendUtf8(unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit, &text);
  }
  co_return true;
}

}  // namespace weft
