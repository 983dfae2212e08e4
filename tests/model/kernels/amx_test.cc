// AMX without AMX: the model of its tiles against cases worked out by hand. The products over them
// run in matmul_test.cc with the other instruction sets.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/float_env.h"
#include "model/kernels/amx_check.h"
#include "model/kernels/isa_functions.h"
#include "model/kernels/peak_loops.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/kernels/software_amx.h"
#include "tests/model/kernels/tile_emulator.h"

namespace weft {
namespace {

using testing::ElementsAre;

std::vector<uint16_t> Bits(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(FloatToBFloat16(value));
  return bits;
}

class SoftwareTilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!software_amx::HasSoftwareAmx()) {
      GTEST_SKIP() << "this processor lacks AVX-512 VNNI or BF16";
    }
  }
};

TEST_F(SoftwareTilesTest, PairsOfRowsMeetPairsOfWeights) {
  // Two rows of two pairs; two rows of weights, a pair for each of three outputs.
  const std::vector<uint16_t> rows = Bits({1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<uint16_t> weights = Bits({1, 10, 2, 20, 3, 30, -1, 1, 0, 0, 0.5, 0.25});
  std::vector<float> sums = {100, 0, 0, 0, 0, 1000};
  software_amx::MultiplyBF16(2, 3, 2, rows.data(), weights.data(), sums.data());
  EXPECT_THAT(sums, ElementsAre(100 + 1 + 20 - 3 + 4, 2 + 40, 3 + 60 + 1.5 + 1, 5 + 60 - 7 + 8,
                                10 + 120, 1000 + 15 + 180 + 3.5 + 2));
}

// 2^24 + 1 is no float: which sums are rounded shows the order of the additions.
TEST_F(SoftwareTilesTest, EvenAndOddChainsMeetBeforeTheSum) {
  const std::vector<uint16_t> weights = Bits({1, 1, 1, 1});
  std::vector<float> sums = {0x1p24F};
  // even 1 + 0, odd 1 + 0: 2 together, which the sum can hold; one after the other would be lost.
  software_amx::MultiplyBF16(1, 1, 2, Bits({1, 1, 0, 0}).data(), weights.data(), sums.data());
  EXPECT_EQ(sums[0], 0x1p24F + 2);
  // even 2^24 + 1 = 2^24, odd -2^24 + 1 is exact: 1. In the order of k it would be 2 or 0.
  sums = {0};
  software_amx::MultiplyBF16(1, 1, 2, Bits({0x1p24F, -0x1p24F, 1, 1}).data(), weights.data(),
                             sums.data());
  EXPECT_EQ(sums[0], 1);
}

TEST_F(SoftwareTilesTest, DenormalsAreZeroWhateverTheThreadSays) {
  const uint16_t denormal = 0x007f;
  const std::vector<uint16_t> one = Bits({1, 1});
  const uint16_t rows[] = {denormal, denormal};
  std::vector<float> sums = {0};
  software_amx::MultiplyBF16(1, 1, 1, rows, one.data(), sums.data());
  EXPECT_EQ(std::bit_cast<uint32_t>(sums[0]), 0U);
  // The product 2^-140 would be denormal.
  const std::vector<uint16_t> tiny = Bits({0x1p-70F, 0});
  software_amx::MultiplyBF16(1, 1, 1, tiny.data(), tiny.data(), sums.data());
  EXPECT_EQ(std::bit_cast<uint32_t>(sums[0]), 0U);
  // So is a sum that comes in denormal.
  sums[0] = std::numeric_limits<float>::denorm_min();
  software_amx::MultiplyBF16(1, 1, 1, Bits({0, 0}).data(), one.data(), sums.data());
  EXPECT_EQ(std::bit_cast<uint32_t>(sums[0]), 0U);
  volatile float smallest = std::numeric_limits<float>::min();
  EXPECT_GT(smallest / 2, 0.0F) << "the thread's own mode has changed";
}

TEST_F(SoftwareTilesTest, QuadsOfSignedBytes) {
  const int8_t rows[] = {1, -2, 3, 4, -128, 127, 0, 1};             // one row, two quads
  const int8_t weights[] = {1,    1,   1, 1, -128, 127,  5, -5,     // first quad of two outputs
                            -128, 127, 9, 0, 127,  -128, 0, -128};  // second
  int32_t sums[] = {1000, 0};
  software_amx::MultiplyInt8(1, 2, 2, rows, weights, sums);
  EXPECT_EQ(sums[0], 1000 + (1 - 2 + 3 + 4) + (128 * 128 + 127 * 127));
  EXPECT_EQ(sums[1], (-128 - 254 + 15 - 20) + (-128 * 127 - 127 * 128 - 128));
}

// More rows and panels than a block has, and neither a multiple of what is taken together.
TEST_F(SoftwareTilesTest, BlocksEqualAvx512) {
  Random random(31);
  const int64_t columns = 11 * kGroupColumns;
  const int64_t outputs = 19 * kPanelRows - 1;
  const int64_t rows = 512 + 21;
  std::vector<int32_t> gathered;
  for (int64_t r = 0; r < rows; ++r) {
    gathered.push_back(static_cast<int32_t>(random.Integer(0, rows - 1)));
  }
  const std::vector<float> before = random.Normals(rows * outputs);
  const ScopedFlushDenormals flush;
  for (const Arithmetic arithmetic : {Arithmetic::kBF16, Arithmetic::kInt8}) {
    const KernelTable& avx512 = KernelsFor(arithmetic, Isa::kAvx512);
    const KernelTable software = software_amx::SoftwareAmxTable(arithmetic);
    const FileMatrix matrix =
        RandomMatrix(DataType::kQ5_1, outputs, columns, Scales::kOrdinary, random);
    const PackedMatrix weights = Pack(avx512, matrix.view);
    const std::vector<float> values = random.Normals(rows * columns);
    const OperandType type = avx512.operand_type(weights.layout);
    OperandMatrix x = ToOperands(avx512, type, values, columns, true);
    if (type == OperandType::kInt8) AddResiduals(avx512, values, x);
    const auto multiply = [&](const KernelTable& kernels, const int32_t* x_rows, bool accumulate) {
      std::vector<float> y = before;
      MatmulTask task;
      task.weights = &weights;
      task.panel_count = weights.panel_count();
      x.Describe(task);
      task.x_rows = x_rows;
      task.row_count = rows;
      task.y = y.data();
      task.y_stride = outputs;
      task.accumulate = accumulate;
      kernels.matmul(task);
      return y;
    };
    EXPECT_EQ(FirstDifference(multiply(software, nullptr, true), multiply(avx512, nullptr, true)),
              -1)
        << NameOf(arithmetic);
    EXPECT_EQ(FirstDifference(multiply(software, gathered.data(), false),
                              multiply(avx512, gathered.data(), false)),
              -1)
        << NameOf(arithmetic);
  }
}

// What decides at start whether AMX serves.
TEST_F(SoftwareTilesTest, TheCheckAtStartKnowsGoodProductsFromBad) {
  for (const Arithmetic arithmetic : {Arithmetic::kBF16, Arithmetic::kInt8}) {
    const KernelTable& avx512 = KernelsFor(arithmetic, Isa::kAvx512);
    KernelTable software = software_amx::SoftwareAmxTable(arithmetic);
    EXPECT_TRUE(SameProducts(software, avx512)) << NameOf(arithmetic);
    // The lowest bit of one value in rows beyond the first tile.
    static constexpr auto kSpoil = [](const MatmulTask& task) {
      if (task.row_count > 16) task.y[17 * task.y_stride + 5] *= 1 + 0x1p-22F;
    };
    if (arithmetic == Arithmetic::kBF16) {
      software.matmul = [](const MatmulTask& task) {
        KernelsFor(Arithmetic::kBF16, Isa::kAvx512).matmul(task);
        kSpoil(task);
      };
    } else {
      software.matmul = [](const MatmulTask& task) {
        KernelsFor(Arithmetic::kInt8, Isa::kAvx512).matmul(task);
        kSpoil(task);
      };
    }
    EXPECT_FALSE(SameProducts(software, avx512)) << NameOf(arithmetic);
  }
}

TEST_F(SoftwareTilesTest, TheCheckAtStartKnowsGoodAttentionFromBad) {
  const KernelTable& avx512 = KernelsFor(Arithmetic::kBF16, Isa::kAvx512);
  KernelTable software = software_amx::SoftwareAmxTable(Arithmetic::kBF16);
  EXPECT_TRUE(SameAttention(software, avx512));
  // The lowest bit of one value, of the last row and where there is a window.
  software.attention = [](const AttentionTask& task) {
    KernelsFor(Arithmetic::kBF16, Isa::kAvx512).attention(task);
    if (task.sliding_window > 0) task.out[task.row_count * task.out_stride - 1] *= 1 + 0x1p-22F;
  };
  EXPECT_FALSE(SameAttention(software, avx512));
}

// amx.cc itself, instruction by instruction.
TEST_F(SoftwareTilesTest, AmxInstructionsEqualAvx512) {
  if (DetectCpu().amx_bf16) GTEST_SKIP() << "this processor's own tiles run in the other tests";
  const software_amx::ScopedTileEmulator emulator;
  KernelTable bf16 = KernelsFor(Arithmetic::kBF16, Isa::kAvx512);
  bf16.matmul = [](const MatmulTask& task) {
    amx::MatmulBF16(task, task.weights->panel(task.first_panel));
  };
  EXPECT_TRUE(SameProducts(bf16, KernelsFor(Arithmetic::kBF16, Isa::kAvx512)));
  KernelTable int8 = KernelsFor(Arithmetic::kInt8, Isa::kAvx512);
  int8.matmul = [](const MatmulTask& task) {
    const auto matmul = HasIntegerCodes(task.weights->layout) ? amx::MatmulInt8 : amx::MatmulBF16;
    matmul(task, task.weights->panel(task.first_panel));
  };
  EXPECT_TRUE(SameProducts(int8, KernelsFor(Arithmetic::kInt8, Isa::kAvx512)));
  bf16.attention_scratch_bytes = amx::AttentionScratchBytes;
  bf16.attention = amx::AttentionBF16;
  EXPECT_TRUE(SameAttention(bf16, KernelsFor(Arithmetic::kBF16, Isa::kAvx512)));
  EXPECT_EQ(amx::kBF16Peak.run(1), 0);
  EXPECT_EQ(amx::kInt8Peak.run(1), 0);
}

}  // namespace
}  // namespace weft
