// How symbols are spelled in bytes, a byte at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "grammar/regex/symbol_set.h"

namespace weft {

enum class Spelling : uint8_t {
  // UTF-8 (RFC 3629), and special tokens as symbol_set.h says.
  kPlain,
  // What stands between the quotes of a JSON string (RFC 8259): UTF-8 without control characters,
  // `"` and `\`, or an escape. A surrogate pair is one character, half a one is none. No special
  // tokens.
  kJsonString,
};

// The bytes of a symbol that has begun, 0 where none has. Equal: the same may follow, and mean.
using SpellingPrefix = uint32_t;

struct DecodeStep {
  enum class Kind : uint8_t { kDead, kPrefix, kSymbol };

  Kind kind = Kind::kDead;
  SpellingPrefix prefix = 0;  // if kPrefix
  Symbol symbol = 0;          // if kSymbol
};

DecodeStep DecodeByte(Spelling spelling, SpellingPrefix prefix, uint8_t byte);

// The symbols that `prefix`, not 0, may still become.
class PossibleSymbols {
 public:
  explicit PossibleSymbols(SpellingPrefix prefix);
  std::span<const SymbolRange> ranges() const { return std::span(ranges_).first(count_); }

 private:
  void Add(Symbol first, Symbol last) { ranges_[count_++] = {first, last}; }
  void AddEscaped(uint32_t first, uint32_t last);

  std::array<SymbolRange, 3> ranges_;
  size_t count_ = 0;
};

}  // namespace weft
