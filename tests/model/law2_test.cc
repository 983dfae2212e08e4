// A row's result depends on that row alone: logits compared with ==, for every architecture, under
// the bf16 arithmetic and both KV types, in every company, cut and geometry.
#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

using Rows = std::vector<std::vector<float>>;

// Which rows differ in any bit; empty if none.
std::string Differences(const Rows& found, const Rows& expected) {
  if (found.size() != expected.size()) return "row counts differ";
  std::string rows;
  for (size_t row = 0; row < expected.size(); ++row) {
    if (found[row] != expected[row]) rows += std::to_string(row) + " ";
  }
  return rows;
}

// What a block's former owner may have left: every byte of NaN.
void Poison(RunnableModel& model) {
  KvCache& cache = model.cache();
  for (const StateGroup& group : cache.groups()) {
    if (!group.is_recurrent) continue;
    for (const int32_t layer : group.layers) {
      const auto& spec = model.spec().layers[static_cast<size_t>(layer)];
      const auto floats = static_cast<size_t>(RecurrentFloats(model.spec(), spec));
      for (int32_t block = 0; block < group.block_count; ++block) {
        std::memset(cache.State(layer, block), 0xFF, floats * sizeof(float));
      }
    }
  }
  for (int64_t layer = 0; layer < model.spec().layer_count(); ++layer) {
    const int64_t block_count = cache.groups()[cache.group(layer)].block_count;
    std::memset(cache.Pages(layer, 0), 0xFF,
                static_cast<size_t>(block_count * cache.page_stride_bytes(layer)));
  }
}

class Law2Test : public testing::TestWithParam<std::tuple<const char*, KvType, Arithmetic>> {
 protected:
  static RunOptions Options() {
    return {.arithmetic = std::get<2>(GetParam()),
            .isa = ChooseIsa().value(),
            .kv_type = std::get<1>(GetParam())};
  }
  std::string path() const { return ParityPath(std::get<0>(GetParam()), "model.gguf"); }

  // Three sequences of different lengths, and the logits of each alone in one piece.
  void SetUp() override {
    RunnableModel model(path(), Options());
    std::mt19937 random(1);
    for (const int64_t length : {75, 33, 20}) {
      // Learned positions end with the context.
      const int64_t fitting = std::min(length, model.spec().context_length);
      std::vector<TokenId> tokens(static_cast<size_t>(fitting));
      for (TokenId& token : tokens) {
        token = static_cast<TokenId>(random() % static_cast<uint32_t>(model.spec().vocab_size));
      }
      sequences_.push_back(tokens);
      alone_.push_back(model.RunSequence(tokens));
    }
  }

  std::vector<std::vector<TokenId>> sequences_;
  std::vector<Rows> alone_;
};

TEST_P(Law2Test, ChunkSizeDoesNotMatter) {
  RunnableModel model(path(), Options());
  for (const size_t chunk_size : {1, 3, 16, 17, 64}) {
    EXPECT_EQ(Differences(model.RunSequence(sequences_[0], chunk_size), alone_[0]), "")
        << "chunks of " << chunk_size;
  }
}

TEST_P(Law2Test, ThreadCountDoesNotMatter) {
  for (const int thread_count : {2, 3, 4}) {
    RunOptions options = Options();
    options.thread_count = thread_count;
    RunnableModel model(path(), options);
    EXPECT_EQ(Differences(model.RunSequence(sequences_[0], 40), alone_[0]), "")
        << thread_count << " threads";
  }
}

TEST_P(Law2Test, NodesDoNotMatter) {
  RunOptions options = Options();
  options.thread_count = 5;
  // CPUs that do not exist: the threads run anywhere.
  options.nodes = {{0, {7'000, 7'001, 7'002}}, {1, {7'500}}, {2, {7'600}}};
  RunnableModel model(path(), options);
  EXPECT_EQ(Differences(model.RunSequence(sequences_[0], 40), alone_[0]), "");
}

TEST_P(Law2Test, BlockSizeAndFormerOwnersDoNotMatter) {
  for (const int64_t block_size : {16, 32, 64}) {
    RunOptions options = Options();
    options.block_size = block_size;
    RunnableModel model(path(), options);
    Poison(model);
    EXPECT_EQ(Differences(model.RunSequence(sequences_[0], 23, 2), alone_[0]), "")
        << "blocks of " << block_size;
  }
}

TEST_P(Law2Test, CompanyDoesNotMatter) {
  RunOptions options = Options();
  options.thread_count = 2;
  options.block_size = 16;
  RunnableModel model(path(), options);
  std::mt19937 random(2);
  for (int round = 0; round < 3; ++round) {
    Poison(model);
    std::vector<int32_t> free_blocks = model.Blocks(0, 16 * options.block_count);
    std::shuffle(free_blocks.begin(), free_blocks.end(), random);
    std::vector<Rows> found(sequences_.size());
    std::vector<std::vector<int32_t>> tables(sequences_.size());
    const auto is_unfinished = [&](size_t i) { return found[i].size() < sequences_[i].size(); };
    while (is_unfinished(0) || is_unfinished(1) || is_unfinished(2)) {
      std::vector<Chunk> chunks;
      std::vector<size_t> owners;
      for (size_t i = 0; i < sequences_.size(); ++i) {
        const size_t done = found[i].size();
        const size_t count = std::min<size_t>(random() % 20, sequences_[i].size() - done);
        if (count == 0) continue;
        while (tables[i].size() * 16 < done + count) {
          tables[i].push_back(free_blocks.back());
          free_blocks.pop_back();
        }
        const auto first = sequences_[i].begin() + static_cast<ptrdiff_t>(done);
        chunks.push_back({{first, first + static_cast<ptrdiff_t>(count)},
                          static_cast<int32_t>(done),
                          tables[i]});
        owners.push_back(i);
      }
      if (chunks.empty()) continue;
      Rows rows = model.Run(chunks);
      size_t row = 0;
      for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
        for (size_t i = 0; i < chunks[chunk].tokens.size(); ++i) {
          found[owners[chunk]].push_back(std::move(rows[row++]));
        }
      }
    }
    for (size_t i = 0; i < sequences_.size(); ++i) {
      EXPECT_EQ(Differences(found[i], alone_[i]), "") << "sequence " << i << ", round " << round;
    }
  }
}

TEST_P(Law2Test, ACopiedBlockIsAsGoodAsTheOriginal) {
  RunnableModel model(path(), Options());
  Poison(model);
  const std::vector<TokenId>& tokens = sequences_[1];
  const Chunk start{{tokens.begin(), tokens.begin() + 20}, 0, {0, 1}};
  const Chunk rest{{tokens.begin() + 20, tokens.end()}, 20, {5, 6}};
  model.Run(std::span(&start, 1));
  for (size_t group = 0; group < model.cache().groups().size(); ++group) {
    model.cache().CopyBlock(group, 0, 5);
  }
  EXPECT_EQ(
      Differences(model.Run(std::span(&rest, 1)), Rows(alone_[1].begin() + 20, alone_[1].end())),
      "");
}

// The blocks of a group of layers when a chunk begins: those that it sees take turns, and there are
// none before them.
std::vector<int32_t> BlocksInTurn(const StateGroup& group, int64_t first_position, int64_t end,
                                  int64_t max_rows) {
  constexpr int64_t kBlockSize = 16;
  const int64_t held = group.MostBlocks(end, max_rows, kBlockSize);
  std::vector<int32_t> table(static_cast<size_t>(CeilDivide(end, kBlockSize)), kNoBlock);
  for (int64_t i = group.FirstVisible(first_position) / kBlockSize; i < std::ssize(table); ++i) {
    table[static_cast<size_t>(i)] = static_cast<int32_t>(i % held);
  }
  return table;
}

TEST_P(Law2Test, WhatNoRowSeesNeedsNoBlock) {
  constexpr int64_t kChunk = 7;
  RunOptions options = Options();
  options.block_size = 16;
  RunnableModel model(path(), options);
  Poison(model);
  const std::vector<TokenId>& tokens = sequences_[0];
  Rows found;
  for (int64_t first = 0; first < std::ssize(tokens); first += kChunk) {
    const int64_t end = std::min(first + kChunk, std::ssize(tokens));
    Chunk chunk{{tokens.begin() + first, tokens.begin() + end}, static_cast<int32_t>(first), {}};
    for (const StateGroup& group : model.cache().groups()) {
      chunk.other_tables.push_back(BlocksInTurn(group, first, end, kChunk));
    }
    chunk.block_table = chunk.other_tables.front();
    chunk.other_tables.erase(chunk.other_tables.begin());
    for (auto& row : model.Run(std::span(&chunk, 1))) found.push_back(std::move(row));
  }
  EXPECT_EQ(Differences(found, alone_[0]), "");
}

// Longer than a span of the attention's online softmax, so that spans are merged; with many threads
// they are worked on apart.
TEST(Law2LongTest, ChunkSizeAndThreadsDoNotMatterAcrossSpans) {
  const std::pair<const char*, KvType> cases[] = {
      {"llama3", KvType::kBF16},    {"mistral", KvType::kBF16}, {"deepseek_v3", KvType::kBF16},
      {"deepseek_v3", KvType::kQ8}, {"llama3", KvType::kQ8},    {"mistral", KvType::kQ8},
      {"qwen3_5", KvType::kBF16}};
  for (const auto& [fixture, kv_type] : cases) {
    RunOptions options{
        .arithmetic = Arithmetic::kBF16, .isa = ChooseIsa().value(), .kv_type = kv_type};
    options.max_rows = 1100;
    options.block_count = 36;
    RunnableModel model(ParityPath(fixture, "model.gguf"), options);
    std::vector<TokenId> tokens;
    for (TokenId i = 0; i < 4 * kAttentionSpan + 37; ++i) tokens.push_back(i * i % 251);
    const Rows whole = model.RunSequence(tokens);
    options.thread_count = 6;
    RunnableModel threaded(ParityPath(fixture, "model.gguf"), options);
    for (const size_t chunk_size : {3, 100, 257}) {
      EXPECT_EQ(Differences(model.RunSequence(tokens, chunk_size), whole), "")
          << fixture << ", " << NameOf(kv_type) << ", chunks of " << chunk_size;
      EXPECT_EQ(Differences(threaded.RunSequence(tokens, chunk_size), whole), "")
          << fixture << ", " << NameOf(kv_type) << ", chunks of " << chunk_size << ", 6 threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Law2Test,
                         testing::Combine(testing::ValuesIn(kParityFixtures),
                                          testing::Values(KvType::kBF16, KvType::kQ8),
                                          testing::Values(Arithmetic::kBF16)),
                         [](const auto& parameter) {
                           return std::string(std::get<0>(parameter.param)) + "_" +
                                  std::string(NameOf(std::get<1>(parameter.param)));
                         });

// Experts, latent attention, linear attention beside the plain kind.
INSTANTIATE_TEST_SUITE_P(
    InPairs, Law2Test,
    testing::Combine(testing::Values("llama3", "mixtral", "deepseek_v3", "qwen3_5"),
                     testing::Values(KvType::kBF16), testing::Values(Arithmetic::kBF16Pair)),
    [](const auto& parameter) { return std::string(std::get<0>(parameter.param)); });

}  // namespace
}  // namespace weft
