// Reading the parts that many formats' blocks are made of. A file's data may lie at any address
// (safetensors promises no alignment), so that numbers are copied. They are little-endian, as is
// every machine Weft builds for.
#pragma once

#include <bit>
#include <cstring>

#include "model/formats/blocks/blocks.h"

namespace weft::blocks {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T LoadAt(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

inline uint8_t ByteAt(const std::byte* data, int64_t index) {
  return static_cast<uint8_t>(data[index]);
}

// A quantised format, by what reads group `group` of one of its blocks.
template <auto kReadGroup, int64_t kBlockElements, int64_t kBlockBytes>
constexpr BlockFormat Quantized(std::string_view name, std::optional<uint32_t> ggml_type,
                                PanelFormat panel) {
  constexpr int64_t kGroups = kBlockElements / kGroupColumns;
  static_assert(kGroups <= kMostBlockGroups);
  constexpr auto kReadBlocks = [](const std::byte* blocks, int64_t count, WeightGroup* out) {
    for (int64_t block = 0; block < count; ++block, blocks += kBlockBytes) {
      for (int64_t group = 0; group < kGroups; ++group) kReadGroup(blocks, group, *out++);
    }
  };
  return {.traits = {name, kBlockElements, kBlockBytes},
          .ggml_type = ggml_type,
          .panel = panel,
          .read_blocks = kReadBlocks};
}

// `byte` eight times.
constexpr EightCodes Repeated(uint64_t byte) { return 0x0101010101010101 * byte; }

// The `bits` bits from `first_bit` of each of eight bytes.
inline EightCodes LoadBits(const std::byte* data, int first_bit, int bits) {
  return LoadAt<EightCodes>(data) >> first_bit & Repeated((1U << bits) - 1);
}

// Bit i of `byte` as bit 0 of code i.
inline EightCodes SpreadBits(uint64_t byte) {
  // Each of eight copies keeps one bit; adding all ones but the top carries into the top bit.
  const EightCodes kept = Repeated(byte) & 0x8040201008040201;
  return (kept + Repeated(0x7f)) >> 7 & Repeated(1);
}

// A block of 32 holds the low nibbles of its first half beside those of its second half.
inline void ReadNibbles(const std::byte* data, WeightGroup& out) {
  for (int i = 0; i < 4; ++i) out.codes[i] = LoadBits(data + i % 2 * 8, i / 2 * 4, 4);
}

}  // namespace weft::blocks
