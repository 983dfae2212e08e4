// Bit equality of the dequantisers with the numpy implementation in PyPI's gguf (the fixture's
// script says how it was made), and of the 16-bit floats with their definition.
#include "model/formats/dequantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "model/formats/block_format.h"
#include "model/formats/gguf_types.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

struct FixtureRecord {
  DataType type = DataType::kF32;
  std::vector<std::byte> data;
  std::vector<float> expected;
};

std::vector<FixtureRecord> ReadFixture() {
  const Result<MappedFile> file =
      MappedFile::Open(SourcePath("tests/model/formats/fixtures/dequantize.bin"));
  if (!file) throw std::runtime_error(file.error().message);
  std::vector<FixtureRecord> records;
  for (std::span<const std::byte> rest = file->bytes(); !rest.empty();) {
    uint32_t header[3];  // ggml type, elements, bytes
    std::memcpy(header, rest.data(), sizeof header);
    rest = rest.subspan(sizeof header);
    FixtureRecord& record = records.emplace_back();
    record.type = DataTypeOfGgml(header[0]).value();
    record.data.assign(rest.begin(), rest.begin() + header[2]);
    rest = rest.subspan(header[2]);
    record.expected.resize(header[1]);
    std::memcpy(record.expected.data(), rest.data(), header[1] * sizeof(float));
    rest = rest.subspan(header[1] * sizeof(float));
  }
  return records;
}

void ExpectSameBits(const std::vector<float>& found, const std::vector<float>& expected,
                    std::string_view what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << " element " << i << ": " << found[i] << ", expected " << expected[i];
  }
}

TEST(Dequantize, GivesTheBitsOfTheIndependentImplementation) {
  std::set<DataType> types;
  for (const FixtureRecord& record : ReadFixture()) {
    const DataTypeTraits& traits = TraitsOf(record.type);
    types.insert(record.type);
    const auto columns = static_cast<int64_t>(record.expected.size());
    ASSERT_EQ(RowBytes(record.type, columns), static_cast<int64_t>(record.data.size()));
    std::vector<float> found(record.expected.size());
    DequantizeRow(record.type, record.data.data(), columns, found.data());
    ExpectSameBits(found, record.expected, traits.name);
  }
  for (int i = 0; i < kWeightTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    // What files of GGUF do not have: tests/model/quantized_test.cc.
    EXPECT_EQ(types.contains(type), FormatOf(type).ggml_type.has_value()) << TraitsOf(type).name;
  }
}

TEST(Dequantize, ReadsBytesAtAnyAddress) {
  for (const FixtureRecord& record : ReadFixture()) {
    std::vector<std::byte> shifted(record.data.size() + 1);
    std::memcpy(shifted.data() + 1, record.data.data(), record.data.size());
    std::vector<float> found(record.expected.size());
    DequantizeRow(record.type, shifted.data() + 1, static_cast<int64_t>(found.size()),
                  found.data());
    ExpectSameBits(found, record.expected, TraitsOf(record.type).name);
  }
}

TEST(Dequantize, WritesNothingPastTheColumnsAskedFor) {
  for (const FixtureRecord& record : ReadFixture()) {
    const int64_t columns = TraitsOf(record.type).block_elements;
    std::vector<float> found(static_cast<size_t>(columns) + 1, 42.0f);
    DequantizeRow(record.type, record.data.data(), columns, found.data());
    EXPECT_EQ(found.back(), 42.0f);
    DequantizeRow(record.type, record.data.data(), 0, &found.back());
    EXPECT_EQ(found.back(), 42.0f);
  }
}

// What codes of safetensors' floats of few bits stand for, from their definitions, under scales
// that round.
std::vector<float> BlockOf(DataType type, float scale, int code) {
  const size_t scales = type == DataType::kNVFP4_F32 ? 2 : 1;
  std::vector<std::byte> block(static_cast<size_t>(TraitsOf(type).block_bytes));
  const bool has_bytes = type == DataType::kFP8_F32;
  std::fill(block.begin(), block.end(), static_cast<std::byte>(has_bytes ? code : code * 0x11));
  for (size_t i = 0; i < scales; ++i) {
    const float each = i == 0 ? scale : 2 * scale;
    std::memcpy(block.data() + 4 * i, &each, 4);
  }
  std::vector<float> values(32);
  DequantizeRow(type, block.data(), 32, values.data());
  return values;
}

TEST(FloatCodes, E4M3) {
  constexpr float kScale = 0.0371F;
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15;
    const double fraction = (code & 7) / 8.0;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -6) : std::ldexp(1 + fraction, exponent - 7);
    const auto value = static_cast<float>(code < 128 ? magnitude : -magnitude);
    const auto byte = static_cast<std::byte>(code);
    float plain = 0;
    DequantizeRow(DataType::kF8_E4M3, &byte, 1, &plain);
    for (const float found : BlockOf(DataType::kFP8_F32, kScale, code)) {
      if ((code & 0x7f) == 0x7f) {
        ASSERT_TRUE(std::isnan(found) && std::isnan(plain)) << code;
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(plain), std::bit_cast<uint32_t>(value)) << code;
      ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(value * kScale)) << code;
    }
  }
}

// bitsandbytes' lists (functional.py), of which fp4's are divided by the largest.
TEST(FloatCodes, BitsAndBytes) {
  constexpr float kScale = 0.0371F;
  constexpr double kNF4[] = {-1.0,
                             -0.6961928009986877,
                             -0.5250730514526367,
                             -0.39491748809814453,
                             -0.28444138169288635,
                             -0.18477343022823334,
                             -0.09105003625154495,
                             0.0,
                             0.07958029955625534,
                             0.16093020141124725,
                             0.24611230194568634,
                             0.33791524171829224,
                             0.44070982933044434,
                             0.5626170039176941,
                             0.7229568362236023,
                             1.0};
  constexpr float kFP4[] = {0, 0.0625F, 8, 12, 4, 6, 2, 3};
  for (int code = 0; code < 16; ++code) {
    const float fp4 = (code < 8 ? 1.0F : -1.0F) * kFP4[code % 8] / 12;
    for (const float found : BlockOf(DataType::kNF4_F32, kScale, code)) {
      ASSERT_EQ(found, static_cast<float>(kNF4[code]) * kScale) << code;
    }
    for (const float found : BlockOf(DataType::kFP4_F32, kScale, code)) {
      ASSERT_EQ(found, fp4 * kScale) << code;
    }
  }
}

TEST(FloatCodes, E2M1UnderTwoScales) {
  constexpr float kScale = 0.0371F;
  constexpr float kMagnitudes[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    const float value = (code < 8 ? 1.0F : -1.0F) * kMagnitudes[code % 8];
    const std::vector<float> found = BlockOf(DataType::kNVFP4_F32, kScale, code);
    for (size_t k = 0; k < 32; ++k) {  // doubled, and so are their scales' halves
      ASSERT_EQ(found[k], value * (k < 16 ? 2 * kScale : 4 * kScale)) << code;
    }
  }
}

TEST(Half, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto exponent = static_cast<int>(bits >> 10 & 0x1F);
    const auto mantissa = static_cast<float>(bits & 0x3FF);
    const float sign = bits & 0x8000 ? -1.0f : 1.0f;
    const float found = HalfToFloat(static_cast<uint16_t>(bits));
    if (exponent == 0x1F && mantissa != 0) {
      ASSERT_TRUE(std::isnan(found)) << bits;
      ASSERT_EQ(std::bit_cast<uint32_t>(found) & 0x00400000, 0x00400000u) << "not quiet: " << bits;
      continue;
    }
    float expected = sign * std::numeric_limits<float>::infinity();
    if (exponent == 0) expected = sign * std::ldexp(mantissa, -24);
    if (exponent > 0 && exponent < 0x1F)
      expected = sign * std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected)) << bits;
  }
}

TEST(BFloat16, EveryPatternIsTheUpperHalfOfAFloatAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = BFloat16ToFloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
    const uint32_t quiet = std::isnan(value) ? 0x0040 : 0;
    ASSERT_EQ(FloatToBFloat16(value), bits | quiet);
  }
}

// For each value that bf16 can hold: just below, at and just above the middle to its neighbour.
TEST(BFloat16, RoundsToNearestTiesToEven) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    if ((upper & 0x7F80) == 0x7F80) continue;  // infinity and NaN: below
    const auto round = [upper](uint32_t lower) {
      return FloatToBFloat16(std::bit_cast<float>(upper << 16 | lower));
    };
    ASSERT_EQ(round(0x0001), upper);
    ASSERT_EQ(round(0x7FFF), upper);
    ASSERT_EQ(round(0x8000), upper + (upper & 1)) << "a tie goes to the even one";
    ASSERT_EQ(round(0x8001), upper + 1);
    ASSERT_EQ(round(0xFFFF), upper + 1);
  }
}

TEST(BFloat16, KeepsInfinityAndNaNAndOverflowsToInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(FloatToBFloat16(kInfinity), 0x7F80);
  EXPECT_EQ(FloatToBFloat16(-kInfinity), 0xFF80);
  EXPECT_EQ(FloatToBFloat16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(0x7F800001u)), 0x7FC0)
      << "signalling, low payload";
  EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(0xFFFFFFFFu)), 0xFFFF);
}

}  // namespace
}  // namespace weft
