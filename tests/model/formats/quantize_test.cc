// Rows that are quantised while they are loaded: ggml's bytes where nothing is searched for,
// otherwise how near they come.
#include "model/formats/quantize.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "model/formats/dequantize.h"

namespace weft {
namespace {

TEST(FloatToHalf, IsTheNearestAndOfTwoTheEvenOne) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    ASSERT_EQ(FloatToHalf(value), half);
    ASSERT_EQ(FloatToHalf(-value), half | 0x8000);
    // 65536 stands where the number behind the largest would be.
    const float next = bits == 0x7bff ? 65536.0F : HalfToFloat(static_cast<uint16_t>(bits + 1));
    const float middle = (value + next) / 2;
    const uint32_t even = bits + bits % 2;
    ASSERT_EQ(FloatToHalf(middle), even) << bits;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 1e6F)), bits + 1) << bits;
  }
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(std::numeric_limits<float>::quiet_NaN()))));
}

std::vector<uint8_t> Quantized(const std::vector<float>& row) {
  std::vector<uint8_t> bytes(row.size() / 32 * 34, 0xAA);
  QuantizeRowQ8_0(row.data(), static_cast<int64_t>(row.size()),
                  reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

TEST(QuantizeRowQ8_0, WritesWhatGgmlWrites) {
  std::vector<float> row;
  for (int i = 0; i < 32; ++i) row.push_back(static_cast<float>(i * 37 % 101 - 50) / 64);
  for (int i = 0; i < 32; ++i) row.push_back(static_cast<float>(i * 29 % 97 - 48) * 0x1p-20F);
  row.resize(96);
  // gguf-py 0.19.0: quantize(row, GGMLQuantizationType.Q8_0)
  std::vector<uint8_t> expected = {
      77,  30, 129, 223, 61,  154, 248, 86,  180, 18,  112, 205, 43,  137, 231, 69,  162,
      0,   94, 187, 25,  119, 213, 51,  144, 238, 76,  170, 8,   102, 195, 33,  127, 220,
      6,   0,  129, 206, 26,  103, 179, 0,   77,  153, 230, 50,  127, 203, 24,  101, 177,
      253, 74, 150, 227, 48,  124, 200, 21,  98,  174, 251, 71,  148, 224, 45,  122, 198};
  expected.resize(3 * 34);
  EXPECT_EQ(Quantized(row), expected);
}

TEST(QuantizeRowQ8_0, WhatHasNoScaleInHalfPrecisionHasNoCodes) {
  std::vector<float> row(32, 1);
  const auto expect_no_codes = [&](float value, uint16_t scale) {
    row[7] = value;
    const std::vector<uint8_t> bytes = Quantized(row);
    EXPECT_EQ(bytes[0] | bytes[1] << 8, scale) << value;
    EXPECT_EQ(std::vector<uint8_t>(bytes.begin() + 2, bytes.end()), std::vector<uint8_t>(32));
  };
  expect_no_codes(65520.0F * 127, 0x7c00);
  expect_no_codes(-std::numeric_limits<float>::infinity(), 0x7c00);
  expect_no_codes(std::numeric_limits<float>::quiet_NaN(), 0x7e00);
  row.assign(32, 0x1p-30F);
  expect_no_codes(0x1p-26F * 127, 0);
}

std::vector<std::byte> Blocks(DataType type, const std::vector<float>& row) {
  const auto columns = static_cast<int64_t>(row.size());
  std::vector<std::byte> bytes(static_cast<size_t>(RowBytes(type, columns)), std::byte{0xAA});
  QuantizeRow(type, row.data(), columns, bytes.data());
  return bytes;
}

std::vector<float> Back(DataType type, const std::vector<float>& row) {
  std::vector<float> values(row.size());
  DequantizeRow(type, Blocks(type, row).data(), static_cast<int64_t>(row.size()), values.data());
  return values;
}

// Squares of the errors over the elements' own.
double RelativeError(const std::vector<float>& found, const std::vector<float>& row) {
  double error = 0;
  double square = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    error += std::pow(static_cast<double>(found[i]) - row[i], 2);
    square += std::pow(static_cast<double>(row[i]), 2);
  }
  return error / square;
}

std::vector<float> Normals(size_t count, float deviation) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

constexpr DataType kSearchedTypes[] = {DataType::kQ6_K, DataType::kQ5_K, DataType::kQ4_K,
                                       DataType::kQ4_0};

// The bounds are what ggml's quantisers (without an importance matrix) leave of such
// numbers: 3.14e-4, 1.30e-3, 5.07e-3 and 7.35e-3. These leave 0.90, 0.92, 0.97 and 0.89 of that.
TEST(QuantizeRow, ComesNearerThanGgml) {
  const std::vector<float> row = Normals(size_t{1} << 17, 0.02F);
  const double ggml[] = {3.14e-4, 1.30e-3, 5.07e-3, 7.35e-3};
  for (size_t i = 0; i < std::size(kSearchedTypes); ++i) {
    const DataType type = kSearchedTypes[i];
    const double error = RelativeError(Back(type, row), row);
    EXPECT_LT(error, ggml[i]) << TraitsOf(type).name;
    EXPECT_GT(error, 0.7 * ggml[i]) << TraitsOf(type).name;
  }
}

// What is on a grid of the type is found again, but for the grid's own rounding.
TEST(QuantizeRow, FindsAGridAgain) {
  for (const DataType type : kSearchedTypes) {
    const std::vector<float> once = Back(type, Normals(4096, 1));
    EXPECT_LT(RelativeError(Back(type, once), once), 1e-4) << TraitsOf(type).name;
  }
}

// Blocks are made four or eight runs at a time; none looks at another's elements.
TEST(QuantizeRow, BlocksKnowNothingOfOneAnother) {
  for (const DataType type : kSearchedTypes) {
    const auto block = static_cast<size_t>(TraitsOf(type).block_elements);
    const std::vector<float> row = Normals(7 * block, 1);
    const std::vector<std::byte> together = Blocks(type, row);
    const size_t block_bytes = together.size() / 7;
    for (size_t i = 0; i < 7; ++i) {
      const auto first = row.begin() + static_cast<ptrdiff_t>(i * block);
      const std::vector<std::byte> alone =
          Blocks(type, {first, first + static_cast<ptrdiff_t>(block)});
      const auto part = together.begin() + static_cast<ptrdiff_t>(i * block_bytes);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), part)) << TraitsOf(type).name << i;
    }
  }
}

TEST(QuantizeRow, ExtremesAreWhatTheyCanBe) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const DataType type : kSearchedTypes) {
    SCOPED_TRACE(TraitsOf(type).name);
    const std::vector<float> zeros(256);
    EXPECT_EQ(Back(type, zeros), zeros);
    EXPECT_EQ(Back(type, std::vector<float>(256, 0x1p-40F)), zeros);
    EXPECT_EQ(Back(type, std::vector<float>(256, 1e-40F)), zeros);
    for (const float sign : {1.0F, -1.0F}) {
      for (const float value : Back(type, std::vector<float>(256, 3 * sign))) {
        EXPECT_NEAR(value, 3 * sign, 0.05F);
      }
    }
    for (const float bad : {kInfinity, -kInfinity, kNaN, 1e30F}) {
      std::vector<float> row = Normals(512, 1);
      row[77] = bad;
      const std::vector<float> back = Back(type, row);
      EXPECT_FALSE(std::isfinite(back[77])) << bad;
      EXPECT_TRUE(std::isfinite(back[300])) << bad;
    }
    // One element far from all others keeps its place.
    std::vector<float> row = Normals(256, 0.01F);
    row[130] = -50;
    EXPECT_NEAR(Back(type, row)[130], -50, 0.5F);
  }
}

}  // namespace
}  // namespace weft
