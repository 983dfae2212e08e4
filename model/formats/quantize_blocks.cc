// Quantisers that search: the scales (and minimums) of a block are those, of some that are tried,
// whose codes come nearest to its elements, in the sum of squares.
//
// A run is what has a scale of its own: 16 elements of Q6_K, 32 of the others. Four runs are worked
// on at a time, one a lane of a vector, so that every instruction set makes the same bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "base/check.h"
#include "model/formats/dequantize.h"
#include "model/formats/quantize.h"

namespace weft {
namespace {

constexpr size_t kLaneCount = 4;
using Lanes = float __attribute__((vector_size(4 * kLaneCount)));
using LaneMask = int32_t __attribute__((vector_size(4 * kLaneCount)));

// Runs below it are zeros: their scales would be far below half precision.
constexpr float kSmallestMagnitude = 0x1p-60F;
// Of it and beyond, or NaN: an element that makes the scale infinite, or NaN, as Q8_0's does.
constexpr float kLargestMagnitude = 0x1p60F;

Lanes EachLane(float value) { return Lanes{value, value, value, value}; }
Lanes Select(LaneMask mask, Lanes yes, Lanes no) { return mask ? yes : no; }
Lanes Minimum(Lanes a, Lanes b) { return Select(b < a, b, a); }
Lanes Maximum(Lanes a, Lanes b) { return Select(a < b, b, a); }
Lanes Magnitude(Lanes a) { return Maximum(a, -a); }
// To the nearest integer, ties to even; magnitudes below 2^22.
Lanes RoundLanes(Lanes a) {
  const Lanes shift = EachLane(0x1.8p23F);
  return (a + shift) - shift;
}
Lanes CodesOf(Lanes x, Lanes inverse, Lanes low, Lanes high) {
  return RoundLanes(Minimum(Maximum(x * inverse, low), high));
}
// 1 / a, or 0 where a is (nearly) 0.
Lanes InverseOf(Lanes a) {
  const LaneMask is_small = Magnitude(a) < EachLane(kSmallestMagnitude);
  return Select(is_small, EachLane(0), EachLane(1) / Select(is_small, EachLane(1), a));
}

// From one code that is tried for a run's farthest element to the next. Smaller steps find nothing
// better, once the scale that fits the codes best is tried as well.
constexpr float kCodeStep = 0.4F;

// Elements [i] of four runs.
template <size_t kCount>
using Runs = std::array<Lanes, kCount>;

// Runs [first, first + 4) of those that x has; lanes beyond the last are zeros.
template <size_t kCount>
Runs<kCount> LoadRuns(std::span<const float> x, size_t first) {
  Runs<kCount> runs;
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      const size_t at = (first + lane) * kCount + i;
      runs[i][lane] = at < x.size() ? x[at] : 0.0F;
    }
  }
  return runs;
}

// --- types without a minimum: x = scale * code ---

// What a candidate is worth: of the codes that it gives, with the scale that fits these best, how
// much the sum of squares is less than the elements' own.
template <size_t kCount, int kLow>
void TryInverse(const Runs<kCount>& x, Lanes inverse, Lanes& best_gain, Lanes& best_scale) {
  const Lanes low = EachLane(kLow);
  const Lanes high = EachLane(-kLow - 1);
  Lanes product = EachLane(0);
  Lanes square = EachLane(0);
  for (const Lanes element : x) {
    const Lanes code = CodesOf(element, inverse, low, high);
    product += element * code;
    square += code * code;
  }
  const Lanes scale = product * InverseOf(square);
  const Lanes gain = product * scale;
  const LaneMask is_better = best_gain < gain;
  best_gain = Select(is_better, gain, best_gain);
  best_scale = Select(is_better, scale, best_scale);
}

// The farthest element from zero, with its sign.
template <size_t kCount>
Lanes FarthestOf(const Runs<kCount>& x) {
  Lanes farthest = EachLane(0);
  for (const Lanes element : x) {
    farthest = Select(Magnitude(farthest) < Magnitude(element), element, farthest);
  }
  return farthest;
}

// Codes kLow .. -kLow - 1. The farthest element gets a code about the lowest, which has no
// counterpart above.
template <size_t kCount, int kLow>
Lanes SearchScale(const Runs<kCount>& x) {
  const Lanes per_code = InverseOf(FarthestOf(x));
  Lanes gain = EachLane(0);
  Lanes scale = EachLane(0);
  for (int step = -5; step <= 5; ++step) {
    const float lowest = kLow + kCodeStep * static_cast<float>(step);
    TryInverse<kCount, kLow>(x, per_code * EachLane(lowest), gain, scale);
  }
  // With the scale that fits the codes best, some elements are nearer to another code.
  for (int again = 0; again < 2; ++again) {
    TryInverse<kCount, kLow>(x, InverseOf(scale), gain, scale);
  }
  return scale;
}

// --- types with a minimum: x = scale * code - depth, neither below zero ---

struct Fit {
  Lanes scale = EachLane(0);
  Lanes depth = EachLane(0);
  Lanes error = EachLane(0);
};

template <int kTop>
void TryFit(const Runs<32>& x, Lanes inverse, Lanes lowest, Lanes sum_x, Fit& best) {
  const Lanes low = EachLane(0);
  const Lanes high = EachLane(kTop);
  const Lanes count = EachLane(32);
  Lanes sum = EachLane(0);
  Lanes square = EachLane(0);
  Lanes product = EachLane(0);
  for (const Lanes element : x) {
    const Lanes code = CodesOf(element - lowest, inverse, low, high);
    sum += code;
    square += code * code;
    product += code * element;
  }
  // The line through (code, element) that fits best, or the one through zero if that would not go
  // below it.
  const Lanes determinant = count * square - sum * sum;  // integers: exact
  const Lanes inverse_determinant = InverseOf(determinant);
  Lanes scale = (count * product - sum_x * sum) * inverse_determinant;
  Lanes depth = (sum * product - square * sum_x) * inverse_determinant;
  const LaneMask is_above = (depth <= EachLane(0)) | (determinant <= EachLane(0));
  scale = Select(is_above, product * InverseOf(square), scale);
  depth = Select(is_above, EachLane(0), depth);
  // But for the elements' own squares.
  const Lanes two = EachLane(2);
  const Lanes error = scale * (scale * square - two * (product + depth * sum)) +
                      depth * (count * depth + two * sum_x);
  const LaneMask is_better = (error < best.error) & (EachLane(0) <= scale);
  best.scale = Select(is_better, scale, best.scale);
  best.depth = Select(is_better, depth, best.depth);
  best.error = Select(is_better, error, best.error);
}

// Codes 0 .. kTop.
template <int kTop>
Fit SearchFit(const Runs<32>& x) {
  Lanes lowest = EachLane(0);
  Lanes highest = EachLane(0);
  Lanes sum_x = EachLane(0);
  for (const Lanes element : x) {
    lowest = Minimum(lowest, element);
    highest = Maximum(highest, element);
    sum_x += element;
  }
  const Lanes per_code = InverseOf(highest - lowest);
  // All codes zero, if nothing is better: elements that are all the same.
  Fit best;
  best.depth = Maximum(EachLane(0), sum_x * EachLane(-1.0F / 32));
  best.error = best.depth * (EachLane(32) * best.depth + EachLane(2) * sum_x);
  for (int step = -3; step <= 6; ++step) {
    const float top = kTop + kCodeStep * static_cast<float>(step);
    TryFit<kTop>(x, per_code * EachLane(top), lowest, sum_x, best);
  }
  for (int again = 0; again < 2; ++again) {
    TryFit<kTop>(x, InverseOf(best.scale), -best.depth, sum_x, best);
  }
  return best;
}

// --- what is the same for all ---

float RoundToHalf(float value) { return HalfToFloat(FloatToHalf(value)); }

uint8_t Byte(int value) { return static_cast<uint8_t>(value); }

void StoreHalf(float value, std::byte* out) {
  const uint16_t half = FloatToHalf(value);
  std::memcpy(out, &half, sizeof half);
}

// The largest magnitude; NaN if an element is.
float LargestOf(std::span<const float> x) {
  float largest = 0;
  for (const float element : x) {
    const float magnitude = std::abs(element);
    if (largest < magnitude || std::isnan(magnitude)) largest = magnitude;
  }
  return largest;
}

// Bytes: element i of lane's run, of codes that are integers.
template <size_t kCount>
void StoreCodes(const Runs<kCount>& codes, size_t lane, uint8_t* out) {
  for (size_t i = 0; i < kCount; ++i) out[i] = Byte(static_cast<int>(codes[i][lane]));
}

// --- Q4_0 ---

// Element i beside element i + 16.
void WriteBlockQ4_0(float scale, const uint8_t* codes, std::byte* out) {
  StoreHalf(scale, out);
  for (size_t i = 0; i < 16; ++i) out[2 + i] = std::byte{codes[i]} | std::byte{codes[i + 16]} << 4;
}

void QuantizeRowQ4_0(std::span<const float> x, std::byte* out) {
  constexpr size_t kBlock = 32;
  constexpr size_t kBlockBytes = 18;
  const size_t block_count = x.size() / kBlock;
  for (size_t first = 0; first < block_count; first += kLaneCount) {
    const Runs<kBlock> runs = LoadRuns<kBlock>(x, first);
    Lanes scale = SearchScale<kBlock, -8>(runs);
    for (size_t lane = 0; lane < kLaneCount; ++lane) scale[lane] = RoundToHalf(scale[lane]);
    const Lanes inverse = InverseOf(scale);
    Runs<kBlock> codes;
    for (size_t i = 0; i < kBlock; ++i) {
      codes[i] = CodesOf(runs[i], inverse, EachLane(-8), EachLane(7)) + EachLane(8);
    }
    for (size_t block = first; block < std::min(block_count, first + kLaneCount); ++block) {
      const float largest = LargestOf(x.subspan(block * kBlock, kBlock));
      const float own = largest < kLargestMagnitude ? scale[block - first] : largest;
      uint8_t bytes[kBlock] = {};
      if (std::isfinite(own)) StoreCodes<kBlock>(codes, block - first, bytes);
      WriteBlockQ4_0(own, bytes, out + block * kBlockBytes);
    }
  }
}

// --- Q4_K and Q5_K ---

// Of a super-block: its two scales, and of each of its 8 groups the code's scale and minimum.
struct SuperBlock {
  float d = 0;
  float d_minimum = 0;
  std::array<uint8_t, 8> scale = {};
  std::array<uint8_t, 8> minimum = {};
  std::array<uint8_t, 256> codes = {};
};

template <int kTop>
Runs<32> CodesWith(const Runs<32>& x, Lanes scale, Lanes depth) {
  const Lanes inverse = InverseOf(scale);
  Runs<32> codes;
  for (size_t i = 0; i < 32; ++i) {
    codes[i] = CodesOf(x[i] + depth, inverse, EachLane(0), EachLane(kTop));
  }
  return codes;
}

// Scales and minimums in 6 bits, those next to the nearest too: which pair of them has the least
// error.
template <int kTop>
void ChooseSixBits(const Runs<32>& x, const Fit& fit, size_t first_group, SuperBlock& block) {
  const Lanes d = EachLane(block.d);
  const Lanes d_minimum = EachLane(block.d_minimum);
  const Lanes scale = fit.scale * InverseOf(d);
  const Lanes minimum = fit.depth * InverseOf(d_minimum);
  Lanes best_error = EachLane(INFINITY);
  Lanes best_scale = EachLane(0);
  Lanes best_minimum = EachLane(0);
  for (int by = -1; by <= 1; ++by) {
    const Lanes near_scale =
        CodesOf(scale + EachLane(static_cast<float>(by)), EachLane(1), EachLane(0), EachLane(63));
    const Lanes step = d * near_scale;
    for (int deeper = -1; deeper <= 1; ++deeper) {
      const Lanes near_minimum = CodesOf(minimum + EachLane(static_cast<float>(deeper)),
                                         EachLane(1), EachLane(0), EachLane(63));
      const Lanes depth = d_minimum * near_minimum;
      const Lanes inverse = InverseOf(step);
      Lanes error = EachLane(0);
      for (const Lanes element : x) {
        const Lanes code = CodesOf(element + depth, inverse, EachLane(0), EachLane(kTop));
        const Lanes off = step * code - depth - element;
        error += off * off;
      }
      const LaneMask is_better = error < best_error;
      best_error = Select(is_better, error, best_error);
      best_scale = Select(is_better, near_scale, best_scale);
      best_minimum = Select(is_better, near_minimum, best_minimum);
    }
  }
  const Runs<32> codes = CodesWith<kTop>(x, d * best_scale, d_minimum * best_minimum);
  for (size_t lane = 0; lane < kLaneCount; ++lane) {
    const size_t group = first_group + lane;
    block.scale[group] = Byte(static_cast<int>(best_scale[lane]));
    block.minimum[group] = Byte(static_cast<int>(best_minimum[lane]));
    StoreCodes<32>(codes, lane, &block.codes[group * 32]);
  }
}

// The 6-bit scales and minimums of eight groups in 12 bytes (DequantizeRow's UnpackScales).
void WriteGroupScales(const SuperBlock& block, std::byte* out) {
  for (size_t i = 0; i < 4; ++i) {
    out[i] = std::byte{Byte(block.scale[i] | block.scale[i + 4] >> 4 << 6)};
    out[4 + i] = std::byte{Byte(block.minimum[i] | block.minimum[i + 4] >> 4 << 6)};
    out[8 + i] = std::byte{Byte((block.scale[i + 4] & 0x0F) | (block.minimum[i + 4] & 0x0F) << 4)};
  }
}

template <int kTop>
void WriteSuperBlock(const SuperBlock& block, std::byte* out) {
  StoreHalf(block.d, out);
  StoreHalf(block.d_minimum, out + 2);
  WriteGroupScales(block, out + 4);
  out += 16;
  if (kTop > 15) {
    for (size_t i = 0; i < 32; ++i) {  // bit g: element i of group g
      int bits = 0;
      for (size_t group = 0; group < 8; ++group) bits |= block.codes[group * 32 + i] >> 4 << group;
      out[i] = std::byte{Byte(bits)};
    }
    out += 32;
  }
  for (size_t i = 0; i < 128; ++i) {  // 32 bytes hold two groups
    const size_t even = i / 32 * 64 + i % 32;
    out[i] = std::byte{Byte((block.codes[even] & 0x0F) | (block.codes[even + 32] & 0x0F) << 4)};
  }
}

template <int kTop>
void QuantizeSuperBlock(std::span<const float> x, std::byte* out) {
  SuperBlock block;
  const float largest = LargestOf(x);
  if (!(largest < kLargestMagnitude)) {
    block.d = largest;
    return WriteSuperBlock<kTop>(block, out);
  }
  const std::array<Runs<32>, 2> runs = {LoadRuns<32>(x, 0), LoadRuns<32>(x, kLaneCount)};
  const std::array<Fit, 2> fits = {SearchFit<kTop>(runs[0]), SearchFit<kTop>(runs[1])};
  for (const Fit& fit : fits) {
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      block.d = std::max(block.d, fit.scale[lane]);
      block.d_minimum = std::max(block.d_minimum, fit.depth[lane]);
    }
  }
  block.d = RoundToHalf(block.d / 63);
  block.d_minimum = RoundToHalf(block.d_minimum / 63);
  if (std::isfinite(block.d) && std::isfinite(block.d_minimum)) {
    for (size_t half = 0; half < 2; ++half) {
      ChooseSixBits<kTop>(runs[half], fits[half], half * kLaneCount, block);
    }
  }
  WriteSuperBlock<kTop>(block, out);
}

// --- Q6_K ---

struct SixBitBlock {
  float d = 0;
  std::array<int8_t, 16> scale = {};
  std::array<uint8_t, 256> codes = {};
};

void ChooseEightBits(const Runs<16>& x, Lanes fitting, size_t first_run, SixBitBlock& block) {
  const Lanes d = EachLane(block.d);
  const Lanes low = EachLane(-32);
  const Lanes high = EachLane(31);
  const Lanes scale = fitting * InverseOf(d);
  Lanes best_error = EachLane(INFINITY);
  Lanes best_scale = EachLane(0);
  for (int by = -1; by <= 1; ++by) {
    const Lanes near = CodesOf(scale + EachLane(static_cast<float>(by)), EachLane(1),
                               EachLane(-128), EachLane(127));
    const Lanes step = d * near;
    const Lanes inverse = InverseOf(step);
    Lanes error = EachLane(0);
    for (const Lanes element : x) {
      const Lanes off = step * CodesOf(element, inverse, low, high) - element;
      error += off * off;
    }
    const LaneMask is_better = error < best_error;
    best_error = Select(is_better, error, best_error);
    best_scale = Select(is_better, near, best_scale);
  }
  const Lanes inverse = InverseOf(d * best_scale);
  Runs<16> codes;
  for (size_t i = 0; i < 16; ++i) codes[i] = CodesOf(x[i], inverse, low, high) + EachLane(32);
  for (size_t lane = 0; lane < kLaneCount; ++lane) {
    const size_t run = first_run + lane;
    block.scale[run] = static_cast<int8_t>(best_scale[lane]);
    StoreCodes<16>(codes, lane, &block.codes[run * 16]);
  }
}

// 128 bytes of low nibbles, 64 of high bit pairs, 16 scales, d.
void WriteSixBitBlock(const SixBitBlock& block, std::byte* out) {
  const auto& codes = block.codes;
  for (size_t half = 0; half < 256; half += 128) {  // element i beside i + 64
    for (size_t i = half; i < half + 64; ++i) {
      *out++ = std::byte{Byte((codes[i] & 0x0F) | (codes[i + 64] & 0x0F) << 4)};
    }
  }
  for (size_t half = 0; half < 256; half += 128) {  // of i, i + 32, i + 64, i + 96
    for (size_t i = half; i < half + 32; ++i) {
      *out++ = std::byte{Byte(codes[i] >> 4 | codes[i + 32] >> 4 << 2 | codes[i + 64] >> 4 << 4 |
                              codes[i + 96] >> 4 << 6)};
    }
  }
  std::memcpy(out, block.scale.data(), block.scale.size());
  StoreHalf(block.d, out + block.scale.size());
}

void QuantizeSixBitBlock(std::span<const float> x, std::byte* out) {
  SixBitBlock block;
  const float largest = LargestOf(x);
  if (!(largest < kLargestMagnitude)) {
    block.d = largest;
    return WriteSixBitBlock(block, out);
  }
  std::array<Runs<16>, 4> runs;
  std::array<Lanes, 4> scales;
  float farthest = 0;
  for (size_t i = 0; i < 4; ++i) {
    runs[i] = LoadRuns<16>(x, i * kLaneCount);
    scales[i] = SearchScale<16, -32>(runs[i]);
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      if (std::abs(farthest) < std::abs(scales[i][lane])) farthest = scales[i][lane];
    }
  }
  block.d = RoundToHalf(farthest / -128);
  if (std::isfinite(block.d)) {
    for (size_t i = 0; i < 4; ++i) ChooseEightBits(runs[i], scales[i], i * kLaneCount, block);
  }
  WriteSixBitBlock(block, out);
}

}  // namespace

bool HasQuantizer(DataType type) {
  return type == DataType::kQ8_0 || type == DataType::kQ6_K || type == DataType::kQ5_K ||
         type == DataType::kQ4_K || type == DataType::kQ4_0;
}

void QuantizeRow(DataType type, const float* x, int64_t columns, std::byte* out) {
  const DataTypeTraits& traits = TraitsOf(type);
  WEFT_CHECK(HasQuantizer(type) && columns % traits.block_elements == 0);
  if (type == DataType::kQ8_0) return QuantizeRowQ8_0(x, columns, out);
  const std::span<const float> row(x, static_cast<size_t>(columns));
  if (type == DataType::kQ4_0) return QuantizeRowQ4_0(row, out);
  const auto block = static_cast<size_t>(traits.block_elements);
  for (size_t first = 0; first < row.size(); first += block, out += traits.block_bytes) {
    const std::span<const float> elements = row.subspan(first, block);
    if (type == DataType::kQ4_K) QuantizeSuperBlock<15>(elements, out);
    if (type == DataType::kQ5_K) QuantizeSuperBlock<31>(elements, out);
    if (type == DataType::kQ6_K) QuantizeSixBitBlock(elements, out);
  }
}

}  // namespace weft
