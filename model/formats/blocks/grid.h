// What types have in common whose codes are entries of a grid, a list of the rows of magnitudes
// that a quantiser may choose from. The grids are ggml's (MIT licence, (c) the ggml authors), a
// fact of the formats; here each is a list of uint16_t, an entry's magnitudes as indices, the first
// in the lowest bits.
#pragma once

#include <bit>

#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {

// Eight indices of 2 bits.
inline EightCodes SpreadPairs(uint16_t entry) {
  EightCodes codes = (entry & 0xff) | EightCodes{entry & 0xff00U} << 24;
  codes = (codes | codes << 12) & 0x000f000f000f000f;
  return (codes | codes << 6) & 0x0303030303030303;
}

// Eight indices of 4 bits, four an entry.
inline EightCodes SpreadNibbles(uint16_t first, uint16_t second) {
  EightCodes codes = first | EightCodes{second} << 32;
  codes = (codes | codes << 8) & 0x00ff00ff00ff00ff;
  return (codes | codes << 4) & 0x0f0f0f0f0f0f0f0f;
}

// The signs of eight elements, of which seven are written: the number of minuses is even.
inline uint8_t EightSigns(uint32_t seven) {
  return static_cast<uint8_t>(seven | std::popcount(seven) % 2 << 7);
}

// A scale, which is odd: 2 * n + 1, where n is `bits` bits of `word` from `first_bit`.
inline uint8_t OddScale(uint32_t word, int64_t first_bit, int bits) {
  return static_cast<uint8_t>(2 * (word >> first_bit & ((1U << bits) - 1)) + 1);
}

}  // namespace weft::blocks
