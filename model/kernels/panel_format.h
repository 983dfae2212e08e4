// What the kernels know of a weight format: how many bits a code in a panel has, what it stands
// for, and what it is multiplied with. Plain data, over which packing, the definition and every
// instruction set's tiles are written once; panel_layout.h says where things lie. A file's types
// (model/formats/blocks/) are packed into these formats, and several may share one.
#pragma once

#include <cstdint>

namespace weft {

enum class PanelFormat : uint8_t {
  kF32,   // no panels: dense row-major float32 (the f32 arithmetic)
  kBF16,  // what F32 and F16 become under bf16: exactly what the definition rounds to
  // Quantised, named after the first type of file that is packed so.
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kMXFP4,
};
inline constexpr PanelFormat kFirstQuantizedPanel = PanelFormat::kQ8_0;

// `static` and not `inline` here and below: every translation unit has its own, so that none leaks
// from one instruction set to another.
static constexpr bool IsQuantized(PanelFormat format) { return format >= kFirstQuantizedPanel; }

// What a group's codes are multiplied with.
enum class PanelScale : uint8_t {
  kHalf,        // an f16 a group
  kExponent,    // a byte a group, e: 2^(e - 128); below e = 2 a denormal, which counts as zero
  kBytes,       // a signed byte a group, times the super-block's d
  kHalvesBytes  // a signed byte each for k < 16 and k >= 16, times the super-block's d
};
// What is added to them, or, of kBytes, taken away.
enum class PanelMinimum : uint8_t {
  kNone,
  kHalf,   // an f16 a group
  kBytes,  // a byte a group, times the super-block's dmin
};

struct PanelTraits {
  PanelFormat format;
  int code_bits;   // 8: signed bytes
  int zero_point;  // what a code of 0 lies below zero
  PanelScale scale;
  PanelMinimum minimum = PanelMinimum::kNone;
  const int8_t* table = nullptr;  // of 16, what codes stand for; nullptr: themselves
};

// What a code of OCP's e2m1 stands for, doubled, so that it is an integer.
static constexpr int8_t kCodesE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static constexpr PanelTraits kPanelTraits[] = {
    {PanelFormat::kQ8_0, 8, 0, PanelScale::kHalf},
    {PanelFormat::kQ4_0, 4, 8, PanelScale::kHalf},
    {PanelFormat::kQ4_1, 4, 0, PanelScale::kHalf, PanelMinimum::kHalf},
    {PanelFormat::kQ5_0, 5, 16, PanelScale::kHalf},
    {PanelFormat::kQ5_1, 5, 0, PanelScale::kHalf, PanelMinimum::kHalf},
    {PanelFormat::kQ4_K, 4, 0, PanelScale::kBytes, PanelMinimum::kBytes},
    {PanelFormat::kQ5_K, 5, 0, PanelScale::kBytes, PanelMinimum::kBytes},
    {PanelFormat::kQ6_K, 6, 32, PanelScale::kHalvesBytes},
    {PanelFormat::kMXFP4, 4, 0, PanelScale::kExponent, PanelMinimum::kNone, kCodesE2M1},
};
static constexpr int kQuantizedPanels = sizeof(kPanelTraits) / sizeof(kPanelTraits[0]);

static constexpr PanelFormat QuantizedPanel(int index) {
  return static_cast<PanelFormat>(static_cast<int>(kFirstQuantizedPanel) + index);
}
static constexpr bool PanelTraitsAreInOrder() {
  for (int i = 0; i < kQuantizedPanels; ++i) {
    if (kPanelTraits[i].format != QuantizedPanel(i)) return false;
  }
  return true;
}
static_assert(PanelTraitsAreInOrder());

// Of a quantised format.
static constexpr const PanelTraits& TraitsOf(PanelFormat format) {
  return kPanelTraits[static_cast<int>(format) - static_cast<int>(kFirstQuantizedPanel)];
}

static constexpr bool HasHalves(const PanelTraits& traits) {
  return traits.scale == PanelScale::kHalvesBytes;
}
// Whether a super-block of 8 groups has f16 scales of its own.
static constexpr bool HasSuperBlock(const PanelTraits& traits) {
  return traits.scale == PanelScale::kBytes || traits.scale == PanelScale::kHalvesBytes;
}

// Calls visit.template operator()<format>() for a quantised format.
template <int kIndex = 0, typename Visit>
static void VisitQuantizedPanel(PanelFormat format, const Visit& visit) {
  if constexpr (kIndex < kQuantizedPanels) {
    if (format != QuantizedPanel(kIndex)) return VisitQuantizedPanel<kIndex + 1>(format, visit);
    visit.template operator()<QuantizedPanel(kIndex)>();
  }
}

}  // namespace weft
