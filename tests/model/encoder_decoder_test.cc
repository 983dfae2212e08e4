// Encoder-decoders against transformers: the same checkpoint, the same source and target, nearly
// the same logits; and the same bits alone, in a crowd, in chunks and on every instruction set.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/source_task.h"
#include "tests/data_paths.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

// Of tests/tools/make_parity_fixtures.py.
constexpr std::array kEncoderDecoderFixtures = {
    "bart",     // norms of sums and of the embedding, other heads in the decoder
    "m2m100",   // sinusoids, norms before the halves
    "marian",   // sinusoids of another kind, a bias of the logits
    "mbart",    // learned positions, norms before the halves and of the embedding
    "pegasus",  // sinusoids without an offset
    "t5",       // relative positions, ReLU, a tied and scaled head
    "t5_v1_1",  // GELU with a gate, a head of its own
};

using Rows = std::vector<std::vector<float>>;

struct Case {
  std::vector<TokenId> source;
  std::vector<TokenId> target;
  Rows logits;  // the reference's, behind each token of the target
};

std::vector<Case> ReadCases(const std::string& fixture) {
  std::ifstream text(ParityPath(fixture, "expected.json"));
  const auto json = nlohmann::json::parse(text);
  std::ifstream numbers(ParityPath(fixture, "logits.f32"), std::ios::binary);
  std::vector<Case> cases;
  for (const auto& one : json.at("cases")) {
    Case next{one.at("source"), one.at("target"), {}};
    for (size_t row = 0; row < next.target.size(); ++row) {
      std::vector<float> values(json.at("vocab_size").get<size_t>());
      numbers.read(reinterpret_cast<char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(float)));
      next.logits.push_back(std::move(values));
    }
    cases.push_back(std::move(next));
  }
  EXPECT_TRUE(numbers.good() && numbers.peek() == std::ifstream::traits_type::eof()) << fixture;
  return cases;
}

// The targets' logits, `chunk_size` rows of each a step; the sources are computed in the first.
std::vector<Rows> LogitsOf(RunnableModel& model, const std::vector<Case>& cases,
                           size_t chunk_size = 1 << 20) {
  std::vector<Rows> logits(cases.size());
  for (size_t at = 0;; at += chunk_size) {
    std::vector<Chunk> chunks;
    std::vector<size_t> owners;
    int32_t first_block = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      const Case& one = cases[i];
      Chunk chunk{.tokens = {},
                  .first_position = static_cast<int32_t>(at),
                  .block_table = model.Blocks(first_block, std::ssize(one.target)),
                  .other_tables = {model.Blocks(first_block, std::ssize(one.source))},
                  .source = one.source,
                  .computes_source = at == 0};
      first_block += 2;
      for (size_t j = at; j < std::min(one.target.size(), at + chunk_size); ++j) {
        chunk.tokens.push_back(one.target[j]);
      }
      if (chunk.tokens.empty()) continue;
      chunks.push_back(std::move(chunk));
      owners.push_back(i);
    }
    if (chunks.empty()) return logits;
    const Rows rows = model.Run(chunks);
    size_t row = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      for (size_t j = 0; j < chunks[i].tokens.size(); ++j) logits[owners[i]].push_back(rows[row++]);
    }
  }
}

void ExpectParity(const std::string& fixture, const char* file, Arithmetic arithmetic,
                  double tolerance) {
  RunnableModel model(ParityPath(fixture, file), {.arithmetic = arithmetic});
  ASSERT_NE(model.spec().encoder, nullptr);
  for (const Case& one : ReadCases(fixture)) {
    EXPECT_LT(RelativeError(LogitsOf(model, {one}).front(), one.logits), tolerance)
        << fixture << " " << file << ", a source of " << one.source.size() << " tokens";
  }
}

class EncoderDecoderTest : public testing::TestWithParam<const char*> {};

TEST_P(EncoderDecoderTest, Float32) { ExpectParity(GetParam(), "hf", Arithmetic::kF32, 1e-4); }
TEST_P(EncoderDecoderTest, Bfloat16) { ExpectParity(GetParam(), "hf", Arithmetic::kBF16, 2e-2); }

// The only family of them that GGUF has.
TEST(EncoderDecoderGgufTest, T5) {
  ExpectParity("t5", "model.gguf", Arithmetic::kF32, 1e-4);
  ExpectParity("t5", "model.gguf", Arithmetic::kBF16, 2e-2);
}

// A directory as opus-mt's are: no tokenizer.json, and a token that begins texts and is none of
// any. tests/tools/make_translation_fixtures.py made it.
TEST(OpusMtTest, TranslatesAsTransformersDoes) {
  const std::string path = SourcePath("tests/model/tokenizer/fixtures/marian");
  RunnableModel model(path, {.arithmetic = Arithmetic::kF32});
  const Tokenizer& tokenizer = *model.checkpoint().tokenizer;
  const TargetSpec& target = model.spec().target;
  EXPECT_EQ(target.prefix, std::vector<TokenId>{714});
  EXPECT_EQ(target.banned, std::vector<TokenId>{714});
  std::ifstream file(path + "/expected.json");
  const auto expectations = nlohmann::json::parse(file);
  for (const auto& row : expectations["translations"]) {
    const auto text = row[0].get<std::string>();
    const SourceTask task = FindSourceTask(target, tokenizer, "").value();
    Case one{EncodeSource(tokenizer, task, text).value(), task.target_prefix, {}};
    EXPECT_EQ(one.source, row[1].get<std::vector<TokenId>>()) << text;
    const auto expected = row[2].get<std::vector<TokenId>>();
    while (one.target.size() < expected.size()) {
      const std::vector<float> logits = LogitsOf(model, {one}).front().back();
      one.target.push_back(
          static_cast<TokenId>(std::ranges::max_element(logits.begin(), logits.end() - 1) -
                               logits.begin()));  // the last one is banned
    }
    EXPECT_EQ(one.target, expected) << text;
    EXPECT_EQ(tokenizer.Decode(one.target), row[3].get<std::string>());
  }
  const SourceTask to_french = FindSourceTask(target, tokenizer, "translation_en_to_fra").value();
  EXPECT_EQ(EncodeSource(tokenizer, to_french, "the").value(), (std::vector<TokenId>{712, 592, 0}));
}

// Laws 2 and 3.
TEST_P(EncoderDecoderTest, TheSameBitsAloneInACrowdInChunksAndEverywhere) {
  const std::vector<Case> cases = ReadCases(GetParam());
  for (const KvType kv_type : {KvType::kBF16, KvType::kQ8}) {
    for (const Arithmetic arithmetic : {Arithmetic::kBF16, Arithmetic::kInt8}) {
      RunnableModel reference(ParityPath(GetParam(), "hf"),
                              {.arithmetic = arithmetic, .kv_type = kv_type});
      std::vector<Rows> alone;
      for (const Case& one : cases) alone.push_back(LogitsOf(reference, {one}).front());
      EXPECT_EQ(LogitsOf(reference, cases, 1), alone) << "token by token";
      for (const KernelTable* kernels : AvailableTables(arithmetic, kv_type)) {
        RunnableModel model(ParityPath(GetParam(), "hf"),
                            {.arithmetic = arithmetic,
                             .kv_type = kv_type,
                             .thread_count = 3,
                             .adjust_kernels = [&](KernelTable& table) { table = *kernels; }});
        EXPECT_EQ(LogitsOf(model, cases), alone) << kernels->name;
        EXPECT_EQ(LogitsOf(model, cases, 5), alone) << kernels->name << " in chunks";
      }
    }
  }
}

// A target's position sees all of the source, and nothing of another's.
TEST_P(EncoderDecoderTest, EveryPositionSeesTheWholeSource) {
  RunnableModel model(ParityPath(GetParam(), "hf"), {.arithmetic = Arithmetic::kBF16});
  std::vector<Case> cases = ReadCases(GetParam());
  const std::vector<Rows> before = LogitsOf(model, cases);
  cases.back().source.back() ^= 1;
  const std::vector<Rows> after = LogitsOf(model, cases);
  for (size_t i = 0; i + 1 < cases.size(); ++i) EXPECT_EQ(before[i], after[i]);
  for (size_t row = 0; row < cases.back().target.size(); ++row) {
    EXPECT_NE(before.back()[row], after.back()[row]) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, EncoderDecoderTest,
                         testing::ValuesIn(kEncoderDecoderFixtures),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace weft
