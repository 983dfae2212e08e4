#include "grammar/cfg/grammar_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/utf8.h"

namespace weft {

bool GrammarText::Take(std::string_view token) {
  if (!rest().starts_with(token)) return false;
  offset_ += token.size();
  return true;
}

Result<Symbol> GrammarText::TakeCharacter() {
  if (AtEnd()) return Wrong("found the end, expected a character");
  const Utf8Character character = DecodeUtf8(text_, offset_);
  if (character.status != Utf8Status::kValid) return Wrong("the text is not valid UTF-8");
  offset_ += character.size_bytes;
  return static_cast<Symbol>(character.code_point);
}

Result<Symbol> GrammarText::TakeEscape(std::string_view escapes) {
  const size_t begin = offset_;
  const char escaped = Peek(1);
  Skip(std::min<size_t>(rest().size(), 2));
  if (Since(begin).size() < 2 || escapes.find(escaped) == std::string_view::npos) {
    return WrongAt(begin, fmt::format("unknown escape {}", Quoted(Since(begin))));
  }
  switch (escaped) {
    case 'x':
      return TakeHexadecimal(2);
    case 'u':
      return TakeHexadecimal(4);
    case 'U':
      return TakeHexadecimal(8);
    case 't':
      return Symbol{'\t'};
    case 'r':
      return Symbol{'\r'};
    case 'n':
      return Symbol{'\n'};
    case 'f':
      return Symbol{'\f'};
    case 'b':
      return Symbol{'\b'};
    default:
      return static_cast<Symbol>(static_cast<uint8_t>(escaped));
  }
}

Result<Symbol> GrammarText::TakeHexadecimal(int digits) {
  Symbol value = 0;
  for (int i = 0; i < digits; ++i) {
    const int digit = HexDigitValue(Peek());
    if (digit < 0) {
      return Wrong(fmt::format("found {}, expected {} hexadecimal digits", Found(), digits));
    }
    Skip(1);
    value = value << 4U | static_cast<Symbol>(digit);
  }
  if (value > kLastCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
    return WrongAt(offset_ - static_cast<size_t>(digits),
                   fmt::format("U+{:X} is no character", value));
  }
  return value;
}

Result<int64_t> GrammarText::TakeNumber(int64_t max) {
  const size_t begin = offset_;
  if (!IsAsciiDigit(Peek())) return Wrong(fmt::format("found {}, expected a number", Found()));
  int64_t value = 0;
  for (; IsAsciiDigit(Peek()); Skip(1)) value = std::min(value * 10 + (Peek() - '0'), max + 1);
  if (value > max) return WrongAt(begin, fmt::format("{} is more than {}", Since(begin), max));
  return value;
}

tl::unexpected<Error> GrammarText::WrongAt(size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t column = offset - (before.rfind('\n') + 1) + 1;
  return Fail(ErrorCode::kInvalidArgument, "{}:{}:{}: {}", kind_, line, column, message);
}

std::string GrammarText::Found() const { return AtEnd() ? "the end" : Quoted(rest().substr(0, 1)); }

}  // namespace weft
