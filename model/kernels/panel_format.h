// What the kernels know of a weight format: how many bits a code in a panel has, what it stands
// for, and what it is multiplied with. Plain data, over which packing, the definition and every
// instruction set's tiles are written once; panel_layout.h says where things lie. A file's types
// (model/formats/blocks/) are packed into these formats, and several may share one.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

enum class PanelFormat : uint8_t {
  kF32,   // no panels: dense row-major float32 (the f32 arithmetic)
  kBF16,  // what F32 becomes, too: exactly what the definition of bf16 rounds to
  kF16,   // what F16 is; its products have a definition of their own
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
  kIQ4_NL,
  kIQ4_XS,
  kQ3_K,
  kQ2_K,
  kTQ2_0,
  kIQ3_S,
  kIQ3_XXS,
  kIQ2_XS,
  kIQ2_XXS,
  kIQ1_M,
  kIQ1_S,
  kNVFP4,
  kINT4_F16,
  kINT4_BF16,
  kAFFINE4_BF16,
  kINT8_F32,
  kNVFP4_F32,
  kFP8_F32,
  kNF4_F32,
  kFP4_F32,
};
inline constexpr PanelFormat kFirstQuantizedPanel = PanelFormat::kQ8_0;

// `static` and not `inline` here and below: every translation unit has its own, so that none leaks
// from one instruction set to another.
static constexpr bool IsQuantized(PanelFormat format) { return format >= kFirstQuantizedPanel; }

// What a group's codes are multiplied with. "Halves" have one each for k < 16 and k >= 16.
enum class PanelScale : uint8_t {
  kHalf,           // an f16 a group
  kBFloat,         // a bf16 a group
  kFloat,          // a float32 a group
  kExponent,       // a byte a group, e: 2^(e - 128); below e = 2 a denormal, which counts as zero
  kSuperBlock,     // the super-block's d alone
  kBytes,          // a signed byte a group, times d
  kHalvesBytes,    // signed bytes, times d
  kHalvesNibbles,  // the low nibbles of bytes, times d
  kHalvesE4M3,     // floats of 7 bits (OCP's e4m3, without sign), halved
  kHalvesFloat,    // float32s
};
// What is added to them, or, but for kHalf and kBFloat, taken away.
enum class PanelMinimum : uint8_t {
  kNone,
  kHalf,           // an f16 a group
  kBFloat,         // a bf16 a group
  kZeroPoint,      // a byte a group, times the group's scale
  kBytes,          // a byte a group, times the super-block's dmin
  kHalvesNibbles,  // the high nibbles of the scales' bytes, times dmin
};

struct PanelTraits {
  PanelFormat format;
  int code_bits;   // 8: signed bytes
  int zero_point;  // what a code of 0 lies below zero
  PanelScale scale;
  PanelMinimum minimum = PanelMinimum::kNone;
  const int8_t* table = nullptr;  // of 16, what codes stand for; nullptr: themselves
  float unit = 1;                 // a power of two that d is multiplied with
  // Of 1 << code_bits, what codes stand for that are no integers: such weights have no part in the
  // int8 arithmetic.
  const float* floats = nullptr;
};

// What a code of OCP's e2m1 stands for, doubled, so that it is an integer.
static constexpr int8_t kCodesE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
// ggml's, of 4 bits that lie denser around zero, and of grids: a magnitude, and in the top bit a
// sign, or of IQ1, in eighths, which way it is moved. A code of 3 bits has the first eight.
static constexpr int8_t kCodesIQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
static constexpr int8_t kCodesIQ3_S[16] = {1,  3,  5,  7,  9,  11,  13,  15,
                                           -1, -3, -5, -7, -9, -11, -13, -15};
static constexpr int8_t kCodesIQ3_XXS[16] = {4,  12,  20,  28,  36,  44,  52,  62,
                                             -4, -12, -20, -28, -36, -44, -52, -62};
static constexpr int8_t kCodesIQ2[16] = {8, 25, 43, 0, -8, -25, -43, 0};
static constexpr int8_t kCodesIQ1[16] = {-7, 1, 9, 0, -9, -1, 7, 0};

// What a code of OCP's e4m3 stands for: a sign, four bits of exponent, three of fraction; no
// infinity, and one NaN of each sign (torch's float8_e4m3fn).
// https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1
struct FloatsE4M3 {
  float values[256];
};
static constexpr FloatsE4M3 MakeFloatsE4M3() {
  FloatsE4M3 floats = {};
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15;
    const int fraction = code & 7;
    float value = static_cast<float>(exponent == 0 ? fraction : 8 + fraction) * 0x1p-9F;
    for (int i = 1; i < exponent; ++i) value *= 2;
    if ((code & 0x7f) == 0x7f) value = std::numeric_limits<float>::quiet_NaN();
    floats.values[code] = code < 0x80 ? value : -value;
  }
  return floats;
}
static constexpr FloatsE4M3 kFloatsE4M3 = MakeFloatsE4M3();
// bitsandbytes': the quantiles of a normal distribution (QLoRA's nf4), and floats of its own.
static constexpr float kFloatsNF4[16] = {-1,
                                         -0.696192801F,
                                         -0.525073051F,
                                         -0.394917488F,
                                         -0.284441382F,
                                         -0.184773430F,
                                         -0.0910500363F,
                                         0,
                                         0.0795802996F,
                                         0.160930201F,
                                         0.246112302F,
                                         0.337915242F,
                                         0.440709829F,
                                         0.562617004F,
                                         0.722956836F,
                                         1};
static constexpr float kFloatsFP4[16] = {
    0, 0.0625F / 12,  8.0F / 12,  1,  4.0F / 12,  0.5F,  2.0F / 12,  0.25F,
    0, -0.0625F / 12, -8.0F / 12, -1, -4.0F / 12, -0.5F, -2.0F / 12, -0.25F};

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
    {PanelFormat::kIQ4_NL, 4, 0, PanelScale::kHalf, PanelMinimum::kNone, kCodesIQ4},
    {PanelFormat::kIQ4_XS, 4, 0, PanelScale::kBytes, PanelMinimum::kNone, kCodesIQ4},
    {PanelFormat::kQ3_K, 3, 4, PanelScale::kHalvesBytes},
    {PanelFormat::kQ2_K, 2, 0, PanelScale::kHalvesNibbles, PanelMinimum::kHalvesNibbles},
    {PanelFormat::kTQ2_0, 2, 1, PanelScale::kSuperBlock},
    {PanelFormat::kIQ3_S, 4, 0, PanelScale::kBytes, PanelMinimum::kNone, kCodesIQ3_S},
    {PanelFormat::kIQ3_XXS, 4, 0, PanelScale::kBytes, PanelMinimum::kNone, kCodesIQ3_XXS, 0.25F},
    {PanelFormat::kIQ2_XS, 3, 0, PanelScale::kHalvesBytes, PanelMinimum::kNone, kCodesIQ2, 0.125F},
    {PanelFormat::kIQ2_XXS, 3, 0, PanelScale::kBytes, PanelMinimum::kNone, kCodesIQ2, 0.125F},
    {PanelFormat::kIQ1_M, 3, 0, PanelScale::kHalvesBytes, PanelMinimum::kNone, kCodesIQ1, 0.125F},
    {PanelFormat::kIQ1_S, 3, 0, PanelScale::kBytes, PanelMinimum::kNone, kCodesIQ1, 0.125F},
    {PanelFormat::kNVFP4, 4, 0, PanelScale::kHalvesE4M3, PanelMinimum::kNone, kCodesE2M1},
    {PanelFormat::kINT4_F16, 4, 0, PanelScale::kHalf, PanelMinimum::kZeroPoint},
    {PanelFormat::kINT4_BF16, 4, 0, PanelScale::kBFloat, PanelMinimum::kZeroPoint},
    {PanelFormat::kAFFINE4_BF16, 4, 0, PanelScale::kBFloat, PanelMinimum::kBFloat},
    {PanelFormat::kINT8_F32, 8, 0, PanelScale::kFloat},
    {PanelFormat::kNVFP4_F32, 4, 0, PanelScale::kHalvesFloat, PanelMinimum::kNone, kCodesE2M1},
    {PanelFormat::kFP8_F32, 8, 0, PanelScale::kFloat, PanelMinimum::kNone, nullptr, 1,
     kFloatsE4M3.values},
    {PanelFormat::kNF4_F32, 4, 0, PanelScale::kFloat, PanelMinimum::kNone, nullptr, 1, kFloatsNF4},
    {PanelFormat::kFP4_F32, 4, 0, PanelScale::kFloat, PanelMinimum::kNone, nullptr, 1, kFloatsFP4},
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

// Whether the int8 arithmetic multiplies such weights; others it multiplies as bf16 or bf16pair do.
static constexpr bool HasIntegerCodes(PanelFormat format) {
  return IsQuantized(format) && TraitsOf(format).floats == nullptr;
}
static constexpr bool HasHalves(const PanelTraits& traits) {
  return traits.scale >= PanelScale::kHalvesBytes;
}
// Whether a super-block of 8 groups has f16 scales of its own.
static constexpr bool HasSuperBlock(const PanelTraits& traits) {
  return traits.scale >= PanelScale::kSuperBlock && traits.scale < PanelScale::kHalvesE4M3;
}

// Calls visit.template operator()<format>() for a quantised format.
template <int kIndex = 0, typename Visit>
static void VisitQuantizedPanel(PanelFormat format, const Visit& visit) {
  if constexpr (kIndex < kQuantizedPanels) {
    if (format != QuantizedPanel(kIndex)) return VisitQuantizedPanel<kIndex + 1>(format, visit);
    visit.template operator()<QuantizedPanel(kIndex)>();
  }
}
// The same for a format with integer codes; for others nothing is instantiated.
template <typename Visit>
static void VisitIntegerPanel(PanelFormat format, const Visit& visit) {
  VisitQuantizedPanel(format, [&]<PanelFormat kFormat>() {
    if constexpr (HasIntegerCodes(kFormat)) visit.template operator()<kFormat>();
  });
}

}  // namespace weft
