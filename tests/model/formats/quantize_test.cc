// Rows that are quantised while they are loaded: ggml's bytes.
#include "model/formats/quantize.h"

#include <bit>
#include <cmath>
#include <limits>
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

}  // namespace
}  // namespace weft
