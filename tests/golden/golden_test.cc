// The bits of logits, written down: a forced definition of the arithmetic gives the same on every
// machine and instruction set. A change of these values is a change of the definition.
#include <bit>

#include <fmt/core.h>

#include "tests/data_paths.h"
#include "tests/model/kernels/isas_here.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

// Of a prompt of fixed tokens: the FNV-1a hash of all its logits' bits, and what greedy decoding
// goes on with.
struct Golden {
  std::string logits_hash;
  std::vector<TokenId> continuation;
};

constexpr size_t kPromptTokens = 70;
constexpr size_t kContinuedTokens = 10;

void Hash(const std::vector<float>& values, uint64_t& hash) {
  for (const float value : values) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (bits >> shift & 0xff)) * 0x100000001b3;
    }
  }
}

Golden Compute(const std::string& path, Arithmetic arithmetic, Isa isa,
               const WeightsChoice& weights) {
  Checkpoint checkpoint = LoadOrThrow(path);
  ChooseWeights(checkpoint.tensors, weights, arithmetic, isa, checkpoint.spec.head.linear.weights);
  RunnableModel model(std::move(checkpoint),
                      {.arithmetic = arithmetic, .isa = isa, .thread_count = 2});
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < kPromptTokens; ++i) {
    tokens.push_back(
        static_cast<TokenId>((i * i * 7 + 3) % static_cast<size_t>(model.spec().vocab_size)));
  }
  uint64_t hash = 0xcbf29ce484222325;
  const std::vector<int32_t> blocks = model.Blocks(0, kPromptTokens + kContinuedTokens);
  Chunk chunk{tokens, 0, blocks};
  Golden golden;
  while (golden.continuation.size() < kContinuedTokens) {
    const std::vector<std::vector<float>> logits = model.Run(std::span(&chunk, 1));
    for (const std::vector<float>& row : logits) Hash(row, hash);
    const auto largest = std::max_element(logits.back().begin(), logits.back().end());
    golden.continuation.push_back(static_cast<TokenId>(largest - logits.back().begin()));
    chunk.first_position += static_cast<int32_t>(chunk.tokens.size());
    chunk.tokens = {golden.continuation.back()};
  }
  golden.logits_hash = fmt::format("{:016x}", hash);
  return golden;
}

std::string BundledModelPath() { return SourcePath("model/demo/weft-demo.gguf"); }

void ExpectGolden(const std::string& path, Arithmetic arithmetic, const Golden& expected,
                  const WeightsChoice& weights = {}) {
  for (const Isa isa : IsasHere()) {
    const KernelTable& kernels = KernelsFor(arithmetic, isa);
    const Golden found = Compute(path, arithmetic, isa, weights);
    EXPECT_EQ(found.logits_hash, expected.logits_hash) << kernels.name;
    EXPECT_EQ(found.continuation, expected.continuation) << kernels.name;
  }
}

TEST(GoldenTest, BundledModelInBF16) {
  ExpectGolden(BundledModelPath(), Arithmetic::kBF16,
               {"6a90cd76d2a75e5f", {25, 338, 292, 258, 1410, 13, 314, 762, 461, 284}});
}

// Quantised weights, experts.
TEST(GoldenTest, BundledModelInInt8) {
  ExpectGolden(BundledModelPath(), Arithmetic::kInt8,
               {"5e8006b1fabd02c9", {25, 338, 292, 258, 1452, 13, 314, 762, 354, 334}});
}

TEST(GoldenTest, BundledModelInBF16Pair) {
  ExpectGolden(BundledModelPath(), Arithmetic::kBF16Pair,
               {"5c87fe239dc6086d", {25, 338, 292, 258, 976, 83, 401, 354, 334, 315}});
}

// What is not AMX's default: all of its matrices are quantised.
TEST(GoldenTest, BundledModelInInt8AndBF16Pair) {
  ExpectGolden(BundledModelPath(), Arithmetic::kInt8Pair,
               {"5e8006b1fabd02c9", {25, 338, 292, 258, 1452, 13, 314, 762, 354, 334}});
}

TEST(GoldenTest, MistralInInt8AndBF16Pair) {
  ExpectGolden(ParityPath("mistral", "model.gguf"), Arithmetic::kInt8Pair,
               {"7dc368b46e11d8bb", {186, 10, 103, 260, 158, 136, 155, 88, 201, 214}});
}

// Sliding window.
TEST(GoldenTest, MistralInBF16) {
  ExpectGolden(ParityPath("mistral", "model.gguf"), Arithmetic::kBF16,
               {"9da524dd2afc6efb", {186, 10, 103, 260, 158, 136, 155, 88, 201, 214}});
}

// Biases.
TEST(GoldenTest, Qwen2InBF16) {
  ExpectGolden(ParityPath("qwen2", "model.gguf"), Arithmetic::kBF16,
               {"879be41e7c55c930", {66, 62, 226, 66, 66, 66, 66, 66, 226, 66}},
               {.type = DataType::kBF16});
}

// Its weights are of F16, and stay what they are.
TEST(GoldenTest, Qwen2AsItIs) {
  ExpectGolden(ParityPath("qwen2", "model.gguf"), Arithmetic::kBF16,
               {"c2cc17fb4f01adcc", {66, 66, 66, 66, 66, 66, 66, 66, 226, 66}});
}

}  // namespace
}  // namespace weft
