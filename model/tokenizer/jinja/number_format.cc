#include "model/tokenizer/jinja/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/ascii.h"
#include "model/tokenizer/jinja/text.h"

namespace weft::jinja {
namespace {

int64_t CharacterCount(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

std::string Repeated(std::string_view fill, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out.append(fill);
  return out;
}

// Separators into the digits before the point; zeros in front up to `width` characters, if wanted.
std::string Group(const std::string& digits, char separator, int64_t every, int64_t width) {
  size_t whole = 0;
  while (whole < digits.size() && IsAsciiAlphanumeric(digits[whole])) {
    // The exponent of 1e+20 does not count.
    if (every == 3 && !IsAsciiDigit(digits[whole])) break;
    ++whole;
  }
  std::string reversed;
  const auto rest = static_cast<int64_t>(digits.size() - whole);
  int64_t count = 0;
  for (size_t i = whole; i > 0 || static_cast<int64_t>(reversed.size()) + rest < width;) {
    if (count > 0 && count % every == 0) {
      reversed.push_back(separator);
      if (i == 0 && static_cast<int64_t>(reversed.size()) + rest >= width) {
        // A field that would begin with a separator gets one more zero.
        reversed.push_back('0');
        break;
      }
    }
    reversed.push_back(i > 0 ? digits[--i] : '0');
    ++count;
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed + digits.substr(whole);
}

}  // namespace

std::string FormatDouble(double value, char type, int64_t precision, bool alternate) {
  const bool percent = type == '%';
  if (percent) {
    value *= 100;
    type = 'f';
  }
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  if (!std::isfinite(value)) {
    std::string text = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    if (upper) text = ToUpper(text);
    return percent ? text + "%" : text;
  }
  const int digits =
      static_cast<int>(std::clamp<int64_t>(precision < 0 ? 6 : precision, 0, kMaxPrecision));
  std::string text(400 + static_cast<size_t>(digits), '\0');
  const std::string format =
      std::string("%") + (alternate ? "#" : "") + ".*" + std::string(1, type);
  const int size = std::snprintf(text.data(), text.size(), format.c_str(), digits, value);
  text.resize(static_cast<size_t>(std::max(size, 0)));
  return percent ? text + "%" : text;
}

std::string FormatInteger(int64_t value, char type, bool alternate) {
  const int base = type == 'b' ? 2 : type == 'o' ? 8 : (type == 'x' || type == 'X') ? 16 : 10;
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  char buffer[72];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), magnitude, base).ptr;
  std::string text = value < 0 ? "-" : "";
  if (alternate && base != 10) text.append("0").push_back(type);
  std::string digits(buffer, end);
  if (type == 'X') digits = ToUpper(digits);
  return text + digits;
}

std::string LayOutText(std::string_view text, const FormatSpec& spec, char default_align) {
  const int64_t missing = spec.width - CharacterCount(text);
  if (missing <= 0) return std::string(text);
  const char align = spec.align != 0 ? spec.align : default_align;
  const int64_t left = align == '^' ? missing / 2 : align == '<' ? 0 : missing;
  return Repeated(spec.fill, left) + std::string(text) + Repeated(spec.fill, missing - left);
}

std::string LayOutNumber(std::string text, const FormatSpec& spec) {
  std::string head;  // the sign and 0x
  if (text[0] == '-') {
    head = "-";
    text.erase(0, 1);
  } else if (spec.sign != '-') {
    head = std::string(1, spec.sign);
  }
  const bool has_base = spec.alternate && (spec.type == 'x' || spec.type == 'X' ||
                                           spec.type == 'o' || spec.type == 'b');
  if (has_base) {
    head.append(text, 0, 2);
    text.erase(0, 2);
  }
  const bool zeros = spec.align == '=' && spec.fill == "0";
  if (spec.grouping != 0) {
    const bool by_four =
        spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b';
    text = Group(text, spec.grouping, by_four ? 4 : 3,
                 zeros ? spec.width - static_cast<int64_t>(head.size()) : 0);
  }
  if (spec.align == '=') {
    const int64_t missing = spec.width - CharacterCount(head) - CharacterCount(text);
    return head + Repeated(spec.fill, std::max<int64_t>(missing, 0)) + text;
  }
  return LayOutText(head + text, spec, '>');
}

}  // namespace weft::jinja
