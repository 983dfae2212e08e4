// Which instruction set is chosen, and which table serves it.
#include <cstdlib>

#include <gtest/gtest.h>

#include "model/kernels/kernels.h"

namespace weft {
namespace {

class DispatchTest : public testing::Test {
 protected:
  void SetUp() override { Restore(); }
  void TearDown() override { Restore(); }
  static void Force(const char* isa) { setenv("WEFT_ISA", isa, 1); }
  void Restore() {
    if (had_) {
      Force(saved_.c_str());
    } else {
      unsetenv("WEFT_ISA");
    }
  }

 private:
  const bool had_ = std::getenv("WEFT_ISA") != nullptr;
  const std::string saved_ = had_ ? std::getenv("WEFT_ISA") : "";
};

TEST_F(DispatchTest, ScalarCanAlwaysBeForced) {
  Force("scalar");
  const Result<Isa> isa = ChooseIsa();
  ASSERT_TRUE(isa);
  EXPECT_EQ(*isa, Isa::kScalar);
  EXPECT_EQ(KernelsFor(Arithmetic::kBF16, *isa).name, "bf16/scalar");
}

TEST_F(DispatchTest, UnknownNamesAreRefused) {
  Force("sse9");
  const Result<Isa> isa = ChooseIsa();
  ASSERT_FALSE(isa);
  EXPECT_EQ(isa.error().message,
            "WEFT_ISA: 'sse9' is unknown (expected scalar, avx2, avx512 or amx)");
}

TEST_F(DispatchTest, ForcedSetsAreThereOrRefused) {
  const CpuFeatures cpu = DetectCpu();
  const struct {
    const char* name;
    Isa isa;
    bool available;
  } cases[] = {{"avx2", Isa::kAvx2, cpu.avx2_fma},
               {"avx512", Isa::kAvx512, cpu.avx512},
               {"amx", Isa::kAmx, cpu.amx_bf16}};
  for (const auto& [name, expected, available] : cases) {
    Force(name);
    const Result<Isa> isa = ChooseIsa();
    if (available) {
      ASSERT_TRUE(isa) << name;
      EXPECT_EQ(*isa, expected);
    } else {
      ASSERT_FALSE(isa) << name;
      EXPECT_EQ(isa.error().code, ErrorCode::kUnsupported);
      EXPECT_EQ(isa.error().message,
                "WEFT_ISA: '" + std::string(name) + "' is not available on this machine");
    }
  }
}

TEST_F(DispatchTest, TheBestSetIsTheDefault) {
  unsetenv("WEFT_ISA");
  const CpuFeatures cpu = DetectCpu();
  const Result<Isa> isa = ChooseIsa();
  ASSERT_TRUE(isa);
  const Isa without_amx = cpu.avx512 ? Isa::kAvx512 : cpu.avx2_fma ? Isa::kAvx2 : Isa::kScalar;
  EXPECT_EQ(*isa, cpu.amx_bf16 ? Isa::kAmx : without_amx);
}

TEST_F(DispatchTest, FeaturesImplyWhatTheyRestOn) {
  const CpuFeatures cpu = DetectCpu();
  EXPECT_TRUE(!cpu.avx512 || cpu.avx2_fma);
  for (const bool extension : {cpu.avx512_vnni, cpu.avx512_bf16, cpu.avx512_vbmi, cpu.amx_bf16}) {
    EXPECT_TRUE(!extension || cpu.avx512);
  }
}

TEST_F(DispatchTest, TablesSayWhatTheyAre) {
#if defined(__x86_64__)
  EXPECT_EQ(KernelsFor(Arithmetic::kBF16, Isa::kAvx2).name, "bf16/avx2");
  EXPECT_EQ(KernelsFor(Arithmetic::kBF16, Isa::kAvx512).name, "bf16/avx512");
  const bool has_tiles = DetectCpu().amx_bf16;
  EXPECT_EQ(KernelsFor(Arithmetic::kBF16, Isa::kAmx).name, has_tiles ? "bf16/amx" : "bf16/avx512");
  EXPECT_EQ(KernelsFor(Arithmetic::kInt8, Isa::kAvx2).name,
            DetectCpu().avx_vnni ? "int8/avx2 with VNNI" : "int8/avx2");
  EXPECT_EQ(KernelsFor(Arithmetic::kBF16Pair, Isa::kAvx2).name, "bf16pair/avx2");
  EXPECT_EQ(KernelsFor(Arithmetic::kBF16Pair, Isa::kAvx512).name,
            MultipliesBF16(Isa::kAvx512) ? "bf16pair/avx512" : "bf16pair/avx512 without BF16");
  // Where it is there, FMAs may still be faster.
  EXPECT_TRUE(DetectCpu().avx512_bf16 || !MultipliesBF16(Isa::kAvx512));
  EXPECT_FALSE(MultipliesBF16(Isa::kAvx2));
#endif
  const KernelTable& int8 = KernelsFor(Arithmetic::kInt8, Isa::kScalar);
  EXPECT_EQ(int8.name, "int8/scalar");
  EXPECT_EQ(int8.operand_type(PanelFormat::kQ4_K), OperandType::kInt8);
  EXPECT_EQ(int8.operand_type(PanelFormat::kBF16), OperandType::kBF16);
  EXPECT_EQ(int8.operand_type(PanelFormat::kF16), OperandType::kF32);
  // Codes that stand for floats are no integers to multiply.
  EXPECT_EQ(int8.operand_type(PanelFormat::kFP8_F32), OperandType::kBF16);
  EXPECT_EQ(int8.operand_type(PanelFormat::kNVFP4_F32), OperandType::kInt8);
  const KernelTable& int8_pair = KernelsFor(Arithmetic::kInt8Pair, Isa::kScalar);
  EXPECT_EQ(int8_pair.name, "int8+bf16pair/scalar");
  EXPECT_EQ(int8_pair.operand_type(PanelFormat::kQ4_K), OperandType::kInt8);
  EXPECT_EQ(int8_pair.operand_type(PanelFormat::kBF16), OperandType::kBF16);
  EXPECT_EQ(int8_pair.operand_type(PanelFormat::kNF4_F32), OperandType::kBF16);
  const KernelTable& f32 = KernelsFor(Arithmetic::kF32, Isa::kScalar);
  EXPECT_EQ(f32.name, "f32/blas");
  EXPECT_EQ(f32.operand_type(PanelFormat::kF32), OperandType::kF32);
  EXPECT_EQ(f32.kv_type, KvType::kF32);
}

}  // namespace
}  // namespace weft
