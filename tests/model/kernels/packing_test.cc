// Packing loses nothing against the file's own dequantisation rounded to bf16, and keeps the file's
// size.
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
  for (const int64_t panel : {3, 0, 2, 1}) kernels_.pack_panels(matrix.view, panel, 1, packed);
  EXPECT_EQ(
      std::memcmp(packed.storage.data(), expected.storage.data(), packed.storage.size_bytes()), 0);
}

TEST_P(PackingTest, TakesAtMostATenthMoreThanTheFile) {
  if (GetParam() == DataType::kF32) return;  // half of it
  const int64_t columns = 4096;
  const int64_t panel_bytes = kernels_.panel_bytes(kernels_.packed_layout(GetParam()), columns);
  EXPECT_LE(static_cast<double>(panel_bytes),
            1.05 * static_cast<double>(kPanelRows * RowBytes(GetParam(), columns)));
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

INSTANTIATE_TEST_SUITE_P(AllTypes, PackingTest, testing::ValuesIn(kAllTypes),
                         [](const auto& type) { return std::string(TraitsOf(type.param).name); });

TEST(PackedLayoutTest, PlainTypesBecomeBFloat16) {
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  EXPECT_EQ(kernels.packed_layout(DataType::kF32), PanelFormat::kBF16);
  EXPECT_EQ(kernels.packed_layout(DataType::kF16), PanelFormat::kBF16);
  EXPECT_EQ(kernels.packed_layout(DataType::kQ4_K), PanelFormat::kQ4_K);
  EXPECT_EQ(KernelsFor(Arithmetic::kF32, Isa::kScalar).packed_layout(DataType::kQ4_K),
            PanelFormat::kF32);
}

}  // namespace
}  // namespace weft
