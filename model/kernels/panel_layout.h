// Where things lie in a panel (16 outputs) of a PackedMatrix, for every layout of the bf16
// arithmetic.
//
// A panel is a row of blocks; a block is a header and 1 or 8 groups; a group is 32 k of all 16
// outputs
// ("lanes"). In a group, pair p of 16 is (k = 2p, k = 2p + 1), AMX's B operand order.
//   kBF16    [16 pairs][16 lanes][2] bf16
//   kQ8_0    [32 k][16 lanes] int8; [16] scale f16
//   others   4-bit codes: dword [4][16 lanes]; dword z of a lane holds pairs 4z .. 4z + 3: even k
//   in its low
//            half, odd k in its high half, four bits a pair, ascending
//            high bits (5 bits): dword [16 lanes]; even k's bit of pair p at bit p, odd k's at bit
//            16 + p high bits (6 bits): dword [2][16 lanes]; dword y holds pairs 8y .. 8y + 7 like
//            the codes, two bits a pair [16] scale f16, [16] minimum f16 (Q4_0, Q4_1, Q5_0, Q5_1),
//            or [16] scale uint8, [16] minimum uint8 (Q4_K, Q5_K; header [16] d f16, [16] dmin
//            f16), or [2][16] scale int8 for pairs 0-7 and 8-15 (Q6_K; header [16] d f16)
// That is the file's size for Q4_0 .. Q8_0 and Q6_K, 1.03 times it for Q4_K and Q5_K.
#pragma once

#include <cstdint>

namespace weft {

struct PanelLayout {
  int64_t groups_per_block;
  int64_t header_bytes;
  int64_t code_bytes;  // of a group, at its offset 0
  int64_t high_bytes;  // then the high bits
  int64_t scale_bytes;
  int64_t minimum_bytes;

  constexpr int64_t high_offset() const { return code_bytes; }
  constexpr int64_t scale_offset() const { return high_offset() + high_bytes; }
  constexpr int64_t minimum_offset() const { return scale_offset() + scale_bytes; }
  constexpr int64_t group_bytes() const { return minimum_offset() + minimum_bytes; }
  constexpr int64_t block_bytes() const { return header_bytes + groups_per_block * group_bytes(); }
};

// Not `inline`: every translation unit has its own, so that none leaks from one instruction set to
// another.
constexpr PanelLayout kPanelBF16 = {1, 0, 1024, 0, 0, 0};
constexpr PanelLayout kPanelQ8_0 = {1, 0, 512, 0, 32, 0};
constexpr PanelLayout kPanelQ4_0 = {1, 0, 256, 0, 32, 0};
constexpr PanelLayout kPanelQ4_1 = {1, 0, 256, 0, 32, 32};
constexpr PanelLayout kPanelQ5_0 = {1, 0, 256, 64, 32, 0};
constexpr PanelLayout kPanelQ5_1 = {1, 0, 256, 64, 32, 32};
constexpr PanelLayout kPanelQ4_K = {8, 64, 256, 0, 16, 16};
constexpr PanelLayout kPanelQ5_K = {8, 64, 256, 64, 16, 16};
constexpr PanelLayout kPanelQ6_K = {8, 32, 256, 128, 32, 0};

}  // namespace weft
