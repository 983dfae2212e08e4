// UTF-8 as RFC 3629 and the WHATWG encoding standard define it: no overlong forms, no surrogates,
// nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581, SentencePiece's space

enum class Utf8Status : uint8_t {
  kValid,       // a whole character
  kInvalid,     // bytes that no continuation can make valid
  kIncomplete,  // the text ends inside a character that is well-formed so far
};

struct Utf8Character {
  Utf8Status status = Utf8Status::kInvalid;
  uint8_t size_bytes =
      1;  // kInvalid: the "maximal subpart" that one U+FFFD replaces (1 to 3 bytes)
  char32_t code_point = 0;  // only if kValid
};

// The character at `offset` (< text.size()).
inline Utf8Character DecodeUtf8(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[offset + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {Utf8Status::kValid, 1, lead};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const uint8_t expected_bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  char32_t code_point = lead & (0x7Fu >> expected_bytes);
  for (uint8_t i = 1; i < expected_bytes; ++i) {
    if (offset + i >= text.size()) return {Utf8Status::kIncomplete, i, 0};
    if (byte(i) < low || byte(i) > high) return {Utf8Status::kInvalid, i, 0};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Status::kValid, expected_bytes, code_point};
}

// The length of the longest valid prefix of `text`.
size_t ValidUtf8Prefix(std::string_view text);

// `code_point` must be a Unicode scalar value.
void AppendUtf8(char32_t code_point, std::string* text);

}  // namespace weft
