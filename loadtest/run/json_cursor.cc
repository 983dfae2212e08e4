#include "loadtest/run/json_cursor.h"

#include <array>
#include <charconv>
#include <cstddef>

#include "base/ascii.h"
#include "base/utf8.h"

namespace weft {
namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }

// Bytes of a string that stand for themselves, of ASCII.
constexpr auto kIsPlain = [] {
  std::array<bool, 256> is_plain{};
  for (size_t byte = 0x20; byte < 0x80; ++byte) is_plain.at(byte) = byte != '"' && byte != '\\';
  return is_plain;
}();

// What a one-letter escape stands for; '\0': there is no such one.
char Unescaped(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case '"':
    case '\\':
    case '/':
      return letter;
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    default:
      return '\0';
  }
}

}  // namespace

bool JsonCursor::Open(char bracket) {
  if (Peek() != bracket || ++depth_ > kMaxDepth) return false;
  ++at_;
  return true;
}

bool JsonCursor::Close(char bracket) {
  if (Peek() != bracket) return false;
  --depth_;
  ++at_;
  return true;
}

bool JsonCursor::Comma() {
  if (Peek() != ',') return false;
  ++at_;
  return true;
}

bool JsonCursor::Key(std::string_view& key) {
  if (Peek() != '"') return false;
  const char* begin = ++at_;
  if (!PlainRun() || *at_ != '"') return false;
  key = {begin, at_};
  ++at_;
  if (Peek() != ':') return false;
  ++at_;
  return true;
}

bool JsonCursor::String(std::string& value) {
  value.clear();
  if (Peek() != '"') return false;
  for (++at_;;) {
    const char* begin = at_;
    if (!PlainRun()) return false;
    value.append(begin, at_);
    if (*at_++ == '"') return true;
    const char escaped = at_ == end_ ? '\0' : Unescaped(*at_);
    if (escaped == '\0') return false;
    value.push_back(escaped);
    ++at_;
  }
}

bool JsonCursor::PlainRun() {
  for (;;) {
    const char* at = at_;  // a local: the compiler cannot know that no byte is part of at_
    while (at != end_ && kIsPlain[static_cast<unsigned char>(*at)]) ++at;
    at_ = at;
    if (at == end_) return false;
    if (*at == '"' || *at == '\\') return true;
    if (IsControl(*at) || !Multibyte()) return false;
  }
}

bool JsonCursor::Multibyte() {
  const Utf8Character character = DecodeUtf8({at_, end_}, 0);
  if (character.status != Utf8Status::kValid) return false;
  at_ += character.size_bytes;
  return true;
}

bool JsonCursor::NumberText(std::string_view& text) {
  const char first = Peek();
  const char* begin = at_;
  const auto digits = [this] {
    const char* from = at_;
    while (at_ != end_ && IsAsciiDigit(*at_)) ++at_;
    return at_ - from;
  };
  if (first == '-') ++at_;
  const bool leading_zero = at_ != end_ && *at_ == '0';
  const auto whole_digits = digits();
  if (whole_digits == 0 || (leading_zero && whole_digits > 1)) return false;
  if (at_ != end_ && *at_ == '.') {
    ++at_;
    if (digits() == 0) return false;
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (digits() == 0) return false;
  }
  text = {begin, at_};
  return true;
}

bool JsonCursor::Count(int64_t& value) {
  std::string_view text;
  if (!NumberText(text)) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() && text.front() != '-' &&
         value <= kMaxCount;
}

// A number beyond the range of double is a matter for the general parser.
bool JsonCursor::Number(double& value) {
  std::string_view text;
  if (!NumberText(text)) return false;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

bool JsonCursor::Literal(std::string_view literal) {
  if (!std::string_view(at_, end_).starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool JsonCursor::Skip() {
  switch (Peek()) {
    case '{':
      return Object([this](std::string_view) { return Skip(); });
    case '[':
      return Array([this](int64_t) { return Skip(); });
    case '"':
      for (++at_;;) {
        if (!PlainRun()) return false;
        if (*at_++ == '"') return true;
        if (at_ == end_ || Unescaped(*at_) == '\0') return false;
        ++at_;
      }
    case 't':
      return Literal("true");
    case 'f':
      return Literal("false");
    case 'n':
      return Literal("null");
    default: {
      double ignored = 0;
      return Number(ignored);
    }
  }
}

}  // namespace weft
