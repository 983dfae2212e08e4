// Characters of ASCII, whatever the locale.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

constexpr bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAsciiLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsAsciiUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsAsciiAlphanumeric(char c) {
  return IsAsciiDigit(c) || IsAsciiLower(c) || IsAsciiUpper(c);
}

constexpr char AsciiToLower(char c) {
  return IsAsciiUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char AsciiToUpper(char c) {
  return IsAsciiLower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

// Whether they differ in case at most.
constexpr bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (AsciiToLower(a[i]) != AsciiToLower(b[i])) return false;
  }
  return true;
}

// What the digit is worth, of either case; -1: it is none.
constexpr int HexDigitValue(char c) {
  if (IsAsciiDigit(c)) return c - '0';
  const char lower = AsciiToLower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

constexpr std::string_view kAsciiSpace = " \t\r\n\v\f";
// What may stand between the tokens of JSON, and in replies between those of calls.
constexpr std::string_view kJsonSpace = " \t\r\n";

constexpr bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

constexpr std::string_view TrimmedLeft(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}
// `text` without the characters of `blanks` at both its ends.
constexpr std::string_view Trimmed(std::string_view text, std::string_view blanks) {
  return TrimmedLeft(text.substr(0, text.find_last_not_of(blanks) + 1), blanks);
}

}  // namespace weft
