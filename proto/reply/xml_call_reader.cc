// Calls whose parameters are written between tags, without quotes: the tool's schema says which are
// strings.
#include <algorithm>

#include "proto/reply/json_values.h"
#include "proto/reply/reply_machine.h"
#include "proto/tool_name.h"

namespace weft {

bool ReplyParser::Machine::IsStringParameter(std::string_view key) const {
  const auto tool = std::ranges::find(options_.tools, current_function_, &ToolSignature::name);
  if (tool == options_.tools.end()) return true;
  const auto parameter = tool->parameter_is_string.find(key);
  return parameter == tool->parameter_is_string.end() || parameter->second;
}

// Calls in what is around them, or one alone.
ParseTask<bool> ReplyParser::Machine::ReadXmlCalls(const XmlCallSyntax& syntax) {
  const bool is_wrapped = co_await SkipText(syntax.wrap_open);
  if (is_wrapped) co_await SkipSpace();
  bool read = co_await ReadXmlCall(syntax);
  while (read && is_wrapped) {
    Record();
    co_await SkipSpace();
    const bool closed = co_await SkipText(syntax.wrap_close);
    if (closed) co_return true;
    read = co_await ReadXmlCall(syntax);
  }
  co_return read;
}

ParseTask<bool> ReplyParser::Machine::ReadXmlCall(const XmlCallSyntax& syntax) {
  std::string name;
  bool read = co_await SkipText(syntax.call_open);
  if (!read) co_return false;
  if (!syntax.name_close.empty()) {
    read = co_await ReadUntil(syntax.name_close, kMaxReplyNameBytes, name);
    if (!read || !BeginCall(name)) co_return false;
    co_await SkipSpace();
  } else {
    co_await SkipSpace();
    co_await ReadName(name);
    co_await SkipSpace();
    const int next = co_await input_.Peek();
    if (next != '<' || !BeginCall(name)) co_return false;
  }
  read = co_await ReadXmlParameters(syntax);
  if (!read) co_return false;
  Record();
  read = co_await SkipText(syntax.call_close);
  if (!read) co_return false;
  Record();
  if (!syntax.wrap_open.empty()) co_await SkipSpace();
  co_return true;
}

// Parameters as long as there are some, as one JSON object. False: the input ended in one, or one
// is malformed.
ParseTask<bool> ReplyParser::Machine::ReadXmlParameters(const XmlCallSyntax& syntax) {
  std::string before = "{";
  while (true) {
    bool read = co_await SkipText(syntax.key_open);
    if (!read) break;
    std::string key;
    read = co_await ReadUntil(syntax.key_close, kMaxReplyNameBytes, key);
    if (read && !syntax.value_open.empty()) {
      co_await SkipSpace();
      read = co_await SkipText(syntax.value_open);
    }
    if (!read) co_return false;
    output_.AddArguments(before + JsonString(key) + ": ");
    before = ", ";
    if (IsStringParameter(key)) {
      read = co_await ReadStringUntil(syntax.value_close, syntax.on_lines);
    } else {
      read = co_await ReadXmlValue(syntax.value_close);
    }
    if (!read) co_return false;
    co_await SkipSpace();
  }
  const int next = co_await input_.Peek();
  if (next == ParseInput::kEnd) co_return false;
  output_.AddArguments(before == "{" ? "{}" : "}");
  co_return true;
}

// A value that is no string, up to its closing tag: whole, because only its end says what it is.
ParseTask<bool> ReplyParser::Machine::ReadXmlValue(std::string_view end) {
  std::string text;
  const bool read = co_await ReadUntil(end, text.max_size(), text);
  output_.AddArguments(read ? JsonValueOf(text) : text);
  co_return read;
}

}  // namespace weft
