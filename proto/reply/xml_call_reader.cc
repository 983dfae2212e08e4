// Calls whose parameters are written between tags, without quotes: the tool's schema says which are
// strings.
#include <algorithm>

#include <fmt/core.h>

#include "base/ascii.h"
#include "proto/reply/json_scanner.h"
#include "proto/reply/reply_machine.h"
#include "proto/tool_name.h"

namespace weft {
namespace {

void AppendEscaped(char byte, std::string& json) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  if (const size_t known = kSpecial.find(byte); known != std::string_view::npos) {
    json += '\\';
    json += kNames[known];
  } else if (static_cast<unsigned char>(byte) < 0x20) {
    json += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
  } else {
    json += byte;
  }
}

std::string Quoted(std::string_view text) {
  std::string json = "\"";
  for (const char byte : text) AppendEscaped(byte, json);
  json += '"';
  return json;
}

bool IsJson(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonScanner::Status status = scanner.Feed(text[i]);
    if (status == JsonScanner::Status::kOutside) return false;
    if (status == JsonScanner::Status::kDone) return i + 1 == text.size();
  }
  return scanner.complete();
}

// What the text of a value that is no string means: JSON, or Python's constants, or else a string.
std::string ValueOf(std::string_view text) {
  const std::string_view trimmed = Trimmed(text, kJsonSpace);
  if (IsJson(trimmed)) return std::string(trimmed);
  if (trimmed == "True") return "true";
  if (trimmed == "False") return "false";
  if (trimmed == "None") return "null";
  return Quoted(text);
}

}  // namespace

bool ReplyParser::Machine::IsStringParameter(std::string_view key) const {
  const auto tool = std::ranges::find(options_.tools, current_function_, &ToolSignature::name);
  if (tool == options_.tools.end()) return true;
  const auto parameter = tool->parameter_is_string.find(key);
  return parameter == tool->parameter_is_string.end() || parameter->second;
}

ParseTask<bool> ReplyParser::Machine::ReadQwenXmlCall() {
  const bool is_wrapped = co_await SkipText("<tool_call>");
  if (is_wrapped) co_await SkipSpace();
  std::string name;
  bool read = co_await SkipText("<function=");
  if (read) read = co_await ReadUntil(">", kMaxReplyNameBytes, name);
  if (!read || !BeginCall(name)) co_return false;
  co_await SkipSpace();
  read = co_await ReadXmlParameters("<parameter=", ">", "", "</parameter>");
  if (!read) co_return false;
  Record();
  read = co_await SkipText("</function>");
  if (!read) co_return false;
  Record();
  co_await SkipSpace();
  if (is_wrapped) read = co_await SkipText("</tool_call>");
  co_return read;
}

ParseTask<bool> ReplyParser::Machine::ReadGlmCall() {
  bool read = co_await SkipText("<tool_call>");
  if (!read) co_return false;
  co_await SkipSpace();
  std::string name;
  co_await ReadName(name);
  co_await SkipSpace();
  const int next = co_await input_.Peek();
  if (next != '<' || !BeginCall(name)) co_return false;
  read = co_await ReadXmlParameters("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>");
  if (!read) co_return false;
  Record();
  read = co_await SkipText("</tool_call>");
  co_return read;
}

// Parameters as long as there are some, as one JSON object. False: the input ended in one, or one
// is malformed.
ParseTask<bool> ReplyParser::Machine::ReadXmlParameters(std::string_view key_begin,
                                                        std::string_view key_end,
                                                        std::string_view value_begin,
                                                        std::string_view value_end) {
  std::string before = "{";
  while (true) {
    bool read = co_await SkipText(key_begin);
    if (!read) break;
    std::string key;
    read = co_await ReadUntil(key_end, kMaxReplyNameBytes, key);
    if (read && !value_begin.empty()) {
      co_await SkipSpace();
      read = co_await SkipText(value_begin);
    }
    if (!read) co_return false;
    output_.AddArguments(before + Quoted(key) + ": ");
    before = ", ";
    if (IsStringParameter(key)) {
      read = co_await ReadXmlString(value_end);
    } else {
      read = co_await ReadXmlValue(value_end);
    }
    if (!read) co_return false;
    co_await SkipSpace();
  }
  const int next = co_await input_.Peek();
  if (next == ParseInput::kEnd) co_return false;
  output_.AddArguments(before == "{" ? "{}" : "}");
  co_return true;
}

// Up to the tag `end`, as it arrives. Qwen puts the value on lines of its own.
ParseTask<bool> ReplyParser::Machine::ReadXmlString(std::string_view end) {
  const bool on_lines = options_.format.calls == CallFormat::kQwenXml;
  const std::string end_on_line = on_lines ? "\n" + std::string(end) : std::string(end);
  if (on_lines) co_await SkipText("\n");
  output_.AddArguments("\"");
  while (true) {
    bool ended = co_await SkipText(end_on_line);
    if (!ended) ended = co_await SkipText(end);
    if (ended) break;
    const int byte = co_await input_.Peek();
    if (byte == ParseInput::kEnd) co_return false;
    std::string json;
    AppendEscaped(static_cast<char>(byte), json);
    output_.AddArguments(json);
    Skip();
  }
  output_.AddArguments("\"");
  co_return true;
}

// The same for a value that is no string: whole, because only its end says what it is.
ParseTask<bool> ReplyParser::Machine::ReadXmlValue(std::string_view end) {
  std::string text;
  const bool read = co_await ReadUntil(end, text.max_size(), text);
  output_.AddArguments(read ? ValueOf(text) : text);
  co_return read;
}

}  // namespace weft
