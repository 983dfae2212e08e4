// Bit equality of the dequantisers with the numpy implementation in PyPI's gguf (the fixture's
// script says how it was made), and of the 16-bit floats with their definition.
#include "model/formats/dequantize.h"

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
