// Calls written as JSON objects: {"name": ..., "arguments": {...}} under the names in use.
#include <cstdint>

#include "base/ascii.h"
#include "base/utf8.h"
#include "proto/reply/json_keys.h"
#include "proto/reply/json_scanner.h"
#include "proto/reply/reply_machine.h"

namespace weft {

ParseTask<bool> ReplyParser::Machine::ReadJsonCall() {
  JsonCall call;
  const bool opened = co_await SkipText("{");
  if (!opened) co_return false;
  const bool read = co_await ReadJsonMembers(call, false);
  if (!read) co_return false;
  if (call.begun) co_return true;
  if (!BeginCall(call.name)) co_return false;
  output_.AddArguments(call.arguments.empty() ? "{}" : call.arguments);
  co_return true;
}

// {"f": {"a": 1}, ...}: the functions' names are the keys.
ParseTask<bool> ReplyParser::Machine::ReadKeyedCalls() {
  bool read = co_await SkipText("{");
  while (read) {
    co_await SkipSpace();
    std::string name;
    read = co_await ReadJsonString(name);
    if (!read) co_return false;
    co_await SkipSpace();
    read = co_await SkipText(":");
    if (!read) co_return false;
    co_await SkipSpace();
    const int brace = co_await input_.Peek();
    if (brace != '{' || !BeginCall(name)) co_return false;
    read = co_await ReadArgumentsObject();
    if (!read) co_return false;
    Record();
    co_await SkipSpace();
    const bool more = co_await SkipText(",");
    if (!more) break;
  }
  if (read) read = co_await SkipText("}");
  co_return read;
}

// The members of an object whose { has been read, and its }.
ParseTask<bool> ReplyParser::Machine::ReadJsonMembers(JsonCall& call, bool nested) {
  co_await SkipSpace();
  bool closed = co_await SkipText("}");
  while (!closed) {
    co_await SkipSpace();
    const bool read = co_await ReadJsonMember(call, nested);
    if (!read) co_return false;
    co_await SkipSpace();
    const bool more = co_await SkipText(",");
    if (more) continue;
    closed = co_await SkipText("}");
    if (!closed) co_return false;
  }
  co_return true;
}

ParseTask<bool> ReplyParser::Machine::ReadJsonMember(JsonCall& call, bool nested) {
  std::string key;
  bool read = co_await ReadJsonString(key);
  if (!read) co_return false;
  co_await SkipSpace();
  read = co_await SkipText(":");
  if (!read) co_return false;
  co_await SkipSpace();
  const int first = co_await input_.Peek();
  if (IsArgumentsKey(key)) {
    read = co_await ReadJsonArguments(call);
  } else if (key == "function" && first == '{' && !nested) {
    Skip();
    read = co_await ReadJsonMembers(call, true);
  } else if (first == '"' && (IsNameKey(key) || key == "function") && !call.begun) {
    call.name.clear();
    read = co_await ReadJsonString(call.name);
    if (!Knows(call.name)) co_return false;
  } else if (!needs_known_name_ || key == "type" || key == "id") {
    read = co_await ReadJsonValue(nullptr);
  } else {
    read = false;  // JSON that is no call streams on at once
  }
  co_return read;
}

// An object, or a string that holds the text of one. Streamed if the name is known already.
ParseTask<bool> ReplyParser::Machine::ReadJsonArguments(JsonCall& call) {
  const int first = co_await input_.Peek();
  bool read = false;
  if (call.begun || (first != '{' && first != '"' && first != 'n')) co_return false;
  if (first != '{' || call.name.empty()) {
    call.arguments.clear();
    if (first == '"') {
      read = co_await ReadJsonString(call.arguments);
    } else {
      read = co_await ReadJsonValue(&call.arguments);
    }
    if (first == 'n') call.arguments.clear();  // null
    co_return read;
  }
  if (!BeginCall(call.name)) co_return false;
  call.begun = true;
  read = co_await ReadArgumentsObject();
  co_return read;
}

ParseTask<bool> ReplyParser::Machine::ReadArgumentsObject() {
  const int first = co_await input_.Peek();
  if (first != '{') co_return false;
  JsonScanner scanner;
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return false;
    const auto text = static_cast<char>(byte);
    const JsonScanner::Status status = scanner.Feed(text);
    if (status == JsonScanner::Status::kOutside) co_return false;
    output_.AddArguments({&text, 1});
    Skip();
    if (status == JsonScanner::Status::kDone) co_return true;
  }
}

// Any value; its text if it is wanted.
ParseTask<bool> ReplyParser::Machine::ReadJsonValue(std::string* text) {
  JsonScanner scanner;
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return false;
    const JsonScanner::Status status = scanner.Feed(static_cast<char>(byte));
    if (status == JsonScanner::Status::kOutside) co_return scanner.complete();
    if (text != nullptr) *text += static_cast<char>(byte);
    Skip();
    if (status == JsonScanner::Status::kDone) co_return true;
  }
}

// A string, its escapes resolved.
ParseTask<bool> ReplyParser::Machine::ReadJsonString(std::string& text) {
  bool read = co_await SkipText("\"");
  while (read) {
    const int byte = co_await input_.Peek();
    if (byte < 0x20) co_return false;  // the end included
    Skip();
    if (byte == '"') co_return true;
    if (byte == '\\') {
      read = co_await ReadJsonEscape(text);
    } else {
      text += static_cast<char>(byte);
    }
  }
  co_return false;
}

// After the backslash. Half a surrogate pair alone is U+FFFD: JSON's grammar has it.
ParseTask<bool> ReplyParser::Machine::ReadJsonEscape(std::string& text) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  constexpr uint32_t kReplacement = 0xFFFD;
  const int kind = co_await input_.Peek();
  if (kind == ParseInput::kEnd) co_return false;
  if (const size_t known = kNames.find(static_cast<char>(kind)); known != std::string_view::npos) {
    text += kValues[known];
    Skip();
    co_return true;
  }
  uint32_t unit = 0;
  const bool read = co_await ReadHexUnit(unit);
  if (!read) co_return false;
  if (unit >= 0xD800 && unit < 0xDC00) {
    const uint32_t low = co_await PeekLowSurrogate();
    if (low != 0) {
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      Skip(std::string_view("\\u1234").size());
    }
  }
  AppendUtf8(unit >= 0xD800 && unit < 0xE000 ? kReplacement : unit, &text);
  co_return true;
}

// The second half of a pair, "\udc00", which stays unread; 0: there is none.
ParseTask<uint32_t> ReplyParser::Machine::PeekLowSurrogate() {
  const bool begins = co_await At("\\u");
  if (!begins) co_return 0;
  uint32_t unit = 0;
  for (size_t i = 2; i < 6; ++i) {
    const int byte = co_await input_.Peek(i);
    const int digit = HexDigitValue(static_cast<char>(byte));
    if (digit < 0) co_return 0;
    unit = unit * 16 + static_cast<uint32_t>(digit);
  }
  co_return unit >= 0xDC00 && unit < 0xE000 ? unit : 0;
}

// "u1234"
ParseTask<bool> ReplyParser::Machine::ReadHexUnit(uint32_t& unit) {
  const bool begins = co_await SkipText("u");
  if (!begins) co_return false;
  for (int i = 0; i < 4; ++i) {
    const int byte = co_await input_.Peek();
    const int digit = HexDigitValue(static_cast<char>(byte));
    if (digit < 0) co_return false;
    unit = unit * 16 + static_cast<uint32_t>(digit);
    Skip();
  }
  co_return true;
}

}  // namespace weft
