#include "base/json_text.h"

#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace weft {

void AppendJsonString(std::string_view text, std::string& output) {
  output += '"';
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text, 0);
    const char c = text.front();
    if (character.status != Utf8Status::kValid) {
      output += kReplacementCharacter;
    } else if (c == '"' || c == '\\') {
      output += '\\';
      output += c;
    } else if (character.code_point < ' ' || character.code_point == 0x7f) {
      fmt::format_to(std::back_inserter(output), "\\u{:04x}",
                     static_cast<unsigned>(character.code_point));
    } else {
      output += text.substr(0, character.size_bytes);
    }
    text.remove_prefix(character.size_bytes);
  }
  output += '"';
}

}  // namespace weft
