// Where things lie in a panel (16 outputs) of a PackedMatrix, for every layout of the bf16
// arithmetic.
//
// A panel is a row of blocks; a block is 8 groups (the last one may have fewer); a group is 32 k of
// all 16 outputs
// ("lanes"). In a group, pair p of 16 is (k = 2p, k = 2p + 1), AMX's B operand order. A block holds
// its groups' codes first, one group after the other, then their high bits, their scales, their
// minimums, and a trailer: so that codes begin on cache lines and the whole panel is read as one
// stream. Fields of a group:
//
//   kBF16    codes [16 pairs][16 lanes][2] bf16
//
//   kQ8_0    codes [32 k][16 lanes] int8; scale [16] f16
//
//   others   codes of 4 bits: dword [4][16 lanes]; dword z of a lane holds pairs 4z .. 4z + 3: even
//   k in its low half,
//            odd k in its high half, four bits a pair, ascending
//
//   Q5_x     high bits: dword [16 lanes]; the bit of pair p's even k at p, of its odd k at 16 + p
//
//   Q6_K     high bits: dword [2][16 lanes]; dword y holds pairs 8y .. 8y + 7 like the codes, two
//   bits a pair
//
//   Qx_0, _1 scale [16] f16; Qx_1 also minimum [16] f16
//
//   Q4_K, Q5_K  scale [16] uint8, minimum [16] uint8; trailer d [16] f16, dmin [16] f16
//
//   Q6_K     scale [2][16] int8, for pairs 0-7 and 8-15; trailer d [16] f16, 32 bytes of padding
//
// That is the file's size for Q4_0 .. Q8_0, 1.01 times it for Q6_K, 1.03 times for Q4_K and Q5_K.
#pragma once

#include <cstdint>

namespace weft {

struct PanelLayout {
  // Bytes of a group's fields.
  int64_t codes;
  int64_t high;
  int64_t scale;
  int64_t minimum;
  // Bytes of a block's trailer; blocks that have one are always whole.
  int64_t trailer;

  constexpr int64_t group_bytes() const { return codes + high + scale + minimum; }
};

// `static` and not `inline`: every translation unit has its own, so that none leaks from one
// instruction set to another.
static constexpr int64_t kBlockGroups = 8;
static constexpr PanelLayout kPanelBF16 = {1024, 0, 0, 0, 0};
static constexpr PanelLayout kPanelQ8_0 = {512, 0, 32, 0, 0};
static constexpr PanelLayout kPanelQ4_0 = {256, 0, 32, 0, 0};
static constexpr PanelLayout kPanelQ4_1 = {256, 0, 32, 32, 0};
static constexpr PanelLayout kPanelQ5_0 = {256, 64, 32, 0, 0};
static constexpr PanelLayout kPanelQ5_1 = {256, 64, 32, 32, 0};
static constexpr PanelLayout kPanelQ4_K = {256, 0, 16, 16, 64};
static constexpr PanelLayout kPanelQ5_K = {256, 64, 16, 16, 64};
static constexpr PanelLayout kPanelQ6_K = {256, 128, 32, 0, 64};

static constexpr int64_t PanelBytes(const PanelLayout& layout, int64_t group_count) {
  return group_count * layout.group_bytes() + group_count / kBlockGroups * layout.trailer;
}

// Offsets in a panel of `group_count` groups of the fields of one group, and of its block's
// trailer.
struct GroupFields {
  int64_t codes;
  int64_t high;
  int64_t scale;
  int64_t minimum;
  int64_t trailer;
};

static constexpr GroupFields FieldsOf(const PanelLayout& layout, int64_t group,
                                      int64_t group_count) {
  const int64_t first = group / kBlockGroups * kBlockGroups;
  const int64_t in_block = group - first;
  const int64_t left = group_count - first;
  const int64_t groups = left < kBlockGroups ? left : kBlockGroups;
  const int64_t codes = PanelBytes(layout, first);
  const int64_t high = codes + groups * layout.codes;
  const int64_t scale = high + groups * layout.high;
  const int64_t minimum = scale + groups * layout.scale;
  return {codes + in_block * layout.codes, high + in_block * layout.high,
          scale + in_block * layout.scale, minimum + in_block * layout.minimum,
          minimum + groups * layout.minimum};
}

}  // namespace weft
