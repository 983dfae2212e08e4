#include "proto/responses/custom_input.h"

#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kInputHead = R"({"input":")";
constexpr std::string_view kInputKey = R"("input")";

// Space may stand there.
bool IsBetweenTokens(size_t head_bytes) {
  return head_bytes <= 1 || head_bytes >= 1 + kInputKey.size();
}

}  // namespace

std::string CustomInputReader::Push(std::string_view arguments) {
  std::string text;
  for (const char c : arguments) {
    if (place_ == Place::kHead)
      PushHead(c);
    else if (place_ == Place::kText)
      PushText(c, text);
    else if (place_ == Place::kOther)
      arguments_ += c;
  }
  return text;
}

void CustomInputReader::PushHead(char c) {
  arguments_ += c;
  if (IsBetweenTokens(head_bytes_) && kAsciiSpace.find(c) != std::string_view::npos) return;
  if (c != kInputHead[head_bytes_]) {
    place_ = Place::kOther;
  } else if (++head_bytes_ == kInputHead.size()) {
    place_ = Place::kText;
    arguments_.clear();
  }
}

void CustomInputReader::PushText(char c, std::string& text) {
  if (!escape_.empty()) {
    escape_ += c;
    const size_t size = escape_[1] == 'u' ? 6 : 2;
    if (escape_.size() == size) EndEscape(text);
    return;
  }
  if (c == '\\') {
    escape_ = c;
    return;
  }
  if (std::exchange(surrogate_, 0) != 0) text += kReplacementCharacter;
  if (c == '"') {
    place_ = Place::kEnd;
  } else {
    text += c;
  }
}

void CustomInputReader::EndEscape(std::string& text) {
  const std::string escape = std::exchange(escape_, {});
  constexpr std::string_view kShort = "bfnrt";
  constexpr std::string_view kMeant = "\b\f\n\r\t";
  char32_t code_point = static_cast<unsigned char>(escape[1]);
  if (const size_t i = kShort.find(escape[1]); i != std::string_view::npos) {
    code_point = static_cast<unsigned char>(kMeant[i]);
  } else if (escape[1] == 'u') {
    uint32_t unit = 0;
    std::from_chars(escape.data() + 2, escape.data() + escape.size(), unit, 16);
    code_point = unit;
  }
  const char32_t first = std::exchange(surrogate_, 0);
  const bool is_second = code_point >= 0xDC00 && code_point < 0xE000;
  if (first != 0 && is_second) {
    AppendUtf8(0x10000 + ((first - 0xD800) << 10) + (code_point - 0xDC00), &text);
    return;
  }
  if (first != 0) text += kReplacementCharacter;
  if (code_point >= 0xD800 && code_point < 0xDC00) {
    surrogate_ = code_point;
  } else if (is_second) {
    text += kReplacementCharacter;
  } else {
    AppendUtf8(code_point, &text);
  }
}

std::string CustomInputReader::Finish() {
  const bool is_input = place_ == Place::kText || place_ == Place::kEnd;
  place_ = Place::kEnd;
  return is_input ? std::string() : std::exchange(arguments_, {});
}

}  // namespace weft
