#include "grammar/regex/symbol_decoder.h"

#include <algorithm>

namespace weft {
namespace {

// A prefix is a stage, how many bytes are to come (in escapes: hexadecimal digits), and the bits
// that have come.
enum class SpellingStage : uint32_t {
  kNone,
  kUtf8,
  kSpecial,
  kBackslash,
  kHex,            // \u
  kHigh,           // \uD83D; the bits: those 10 that it stands for
  kHighBackslash,  // \uD83D
  kLow,            // \uD83D\u; the bits: 10, then those of the digits
};

constexpr SpellingPrefix MakePrefix(SpellingStage stage, uint32_t left, uint32_t bits) {
  return static_cast<uint32_t>(stage) << 28U | left << 24U | bits;
}
constexpr SpellingStage StageOf(SpellingPrefix prefix) {
  return static_cast<SpellingStage>(prefix >> 28U);
}
constexpr uint32_t LeftOf(SpellingPrefix prefix) { return prefix >> 24U & 0xFU; }
constexpr uint32_t BitsOf(SpellingPrefix prefix) { return prefix & 0xFFFFFFU; }

DecodeStep PrefixStep(SpellingStage stage, uint32_t left, uint32_t bits) {
  return {DecodeStep::Kind::kPrefix, MakePrefix(stage, left, bits), 0};
}
DecodeStep SymbolStep(Symbol symbol) { return {DecodeStep::Kind::kSymbol, 0, symbol}; }

DecodeStep FirstByte(Spelling spelling, uint8_t byte) {
  if (spelling == Spelling::kJsonString) {
    if (byte < 0x20 || byte == '"' || byte == kSpecialByte) return {};
    if (byte == '\\') return PrefixStep(SpellingStage::kBackslash, 0, 0);
  }
  if (byte < 0x80) return SymbolStep(byte);
  if (byte == kSpecialByte) return PrefixStep(SpellingStage::kSpecial, 3, 0);
  if (byte < 0xC2 || byte > 0xF4) return {};
  if (byte < 0xE0) return PrefixStep(SpellingStage::kUtf8, 1, byte & 0x1FU);
  if (byte < 0xF0) return PrefixStep(SpellingStage::kUtf8, 2, byte & 0xFU);
  return PrefixStep(SpellingStage::kUtf8, 3, byte & 0x7U);
}

DecodeStep Utf8Byte(uint32_t left, uint32_t bits, uint8_t byte) {
  if (byte < 0x80 || byte > 0xBF) return {};
  bits = bits << 6U | (byte & 0x3FU);
  switch (left - 1) {
    case 0:
      return SymbolStep(bits);
    case 1:  // overlong, or a surrogate
      if (bits < 0x20 || (bits >= 0x360 && bits <= 0x37F)) return {};
      break;
    default:  // overlong, or above U+10FFFF
      if (bits < 0x10 || bits > 0x10F) return {};
  }
  return PrefixStep(SpellingStage::kUtf8, left - 1, bits);
}

DecodeStep EscapedByte(uint8_t byte) {
  switch (byte) {
    case '"':
    case '\\':
    case '/':
      return SymbolStep(byte);
    case 'b':
      return SymbolStep('\b');
    case 'f':
      return SymbolStep('\f');
    case 'n':
      return SymbolStep('\n');
    case 'r':
      return SymbolStep('\r');
    case 't':
      return SymbolStep('\t');
    case 'u':
      return PrefixStep(SpellingStage::kHex, 4, 0);
    default:
      return {};
  }
}

int HexDigitValue(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  const uint8_t lower = byte | 0x20U;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

DecodeStep HexByte(uint32_t left, uint32_t bits, uint8_t byte) {
  const int digit = HexDigitValue(byte);
  if (digit < 0) return {};
  bits = bits << 4U | static_cast<uint32_t>(digit);
  if (left == 3 && bits >= 0xDC)
    return bits >= 0xE0 ? PrefixStep(SpellingStage::kHex, 2, bits)
                        : DecodeStep();  // a low surrogate alone
  if (left > 1) return PrefixStep(SpellingStage::kHex, left - 1, bits);
  if (bits >= 0xD800 && bits <= 0xDBFF) return PrefixStep(SpellingStage::kHigh, 0, bits & 0x3FFU);
  return SymbolStep(bits);
}

// After \uD83D\u: D, then C to F, then two digits.
DecodeStep LowByte(uint32_t left, uint32_t bits, uint8_t byte) {
  const int digit = HexDigitValue(byte);
  if (digit < 0 || (left == 4 && digit != 0xD) || (left == 3 && digit < 0xC)) return {};
  if (left == 4) return PrefixStep(SpellingStage::kLow, 3, bits);
  const uint32_t width = left == 3 ? 2 : 4;
  bits = bits << width | (static_cast<uint32_t>(digit) & (left == 3 ? 0x3U : 0xFU));
  if (left > 1) return PrefixStep(SpellingStage::kLow, left - 1, bits);
  return SymbolStep(0x10000 + bits);
}

}  // namespace

DecodeStep DecodeByte(Spelling spelling, SpellingPrefix prefix, uint8_t byte) {
  const uint32_t left = LeftOf(prefix);
  const uint32_t bits = BitsOf(prefix);
  switch (StageOf(prefix)) {
    case SpellingStage::kNone:
      return FirstByte(spelling, byte);
    case SpellingStage::kUtf8:
      return Utf8Byte(left, bits, byte);
    case SpellingStage::kSpecial:
      if (byte >= 0x80) return {};
      if (left > 1) return PrefixStep(SpellingStage::kSpecial, left - 1, bits << 7U | byte);
      return SymbolStep(kFirstSpecialSymbol + (bits << 7U | byte));
    case SpellingStage::kBackslash:
      return EscapedByte(byte);
    case SpellingStage::kHex:
      return HexByte(left, bits, byte);
    case SpellingStage::kHigh:
      return byte == '\\' ? PrefixStep(SpellingStage::kHighBackslash, 0, bits) : DecodeStep();
    case SpellingStage::kHighBackslash:
      return byte == 'u' ? PrefixStep(SpellingStage::kLow, 4, bits) : DecodeStep();
    case SpellingStage::kLow:
      return LowByte(left, bits, byte);
  }
  return {};
}

PossibleSymbols::PossibleSymbols(SpellingPrefix prefix) {
  const uint32_t left = LeftOf(prefix);
  const uint32_t bits = BitsOf(prefix);
  // All numbers that begin with `bits` and have `width` bits more.
  const auto add = [&](Symbol base, uint32_t width) {
    Add(base + (bits << width), base + ((bits + 1) << width) - 1);
  };
  switch (StageOf(prefix)) {
    case SpellingStage::kNone:
      break;
    case SpellingStage::kUtf8: {
      const uint32_t width = 6 * left;
      Symbol first = bits << width;
      Symbol last = std::min(((bits + 1) << width) - 1, kLastCodePoint);
      if (left == 2 && bits < 0x10) first = std::max<Symbol>(first, 0x800);
      if (left == 3) first = std::max<Symbol>(first, 0x10000);
      if (first == 0xD000 && last == 0xDFFF) last = 0xD7FF;
      Add(first, last);
      break;
    }
    case SpellingStage::kSpecial:
      add(kFirstSpecialSymbol, 7 * left);
      break;
    case SpellingStage::kBackslash:
      AddEscaped(0, 0xFFFF);
      break;
    case SpellingStage::kHex:
      AddEscaped(bits << (4 * left), ((bits + 1) << (4 * left)) - 1);
      break;
    case SpellingStage::kHigh:
    case SpellingStage::kHighBackslash:
      add(0x10000, 10);
      break;
    case SpellingStage::kLow:
      add(0x10000, left >= 3 ? 10 : 4 * left);
      break;
  }
}

// Code units of UTF-16; a high surrogate stands for the characters that begin with it.
void PossibleSymbols::AddEscaped(uint32_t first, uint32_t last) {
  if (first < 0xD800) Add(first, std::min<Symbol>(last, 0xD7FF));
  if (last > 0xDFFF) Add(std::max<Symbol>(first, 0xE000), last);
  const uint32_t high_first = std::max<uint32_t>(first, 0xD800);
  const uint32_t high_last = std::min<uint32_t>(last, 0xDBFF);
  if (high_first > high_last) return;
  Add(0x10000 + ((high_first - 0xD800) << 10U), 0x10000 + ((high_last - 0xD800 + 1) << 10U) - 1);
}

}  // namespace weft
