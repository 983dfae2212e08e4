// call:f{a:1,s:"text"}: Gemma's calls. Keys stand without quotes, and strings between quotes of
// their own, in which nothing is escaped.
#include "base/ascii.h"
#include "proto/reply/json_values.h"
#include "proto/reply/reply_machine.h"
#include "proto/tool_name.h"

namespace weft {

ParseTask<bool> ReplyParser::Machine::ReadDictCall(std::string_view open, std::string_view close) {
  bool read = co_await SkipText(open);
  if (read) read = co_await SkipText(kDictCallBegin);
  if (!read) co_return false;
  std::string name;
  co_await ReadName(name);
  const int brace = co_await input_.Peek();
  if (brace != '{' || !BeginCall(name)) co_return false;
  Skip();
  read = co_await ReadDictMembers(0);
  if (!read) co_return false;
  Record();
  co_await SkipSpace();
  read = co_await SkipText(close);
  co_return read;
}

// The members of an object whose { has been read, and its }.
ParseTask<bool> ReplyParser::Machine::ReadDictMembers(int depth) {
  if (depth == kMaxValueDepth) co_return false;
  output_.AddArguments("{");
  co_await SkipSpace();
  bool closed = co_await SkipText("}");
  while (!closed) {
    std::string key;
    bool read = co_await ReadDictKey(key);
    if (!read) co_return false;
    output_.AddArguments(JsonString(key) + ": ");
    read = co_await ReadDictValue(depth + 1);
    if (!read) co_return false;
    co_await SkipSpace();
    closed = co_await SkipText("}");
    if (closed) break;
    read = co_await SkipText(",");
    if (!read) co_return false;
    output_.AddArguments(", ");
    co_await SkipSpace();
  }
  output_.AddArguments("}");
  co_return true;
}

// With the colon behind it.
ParseTask<bool> ReplyParser::Machine::ReadDictKey(std::string& key) {
  const bool is_quoted = co_await SkipText(dict_quote_);
  bool read = false;
  if (is_quoted) {
    read = co_await ReadUntil(dict_quote_, kMaxReplyNameBytes, key);
    if (!read) co_return false;
    co_await SkipSpace();
    read = co_await SkipText(":");
    co_return read;
  }
  while (key.size() <= kMaxReplyNameBytes) {
    read = co_await SkipText(":");
    if (read) break;
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd || byte == ',' || byte == '{' || byte == '}') co_return false;
    key += static_cast<char>(byte);
    Skip();
  }
  const std::string_view trimmed = Trimmed(key, kJsonSpace);
  const bool has_quotes = trimmed.size() >= 2 && trimmed.starts_with('"') && trimmed.ends_with('"');
  key = std::string(has_quotes ? trimmed.substr(1, trimmed.size() - 2) : trimmed);
  co_return read && !key.empty();
}

ParseTask<bool> ReplyParser::Machine::ReadDictValue(int depth) {
  co_await SkipSpace();
  bool read = co_await SkipText(dict_quote_);
  if (read) {
    read = co_await ReadStringUntil(dict_quote_);
    co_return read;
  }
  const int first = co_await input_.Peek();
  std::string text;
  switch (first) {
    case '{':
      Skip();
      read = co_await ReadDictMembers(depth);
      co_return read;
    case '[':
      Skip();
      read = co_await ReadDictItems(depth);
      co_return read;
    case '"':
      read = co_await ReadJsonString(text);
      output_.AddArguments(JsonString(text));
      co_return read;
    default:
      break;
  }
  while (true) {
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return false;
    if (byte == ',' || byte == '}' || byte == ']') break;
    text += static_cast<char>(byte);
    Skip();
  }
  text = Trimmed(text, kJsonSpace);
  if (text.empty()) co_return false;
  output_.AddArguments(JsonValueOf(text));
  co_return true;
}

ParseTask<bool> ReplyParser::Machine::ReadDictItems(int depth) {
  if (depth == kMaxValueDepth) co_return false;
  output_.AddArguments("[");
  co_await SkipSpace();
  bool closed = co_await SkipText("]");
  while (!closed) {
    bool read = co_await ReadDictValue(depth + 1);
    if (!read) co_return false;
    co_await SkipSpace();
    closed = co_await SkipText("]");
    if (closed) break;
    read = co_await SkipText(",");
    if (!read) co_return false;
    output_.AddArguments(", ");
  }
  output_.AddArguments("]");
  co_return true;
}

}  // namespace weft
