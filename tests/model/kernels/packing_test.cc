// Packing loses nothing against the file's own dequantisation, rounded to bf16 but of F16.
#include <gtest/gtest.h>

#include "base/float_env.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

class PackingTest : public testing::TestWithParam<DataType> {
 protected:
  const KernelTable& kernels_ = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  ScopedFlushDenormals flush_;
};

TEST_P(PackingTest, UnpackedRowsAreTheDefinitions) {
  Random random(1);
  const int64_t block = TraitsOf(GetParam()).block_elements;
  for (const Scales scales : {Scales::kOrdinary, Scales::kExtreme}) {
    for (const int64_t rows : {1, 16, 37}) {
      const int64_t columns = block == 1 ? 77 : 2 * std::max<int64_t>(block, 96);
      const FileMatrix matrix = RandomMatrix(GetParam(), rows, columns, scales, random, 3);
      const PackedMatrix packed = Pack(kernels_, matrix.view);
      const std::vector<float> expected = DefinedWeights(matrix.view);
      std::vector<float> unpacked(expected.size());
      for (int64_t row = 0; row < rows; ++row) {
        kernels_.unpack_row(packed, row, unpacked.data() + row * columns);
      }
      ASSERT_EQ(FirstDifference(unpacked, expected), -1) << rows << " rows";
    }
  }
}

TEST_P(PackingTest, PanelsCanBePackedInAnyOrder) {
  Random random(2);
  const FileMatrix matrix = RandomMatrix(GetParam(), 50, 512, Scales::kOrdinary, random);
  const PackedMatrix expected = Pack(kernels_, matrix.view);
  PackedMatrix packed = Pack(kernels_, matrix.view);
  std::fill(packed.storage.bytes().begin(), packed.storage.bytes().end(), std::byte{0xaa});
  for (const int64_t panel : {3, 0, 2, 1}) {
    TensorView rows = matrix.view;
    rows.data += panel * kPanelRows * rows.strides_bytes[0];
    rows.dims[0] = std::min(kPanelRows, rows.dims[0] - panel * kPanelRows);
    kernels_.pack_panels(rows, panel, packed);
  }
  EXPECT_EQ(
      std::memcmp(packed.storage.data(), expected.storage.data(), packed.storage.size_bytes()), 0);
}

TEST_P(PackingTest, Float32KeepsEverything) {
  Random random(3);
  const KernelTable& f32 = KernelsFor(Arithmetic::kF32, Isa::kScalar);
  const FileMatrix matrix = RandomMatrix(GetParam(), 21, 256, Scales::kOrdinary, random, 2);
  const PackedMatrix packed = Pack(f32, matrix.view);
  std::vector<float> expected(256);
  std::vector<float> unpacked(256);
  for (int64_t row = 0; row < 21; ++row) {
    DequantizeRow(GetParam(), matrix.view.data + row * matrix.view.strides_bytes[0], 256,
                  expected.data());
    f32.unpack_row(packed, row, unpacked.data());
    ASSERT_EQ(FirstDifference(unpacked, expected), -1) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, PackingTest, testing::ValuesIn(AllTypes()),
                         [](const auto& type) { return std::string(TraitsOf(type.param).name); });

TEST(PackedLayoutTest, AWeightTakesSoManyBits) {
  const std::pair<DataType, double> cases[] = {
      {DataType::kF32, 16},         {DataType::kF16, 16},         {DataType::kBF16, 16},
      {DataType::kQ8_0, 8.5},       {DataType::kQ4_0, 4.5},       {DataType::kQ4_1, 5},
      {DataType::kQ5_0, 5.5},       {DataType::kQ5_1, 6},         {DataType::kQ4_K, 4.625},
      {DataType::kQ5_K, 5.625},     {DataType::kQ6_K, 6.625},     {DataType::kMXFP4, 4.25},
      {DataType::kIQ4_NL, 4.5},     {DataType::kIQ4_XS, 4.375},   {DataType::kQ3_K, 3.625},
      {DataType::kQ2_K, 2.625},     {DataType::kTQ2_0, 2.125},    {DataType::kTQ1_0, 2.125},
      {DataType::kIQ3_S, 4.375},    {DataType::kIQ3_XXS, 4.375},  {DataType::kIQ2_S, 3.625},
      {DataType::kIQ2_XS, 3.625},   {DataType::kIQ2_XXS, 3.375},  {DataType::kIQ1_M, 3.625},
      {DataType::kIQ1_S, 3.375},    {DataType::kNVFP4, 4.5},      {DataType::kINT4_F16, 4.75},
      {DataType::kINT4_BF16, 4.75}, {DataType::kAFFINE4_BF16, 5}, {DataType::kINT8_F32, 9},
      {DataType::kNVFP4_F32, 6},    {DataType::kFP8_F32, 9},      {DataType::kNF4_F32, 5},
      {DataType::kFP4_F32, 5}};
  ASSERT_EQ(std::size(cases), AllTypes().size());
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  constexpr int64_t kColumns = 4096;
  for (const auto& [type, bits] : cases) {
    const int64_t bytes = kernels.panel_bytes(kernels.packed_layout(type), kColumns);
    EXPECT_EQ(static_cast<double>(8 * bytes), bits * kPanelRows * kColumns) << TraitsOf(type).name;
  }
}

TEST(PackedLayoutTest, IsThatOfTheType) {
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  EXPECT_EQ(kernels.packed_layout(DataType::kF32), PanelFormat::kBF16);
  EXPECT_EQ(kernels.packed_layout(DataType::kBF16), PanelFormat::kBF16);
  EXPECT_EQ(kernels.packed_layout(DataType::kF16), PanelFormat::kF16);
  EXPECT_EQ(kernels.packed_layout(DataType::kQ4_K), PanelFormat::kQ4_K);
  EXPECT_EQ(KernelsFor(Arithmetic::kF32, Isa::kScalar).packed_layout(DataType::kQ4_K),
            PanelFormat::kF32);
}

}  // namespace
}  // namespace weft
