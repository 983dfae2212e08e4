#include "model/tokenizer/jinja/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utf8proc.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "model/tokenizer/unicode.h"

namespace weft::jinja {
namespace {

utf8proc_category_t CategoryOf(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

struct CharacterRange {
  char32_t first, last;
};

bool IsIn(char32_t character, const CharacterRange* begin, const CharacterRange* end) {
  const auto* const found = std::lower_bound(
      begin, end, character, [](const CharacterRange& r, char32_t c) { return r.last < c; });
  return found != end && found->first <= character;
}

// Digits that are not decimal: superscripts, circled ones, ... (UnicodeData.txt, numeric type
// Digit).
constexpr CharacterRange kOtherDigits[] = {
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

// Other_Lowercase and Other_Uppercase of Unicode's PropList.txt.
constexpr CharacterRange kOtherLower[] = {
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},    {0x2E0, 0x2E4},
    {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},  {0x1D9B, 0x1DBF},
    {0x2071, 0x2071},   {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2170, 0x217F},  {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},  {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
constexpr CharacterRange kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

// Where str.splitlines() ends a line: how many bytes end it here, or 0.
size_t LineEnd(std::string_view text, size_t offset) {
  switch (static_cast<uint8_t>(text[offset])) {
    case '\r':
      return offset + 1 < text.size() && text[offset + 1] == '\n' ? 2 : 1;
    case '\n':
    case '\v':
    case '\f':
    case 0x1C:
    case 0x1D:
    case 0x1E:
      return 1;
    case 0xC2:
      return text.substr(offset, 2) == "\xC2\x85" ? 2 : 0;
    case 0xE2: {
      const std::string_view bytes = text.substr(offset, 3);
      return bytes == "\xE2\x80\xA8" || bytes == "\xE2\x80\xA9" ? 3 : 0;
    }
    default:
      return 0;
  }
}

size_t CharacterBefore(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

size_t CharacterAfter(std::string_view text, size_t start) {
  size_t end = start + 1;
  while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
  return end;
}

template <typename Matches>
std::string_view StripIf(std::string_view text, Side side, Matches matches) {
  size_t begin = 0;
  size_t end = text.size();
  while (side != Side::kRight && begin < end) {
    const size_t next = CharacterAfter(text, begin);
    if (!matches(text.substr(begin, next - begin))) break;
    begin = next;
  }
  while (side != Side::kLeft && begin < end) {
    const size_t last = CharacterBefore(text, end);
    if (!matches(text.substr(last, end - last))) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

bool IsSpaceBytes(std::string_view character) { return IsPythonSpace(FirstCharacter(character)); }

}  // namespace

char32_t FirstCharacter(std::string_view text) { return DecodeUtf8(text, 0).code_point; }

bool IsPythonSpace(char32_t c) { return IsSpace(c) || (c >= 0x1C && c <= 0x1F); }

bool IsPrintable(char32_t c) {
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return c == ' ';
    default:
      return true;
  }
}

bool IsDecimal(char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_ND; }
bool IsDigit(char32_t c) {
  return IsDecimal(c) || IsIn(c, std::begin(kOtherDigits), std::end(kOtherDigits));
}
bool IsNumericCharacter(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsAlphabetic(char32_t c) {
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool IsLower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return CategoryOf(c) == UTF8PROC_CATEGORY_LL ||
         IsIn(c, std::begin(kOtherLower), std::end(kOtherLower));
}
bool IsUpper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return CategoryOf(c) == UTF8PROC_CATEGORY_LU ||
         IsIn(c, std::begin(kOtherUpper), std::end(kOtherUpper));
}
bool IsTitleCase(char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_LT; }

bool IsWord(char32_t c) {
  return c == '_' || IsAlphabetic(c) || IsDigit(c) || IsNumericCharacter(c);
}

std::string_view Strip(std::string_view text, Side side) {
  return StripIf(text, side, IsSpaceBytes);
}

std::string_view Strip(std::string_view text, std::string_view characters, Side side) {
  return StripIf(text, side, [&](std::string_view character) {
    // A UTF-8 character found in valid UTF-8 stands at a character's place.
    return characters.find(character) != std::string_view::npos;
  });
}

size_t ByteOffset(const StringObject& text, int64_t index) {
  if (text.is_ascii()) return static_cast<size_t>(index);
  size_t offset = 0;
  for (; index > 0; --index) offset = CharacterAfter(text.bytes, offset);
  return offset;
}

int64_t CharacterIndex(const StringObject& text, size_t byte_offset) {
  if (text.is_ascii()) return static_cast<int64_t>(byte_offset);
  return std::count_if(text.bytes.begin(),
                       text.bytes.begin() + static_cast<std::ptrdiff_t>(byte_offset),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

std::string SliceText(const StringObject& text, const SliceRange& range) {
  if (range.count <= 0) return {};
  if (range.step == 1) {
    const size_t begin = ByteOffset(text, range.start);
    if (text.is_ascii()) return text.bytes.substr(begin, static_cast<size_t>(range.count));
    size_t end = begin;
    for (int64_t i = 0; i < range.count; ++i) end = CharacterAfter(text.bytes, end);
    return text.bytes.substr(begin, end - begin);
  }
  std::vector<size_t> offsets;  // of every character, and the end
  if (!text.is_ascii()) {
    for (size_t i = 0; i < text.bytes.size(); i = CharacterAfter(text.bytes, i)) {
      offsets.push_back(i);
    }
    offsets.push_back(text.bytes.size());
  }
  std::string out;
  for (int64_t i = 0; i < range.count; ++i) {
    const auto index = static_cast<size_t>(range.start + i * range.step);
    if (text.is_ascii()) {
      out.push_back(text.bytes[index]);
    } else {
      out.append(text.bytes, offsets[index], offsets[index + 1] - offsets[index]);
    }
  }
  return out;
}

std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t end_bytes = LineEnd(text, i);
    if (end_bytes == 0) {
      ++i;
      continue;
    }
    lines.push_back(text.substr(begin, i - begin + (keep_ends ? end_bytes : 0)));
    i += end_bytes;
    begin = i;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::vector<std::string_view> SplitSpace(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> words;
  text = Strip(text, Side::kLeft);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(words.size()) == max_splits) {
      words.push_back(text);  // with the space at its end
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const size_t next = CharacterAfter(text, end);
      if (IsSpaceBytes(text.substr(end, next - end))) break;
      end = next;
    }
    words.push_back(text.substr(0, end));
    text = Strip(text.substr(end), Side::kLeft);
  }
  return words;
}

std::vector<std::string_view> SplitSpaceRight(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> words;
  text = Strip(text, Side::kRight);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(words.size()) == max_splits) {
      words.push_back(text);  // with the space at its beginning
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      const size_t before = CharacterBefore(text, begin);
      if (IsSpaceBytes(text.substr(before, begin - before))) break;
      begin = before;
    }
    words.push_back(text.substr(begin));
    text = Strip(text.substr(0, begin), Side::kRight);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separator,
                                    int64_t max_splits) {
  std::vector<std::string_view> parts;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t found = text.find(separator);
    if (found == std::string_view::npos) break;
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> SplitRight(std::string_view text, std::string_view separator,
                                         int64_t max_splits) {
  std::vector<std::string_view> parts;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t found = text.rfind(separator);
    if (found == std::string_view::npos) break;
    parts.push_back(text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

void AppendQuoted(std::string_view text, std::string* out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out->push_back(quote);
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out->push_back('\\');
      out->append(bytes);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else if ((c >= ' ' && c < 0x7F) || IsPrintable(c)) {
      out->append(bytes);
    } else if (c < 0x100) {
      fmt::format_to(std::back_inserter(*out), "\\x{:02x}", static_cast<uint32_t>(c));
    } else if (c < 0x10000) {
      fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<uint32_t>(c));
    } else {
      fmt::format_to(std::back_inserter(*out), "\\U{:08x}", static_cast<uint32_t>(c));
    }
  });
  out->push_back(quote);
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // The shortest digits that give the value again, laid out as Python does.
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  std::string out;
  if (text.front() == '-') {
    out.push_back('-');
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits.append(text.substr(2, e - 2));
  int exponent = 0;
  const std::string_view exponent_text = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    out.push_back(digits[0]);
    if (digits.size() > 1) out.append(".").append(digits, 1, std::string::npos);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.resize(whole, '0');
  out.append(digits, 0, whole).push_back('.');
  return out + (digits.size() > whole ? digits.substr(whole) : "0");
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&#34;");
        break;
      case '\'':
        out.append("&#39;");
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace weft::jinja
