// What texts are made of, as numbers: the code points of Unicode without surrogates, and behind
// them special tokens of a vocabulary, which no text spells. In bytes a code point is UTF-8, a
// special token 0xFF and its index in three bytes of 7 bits, the most significant first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

using Symbol = uint32_t;
inline constexpr Symbol kLastCodePoint = 0x10FFFF;
inline constexpr Symbol kFirstSpecialSymbol = kLastCodePoint + 1;
inline constexpr Symbol kLastSymbol = kFirstSpecialSymbol + (1U << 21U) - 1;
inline constexpr uint8_t kSpecialByte = 0xFF;

struct SymbolRange {
  Symbol first = 0;
  Symbol last = 0;  // included

  bool operator==(const SymbolRange&) const = default;
};

// A set of symbols, as few ranges as there can be, in ascending order.
class SymbolSet {
 public:
  SymbolSet() = default;
  // In any order; they may overlap.
  explicit SymbolSet(std::vector<SymbolRange> ranges);
  // All code points that are no surrogates.
  static SymbolSet AllCodePoints();

  std::span<const SymbolRange> ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool Contains(Symbol symbol) const;
  SymbolSet Union(const SymbolSet& other) const;
  SymbolSet Intersection(const SymbolSet& other) const;
  // Of the code points, those that are not in the set.
  SymbolSet Complement() const;

  bool operator==(const SymbolSet&) const = default;

 private:
  std::vector<SymbolRange> ranges_;
};

}  // namespace weft
