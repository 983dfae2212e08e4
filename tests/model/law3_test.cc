// The scalar reference defines the bits: every family's logits on every instruction set that is
// here, and with AMX's tiles and AVX-VNNI in software, compared with == to those of the scalar
// kernels.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/model/kernels/tables_here.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

// Chunks that many rows' kernels compute, and a last one for those of few.
constexpr size_t kChunkSize = 23;
constexpr int64_t kTokens = 3 * kChunkSize + 6;

std::vector<std::vector<float>> LogitsOf(const std::string& path, const KernelTable& kernels) {
  RunnableModel model(path, {.arithmetic = kernels.arithmetic,
                             .kv_type = kernels.kv_type,
                             .adjust_kernels = [&](KernelTable& table) { table = kernels; }});
  const int64_t vocab_size = model.spec().vocab_size;
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < std::min(kTokens, model.spec().context_length); ++i) {
    tokens.push_back(static_cast<TokenId>((i * i * 7 + 3) % vocab_size));
  }
  return model.RunSequence(tokens, kChunkSize);
}

struct Law3Case {
  std::string fixture;
  std::string file;
  Arithmetic arithmetic = Arithmetic::kBF16;
  KvType kv_type = KvType::kBF16;
};

void PrintTo(const Law3Case& one, std::ostream* out) { *out << one.fixture << "/" << one.file; }

std::vector<Law3Case> AllCases() {
  std::vector<Law3Case> cases;
  for (const KvType kv_type : {KvType::kBF16, KvType::kQ8}) {
    for (const char* fixture : kParityFixtures) {
      cases.push_back({fixture, "model.gguf", Arithmetic::kBF16, kv_type});
    }
    for (const char* fixture : kParityFixturesWithoutGguf) {
      cases.push_back({fixture, "hf", Arithmetic::kBF16, kv_type});
    }
  }
  // The one whose weights are quantised; in the others int8 is bf16.
  cases.push_back({"gpt_oss", "model.gguf", Arithmetic::kInt8, KvType::kBF16});
  for (const char* fixture : {"llama3", "mixtral", "deepseek_v3", "gpt_oss"}) {
    cases.push_back({fixture, "model.gguf", Arithmetic::kBF16Pair, KvType::kBF16});
    cases.push_back({fixture, "model.gguf", Arithmetic::kInt8Pair, KvType::kQ8});
  }
  return cases;
}

class Law3Test : public testing::TestWithParam<Law3Case> {};

TEST_P(Law3Test, EveryInstructionSetGivesTheSameBits) {
  const auto& [fixture, file, arithmetic, kv_type] = GetParam();
  const std::vector<KernelTable> tables = TablesHere(arithmetic, kv_type);
  const std::string path = ParityPath(fixture, file);
  const std::vector<std::vector<float>> expected = LogitsOf(path, tables.front());
  for (size_t i = 1; i < tables.size(); ++i) {
    EXPECT_TRUE(LogitsOf(path, tables[i]) == expected) << tables[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Law3Test, testing::ValuesIn(AllCases()),
                         [](const auto& parameter) {
                           const Law3Case& one = parameter.param;
                           const bool both = one.arithmetic == Arithmetic::kInt8Pair;
                           return fmt::format("{}_{}_{}", one.fixture,
                                              both ? "int8_pair" : NameOf(one.arithmetic),
                                              NameOf(one.kv_type));
                         });

}  // namespace
}  // namespace weft
