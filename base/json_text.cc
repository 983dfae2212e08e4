#include "base/json_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace weft {
namespace {

// Bytes of the character that `text`, not empty, begins with; 0: none is well-formed (Unicode 15,
// table 3-7).
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t count) {
    return text.size() > count &&
           std::ranges::all_of(text.substr(1, count), [](char c) { return (c & 0xc0) == 0x80; });
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef && follows(2)) {
    const bool is_overlong = lead == 0xe0 && byte(1) < 0xa0;
    const bool is_surrogate = lead == 0xed && byte(1) > 0x9f;
    return is_overlong || is_surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4 && follows(3)) {
    const bool is_overlong = lead == 0xf0 && byte(1) < 0x90;
    const bool is_too_large = lead == 0xf4 && byte(1) > 0x8f;
    return is_overlong || is_too_large ? 0 : 4;
  }
  return 0;
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& output) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  output += '"';
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const char c = text.front();
    if (length == 0) {
      output += kReplacement;
    } else if (c == '"' || c == '\\') {
      output += '\\';
      output += c;
    } else if (length == 1 && (c < ' ' || c == 0x7f)) {
      fmt::format_to(std::back_inserter(output), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      output += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  output += '"';
}

}  // namespace weft
