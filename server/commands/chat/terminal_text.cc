#include "server/commands/chat/terminal_text.h"

#include <utility>

#include "base/utf8.h"

namespace weft {
namespace {

bool IsCommand(char32_t c) {
  if (c == '\n' || c == '\t') return false;
  const bool is_control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool turns_around = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return is_control || turns_around;
}

}  // namespace

std::string TerminalText::Append(std::string_view piece) {
  const std::string text = std::exchange(held_, {}) + std::string(piece);
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = DecodeUtf8(text, at);
    if (character.status == Utf8Status::kIncomplete) {
      held_ = text.substr(at);
      break;
    }
    const bool is_shown =
        character.status == Utf8Status::kValid && !IsCommand(character.code_point);
    shown +=
        is_shown ? std::string_view(text).substr(at, character.size_bytes) : kReplacementCharacter;
    at += character.size_bytes;
  }
  return shown;
}

std::string TerminalText::Finish() {
  return std::exchange(held_, {}).empty() ? std::string() : std::string(kReplacementCharacter);
}

}  // namespace weft
