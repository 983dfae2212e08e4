#include "base/utf8.h"

#include <cstring>

namespace weft {

size_t ValidUtf8Prefix(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    if (offset + 8 <= text.size()) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + offset, 8);
      if ((word & 0x8080808080808080u) == 0) {
        offset += 8;
        continue;
      }
    }
    const Utf8Character character = DecodeUtf8(text, offset);
    if (character.status != Utf8Status::kValid) break;
    offset += character.size_bytes;
  }
  return offset;
}

void AppendUtf8(char32_t code_point, std::string* text) {
  const auto put = [&](char32_t bits) { text->push_back(static_cast<char>(bits)); };
  if (code_point < 0x80) {
    put(code_point);
    return;
  }
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      put(0xE0 | code_point >> 12);
    } else {
      put(0xF0 | code_point >> 18);
      put(0x80 | (code_point >> 12 & 0x3F));
    }
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

}  // namespace weft
