// A model file loaded and ready to run, and the shortest way from token ids to logits, for tests.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "base/thread_pool.h"
#include "model/kernels/blas.h"
#include "model/load.h"
#include "model/transformer.h"
#include "model/workspace.h"
#include "tests/data_paths.h"

namespace weft {

inline std::string ParityPath(const std::string& fixture, const std::string& file) {
  return SourcePath("tests/model/fixtures/parity/") + fixture + "/" + file;
}

struct RunOptions {
  Arithmetic arithmetic = Arithmetic::kF32;
  Isa isa = Isa::kScalar;
  KvType kv_type = KvType::kBF16;  // kF32 with Arithmetic::kF32
  int thread_count = 1;
  std::vector<NumaNode> nodes = {};  // for the threads
  int64_t block_size = 32;
  int64_t block_count = 16;
  int64_t max_rows = 256;
  std::function<void(ModelSpec&)> adjust = {};  // what it computes, before the model is built
  std::function<void(KernelTable&)> adjust_kernels = {};
  // Around the forward pass of each step.
  std::function<void()> before_step = {};
  std::function<void()> after_step = {};
};

// One sequence's rows of a step.
struct Chunk {
  std::vector<TokenId> tokens;
  int32_t first_position = 0;
  std::vector<int32_t> block_table;                     // in all groups of layers
  std::vector<std::vector<int32_t>> other_tables = {};  // of groups behind the first
  int32_t second_text = kNoSecondText;
  std::vector<TokenId> source = {};  // of an encoder-decoder; its blocks are the last table
  bool computes_source = false;      // in this step
};

// As many blocks for each of a model's groups of layers.
inline std::vector<StateGroup> GroupsWithBlocks(const ModelSpec& spec, int64_t block_count) {
  std::vector<StateGroup> groups = StateGroupsOf(spec, spec.context_length);
  for (StateGroup& group : groups) group.block_count = block_count;
  return groups;
}

// Before those threads start.
inline int ThreadCountWithBlas(const RunOptions& options) {
  const Result<void> loaded = options.arithmetic == Arithmetic::kF32 ? LoadBlas() : Result<void>();
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return options.thread_count;
}

inline Checkpoint LoadOrThrow(const std::string& path) {
  auto checkpoint = LoadCheckpoint(path);
  if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
  return *std::move(checkpoint);
}

class RunnableModel {
 public:
  RunnableModel(const std::string& path, const RunOptions& options)
      : RunnableModel(LoadOrThrow(path), options) {}
  RunnableModel(Checkpoint checkpoint, const RunOptions& options)
      : threads_(ThreadCountWithBlas(options), options.nodes),
        before_step_(options.before_step),
        after_step_(options.after_step),
        checkpoint_(std::move(checkpoint)) {
    if (options.adjust) options.adjust(checkpoint_.spec);
    kernels_ = KernelsFor(options.arithmetic, options.isa, options.kv_type);
    if (options.adjust_kernels) options.adjust_kernels(kernels_);
    auto transformer = LoadTransformer(checkpoint_, kernels_, threads_);
    if (!transformer) throw std::runtime_error(transformer.error().message);
    transformer_ = std::make_unique<Transformer>(*std::move(transformer));
    cache_ = std::make_unique<KvCache>(
        spec(), kernels_, GroupsWithBlocks(spec(), options.block_count), options.block_size);
    workspace_ = std::make_unique<Workspace>(
        spec(), kernels_,
        WorkspaceOptions{options.max_rows, options.block_size, options.thread_count,
                         transformer_->has_f16()});
  }

  const ModelSpec& spec() const { return checkpoint_.spec; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  KvCache& cache() { return *cache_; }

  // Blocks [first_block, ...) for this many positions.
  std::vector<int32_t> Blocks(int32_t first_block, int64_t position_count) const {
    std::vector<int32_t> table;
    for (int64_t at = 0; at < position_count; at += cache_->block_size()) {
      table.push_back(first_block++);
    }
    return table;
  }

  std::vector<float> FromPooled(PooledOutput output, std::vector<float> pooled) const {
    const ScopedFlushDenormals flush_denormals;
    return transformer_->FromPooled(output, std::move(pooled));
  }

  // One step; the logits of all its rows.
  std::vector<std::vector<float>> Run(std::span<const Chunk> chunks) {
    std::vector<std::vector<float>> logits;
    RunStep(chunks, &logits, nullptr);
    return logits;
  }

  // One step; the hidden states of all its rows.
  std::vector<std::vector<float>> HiddenStates(std::span<const Chunk> chunks) {
    std::vector<std::vector<float>> hidden;
    RunStep(chunks, nullptr, &hidden);
    return hidden;
  }

  // One sequence alone, in chunks of at most `chunk_size` rows, in blocks from `first_block` on.
  std::vector<std::vector<float>> RunSequence(const std::vector<TokenId>& tokens,
                                              size_t chunk_size = 1 << 20,
                                              int32_t first_block = 0) {
    std::vector<std::vector<float>> logits;
    const std::vector<int32_t> blocks = Blocks(first_block, std::ssize(tokens));
    for (size_t at = 0; at < tokens.size(); at += chunk_size) {
      const size_t end = std::min(tokens.size(), at + chunk_size);
      const Chunk chunk{{tokens.begin() + static_cast<ptrdiff_t>(at),
                         tokens.begin() + static_cast<ptrdiff_t>(end)},
                        static_cast<int32_t>(at),
                        blocks};
      for (auto& row : Run(std::span(&chunk, 1))) logits.push_back(std::move(row));
    }
    return logits;
  }

 private:
  // The sources that a step computes.
  struct Sources {
    std::vector<TokenId> tokens;
    std::vector<int32_t> positions;
    std::vector<TokenPhase> phases;
    std::vector<SequenceSpan> sequences;

    void Add(const Chunk& chunk, std::span<const std::span<const int32_t>> tables) {
      if (!chunk.computes_source) return;
      const auto row_count = static_cast<int32_t>(chunk.source.size());
      sequences.push_back({.first_row = static_cast<int32_t>(tokens.size()),
                           .row_count = row_count,
                           .block_tables = tables});
      for (int32_t i = 0; i < row_count; ++i) positions.push_back(i);
      tokens.insert(tokens.end(), chunk.source.begin(), chunk.source.end());
      phases.resize(tokens.size(), TokenPhase::kPrompt);
    }
    ForwardBatch batch() const {
      return {.token_ids = tokens,
              .positions = positions,
              .phases = phases,
              .sequences = sequences,
              .logit_rows = {}};
    }
  };

  // One step; what is wanted of its rows.
  void RunStep(std::span<const Chunk> chunks, std::vector<std::vector<float>>* logits,
               std::vector<std::vector<float>>* hidden) {
    std::vector<TokenId> tokens;
    std::vector<int32_t> positions;
    std::vector<TokenPhase> phases;
    std::vector<SequenceSpan> sequences;
    std::vector<int32_t> rows;
    Sources sources;
    const size_t group_count = cache_->groups().size();
    std::vector<std::span<const int32_t>> tables;
    tables.reserve(chunks.size() * group_count);
    for (const Chunk& chunk : chunks) {
      for (size_t group = 0; group < group_count; ++group) {
        const bool has_other = group > 0 && group <= chunk.other_tables.size();
        tables.emplace_back(has_other ? chunk.other_tables[group - 1] : chunk.block_table);
      }
      const auto first_row = static_cast<int32_t>(tokens.size());
      const auto row_count = static_cast<int32_t>(chunk.tokens.size());
      sequences.push_back({.first_row = first_row,
                           .row_count = row_count,
                           .first_position = chunk.first_position,
                           .second_text = chunk.second_text,
                           .source_count = static_cast<int32_t>(chunk.source.size()),
                           .block_tables = std::span(tables).last(group_count)});
      sources.Add(chunk, sequences.back().block_tables);
      for (int32_t i = 0; i < row_count; ++i) {
        rows.push_back(first_row + i);
        positions.push_back(chunk.first_position + i);
        phases.push_back(TokenPhase::kPrompt);
      }
      tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    }
    ForwardBatch batch{.token_ids = tokens,
                       .positions = positions,
                       .phases = phases,
                       .sequences = sequences,
                       .logit_rows = {}};
    const ForwardBatch of_sources = sources.batch();
    if (of_sources.row_count() > 0) batch.sources = &of_sources;
    const auto vocab_size = static_cast<size_t>(spec().vocab_size);
    if (logits != nullptr) {
      logits->assign(tokens.size(), std::vector<float>(vocab_size));
      batch.logit_rows = rows;
    }
    const LogitsVisitor visit = [&](int64_t index, int, float* values) {
      std::copy_n(values, vocab_size, (*logits)[static_cast<size_t>(index)].begin());
    };
    const HiddenVisitor visit_hidden = [&](int64_t, std::span<const float> values) {
      hidden->emplace_back(values.begin(), values.end());
    };
    if (hidden != nullptr) {
      batch.hidden_rows = rows;
      batch.visit_hidden = &visit_hidden;
    }
    const ScopedFlushDenormals flush_denormals;
    if (before_step_) before_step_();
    transformer_->Forward(batch, *cache_, *workspace_, visit);
    if (after_step_) after_step_();
  }

  ThreadPool threads_;
  const std::function<void()> before_step_;
  const std::function<void()> after_step_;
  KernelTable kernels_;
  Checkpoint checkpoint_;
  std::unique_ptr<Transformer> transformer_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace weft
