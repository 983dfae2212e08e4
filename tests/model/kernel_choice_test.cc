// Which arithmetic and which KV cache a model gets.
#include "model/kernel_choice.h"

#include <memory>

#include <gtest/gtest.h>

#include "tests/data_paths.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

constexpr KernelChoice kAuto = {.isa = Isa::kScalar};

class KernelsForModelTest : public testing::Test {
 protected:
  Checkpoint quantised_ = LoadOrThrow(SourcePath("model/demo/weft-demo.gguf"));
  Checkpoint plain_ = LoadOrThrow(ParityPath("qwen3", "model.gguf"));
};

TEST_F(KernelsForModelTest, TheCacheIsQ8WhereProductsAreInInt8) {
  EXPECT_EQ(KernelsForModel(quantised_, kAuto).value()->kv_type, KvType::kQ8);
  EXPECT_EQ(KernelsForModel(plain_, kAuto).value()->kv_type, KvType::kBF16);
  KernelChoice choice = kAuto;
  for (const auto& [arithmetic, kv_type] : {std::pair{Arithmetic::kInt8, KvType::kQ8},
                                            {Arithmetic::kInt8Pair, KvType::kQ8},
                                            {Arithmetic::kBF16, KvType::kBF16},
                                            {Arithmetic::kBF16Pair, KvType::kBF16},
                                            {Arithmetic::kF32, KvType::kF32}}) {
    choice.arithmetic = arithmetic;
    const KernelTable& kernels = *KernelsForModel(quantised_, choice).value();
    EXPECT_EQ(kernels.arithmetic, arithmetic);
    EXPECT_EQ(kernels.kv_type, kv_type) << NameOf(arithmetic);
  }
}

TEST_F(KernelsForModelTest, WeightsThatAreQuantisedWhileTheyAreLoadedCount) {
  for (BoundMatrix& matrix : plain_.tensors.matrices) matrix.becomes = DataType::kQ8_0;
  EXPECT_EQ(KernelsForModel(plain_, kAuto).value()->kv_type, KvType::kQ8);
}

TEST_F(KernelsForModelTest, CodesThatStandForFloatsAreNoIntegers) {
  for (const auto& [type, kv_type] : {std::pair{DataType::kFP8_F32, KvType::kBF16},
                                      {DataType::kNF4_F32, KvType::kBF16},
                                      {DataType::kNVFP4_F32, KvType::kQ8}}) {
    for (BoundMatrix& matrix : plain_.tensors.matrices) matrix.becomes = type;
    EXPECT_EQ(KernelsForModel(plain_, kAuto).value()->kv_type, kv_type) << TraitsOf(type).name;
  }
}

TEST_F(KernelsForModelTest, NotOfEncodersAndOfKeysThatHoldTheirValues) {
  quantised_.spec.is_encoder = true;
  EXPECT_EQ(KernelsForModel(quantised_, kAuto).value()->kv_type, KvType::kBF16);
  quantised_.spec.is_encoder = false;
  quantised_.spec.encoder = std::make_shared<ModelSpec>();
  EXPECT_EQ(KernelsForModel(quantised_, kAuto).value()->kv_type, KvType::kBF16);
  quantised_.spec.encoder = nullptr;
  quantised_.spec.layers.back().attention.value_in_key = true;
  EXPECT_EQ(KernelsForModel(quantised_, kAuto).value()->kv_type, KvType::kBF16);
  quantised_.spec.layers.back().attention.value_in_key = false;
  quantised_.spec.layers.back().attention.key_dim = 4096;
  EXPECT_EQ(KernelsForModel(quantised_, kAuto).value()->kv_type, KvType::kBF16);
}

TEST_F(KernelsForModelTest, AWishIsGrantedOrRefused) {
  KernelChoice choice = kAuto;
  choice.kv_type = KvType::kBF16;
  EXPECT_EQ(KernelsForModel(quantised_, choice).value()->kv_type, KvType::kBF16);
  choice.kv_type = KvType::kQ8;
  EXPECT_EQ(KernelsForModel(plain_, choice).value()->kv_type, KvType::kQ8);
  choice.arithmetic = Arithmetic::kF32;
  EXPECT_EQ(KernelsForModel(plain_, choice).error().message,
            "a KV cache in q8 does not go with the f32 arithmetic, whose cache is in f32");
  choice.arithmetic = Arithmetic::kInt8;
  plain_.spec.layers.front().attention.key_dim = 4096;
  EXPECT_EQ(KernelsForModel(plain_, choice).error().message,
            "a KV cache in q8 holds heads of at most 2048 elements; the model's have 4096");
}

}  // namespace
}  // namespace weft
