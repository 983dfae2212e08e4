// What is particular to bf16pair: the order within a pair, on every instruction set; that the
// default takes it; the check of the processor at start. Its products run in matmul_test.cc.
#include <gtest/gtest.h>

#include "base/float_env.h"
#include "model/formats/block_format.h"
#include "model/kernels/amx_check.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

// The product of two rows of k, the second as a matrix in BF16.
float Product(const KernelTable& kernels, const std::vector<float>& x,
              const std::vector<float>& weights) {
  const auto columns = static_cast<int64_t>(x.size());
  std::vector<uint16_t> bits;
  for (const float weight : weights) bits.push_back(FloatToBFloat16(weight));
  const TensorView view = TensorView::Contiguous(reinterpret_cast<const std::byte*>(bits.data()),
                                                 DataType::kBF16, {1, columns});
  const PackedMatrix packed = Pack(kernels, view);
  const OperandMatrix operand = ToOperands(kernels, OperandType::kBF16, x, columns, false);
  float y = 0;
  MatmulTask task;
  task.weights = &packed;
  task.panel_count = 1;
  operand.Describe(task);
  task.row_count = 1;
  task.y = &y;
  task.y_stride = 1;
  kernels.matmul(task);
  return y;
}

// 2^24 + 1 is no float: which sums are rounded shows the order of the additions.
TEST(PairTest, TheOddProductComesFirst) {
  const ScopedFlushDenormals flush;
  for (const KernelTable* kernels : AvailableTables(Arithmetic::kBF16Pair)) {
    // (2^24 - 2^24) + 1, and (2^24 + 1) - 2^24.
    EXPECT_EQ(Product(*kernels, {0, 0x1p24F, 1, -0x1p24F}, {0, 1, 1, 1}), 1) << kernels->name;
    EXPECT_EQ(Product(*kernels, {0, 0x1p24F, -0x1p24F, 1}, {0, 1, 1, 1}), 0) << kernels->name;
  }
}

// One chain: no group of 32 begins anew.
TEST(PairTest, TheChainGoesOnOverAllOfK) {
  const ScopedFlushDenormals flush;
  std::vector<float> x(96);
  x[1] = 0x1p24F;
  x[40] = 1;
  x[42] = 1;
  const std::vector<float> ones(96, 1);
  for (const KernelTable* kernels : AvailableTables(Arithmetic::kBF16Pair)) {
    EXPECT_EQ(Product(*kernels, x, ones), 0x1p24F) << kernels->name;
  }
  EXPECT_EQ(Product(KernelsFor(Arithmetic::kBF16, Isa::kScalar), x, ones), 0x1p24F + 2);
}

TEST(PairTest, DenormalsAreZero) {
  const ScopedFlushDenormals flush;
  const float tiny = 0x1p-70F;
  for (const KernelTable* kernels : AvailableTables(Arithmetic::kBF16Pair)) {
    // The first product would be 2^-140, and the second cannot lift it.
    EXPECT_EQ(Product(*kernels, {0, tiny, 0, 0x1p-64F}, {0, tiny, 0, 0x1p-62F}), 0x1p-126F)
        << kernels->name;
    EXPECT_EQ(Product(*kernels, {0x1.8p-64F, 0, -0x1p-64F, 0}, {0x1p-62F, 0, 0x1p-62F, 0}), 0)
        << kernels->name;
  }
}

TEST(PairTest, IsTheDefaultForWeightsThatAreNotQuantised) {
  EXPECT_EQ(AutoArithmetic(Isa::kScalar), Arithmetic::kInt8Pair);
  const bool has_tiles = KernelsFor(Arithmetic::kBF16, IsasHere().back()).isa == Isa::kAmx;
  EXPECT_EQ(AutoArithmetic(IsasHere().back()),
            has_tiles ? Arithmetic::kInt8 : Arithmetic::kInt8Pair);
  Random random(3);
  const ScopedFlushDenormals flush;
  for (const DataType type : {DataType::kBF16, DataType::kQ5_1, DataType::kFP8_F32}) {
    const KernelTable& both = KernelsFor(Arithmetic::kInt8Pair, IsasHere().back());
    const KernelTable& one = KernelsFor(
        HasIntegerCodes(type) ? Arithmetic::kInt8 : Arithmetic::kBF16Pair, IsasHere().back());
    const FileMatrix matrix = RandomMatrix(type, 40, 320, Scales::kOrdinary, random);
    const PackedMatrix packed = Pack(both, matrix.view);
    const OperandMatrix x =
        ToOperands(both, both.operand_type(packed.layout), random.Normals(5 * 320), 320, false);
    const auto multiply = [&](const KernelTable& kernels) {
      std::vector<float> y(5 * 40);
      MatmulTask task;
      task.weights = &packed;
      task.panel_count = packed.panel_count();
      x.Describe(task);
      task.row_count = 5;
      task.y = y.data();
      task.y_stride = 40;
      kernels.matmul(task);
      return y;
    };
    EXPECT_EQ(FirstDifference(multiply(both), multiply(one)), -1) << TraitsOf(type).name;
  }
}

#if defined(__x86_64__)
// What decides at start whether vdpbf16ps serves, with FMAs in its place.
TEST(PairTest, TheCheckAtStartKnowsGoodProductsFromBad) {
  if (!DetectCpu().avx2_fma) GTEST_SKIP() << "this processor has no FMA";
  const KernelTable& avx2 = KernelsFor(Arithmetic::kBF16Pair, Isa::kAvx2);
  KernelTable other = avx2;
  for (const float magnitude : {1.0F, 0x1p-118F}) {
    EXPECT_TRUE(SameProducts(other, avx2, magnitude));
  }
  // Another order, which is bf16's.
  other.matmul = KernelsFor(Arithmetic::kBF16, Isa::kAvx2).matmul;
  EXPECT_FALSE(SameProducts(other, avx2));
  // Denormals that are left, where all results are far from them otherwise.
  other.matmul = [](const MatmulTask& task) {
    KernelsFor(Arithmetic::kBF16Pair, Isa::kAvx2).matmul(task);
    float& y = task.y[3 * (task.row_count > 3 ? task.y_stride : 0)];
    if (y == 0) y = 0x1p-149F;
  };
  EXPECT_TRUE(SameProducts(other, avx2));
  EXPECT_FALSE(SameProducts(other, avx2, 0x1p-126F));
}
#endif

}  // namespace
}  // namespace weft
