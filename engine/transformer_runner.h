// The engine's model: a Transformer with the KV cache and the workspace it computes in.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/model_runner.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace weft {

struct TransformerRunnerOptions {
  int64_t block_size = 32;              // positions a KV block; a multiple of 16
  std::vector<StateGroup> groups = {};  // the model's, with the number of their blocks
  int32_t max_batch_tokens = 512;       // rows of one step, EngineOptions::max_batch_tokens
  int32_t max_sequences = 64;           // of one step, EngineOptions::max_sequences
  int32_t thread_count = 1;             // of the pool that the transformer computes on
};

// Allocates everything at construction (law 4); throws std::bad_alloc. Used by the engine thread.
class TransformerRunner : public ModelRunner {
 public:
  TransformerRunner(Transformer transformer, const TransformerRunnerOptions& options);

  // What it and the engine's samplers, sparse poolers and constrained sequences take besides the
  // weights and the KV cache. `has_f16`: WorkspaceOptions.
  static int64_t WorkspaceBytes(const ModelSpec& spec, const KernelTable& kernels, bool has_f16,
                                const TransformerRunnerOptions& options);

  int64_t vocab_size() const override { return transformer_.spec().vocab_size; }
  int64_t block_size() const override { return cache_.block_size(); }
  std::span<const StateGroup> groups() const override { return cache_.groups(); }
  // How many rows have chosen each expert so far: (layers, experts); empty: there are none.
  std::span<const int64_t> expert_tokens() const { return workspace_.expert_tokens; }
  int64_t expert_count() const { return transformer_.spec().expert_count(); }
  int thread_count() const override { return workspace_.options().thread_count; }
  bool generates() const override { return transformer_.spec().generates(); }
  bool makes(PooledOutput output) const override { return transformer_.spec().makes(output); }
  SparseSpec sparse() const override { return transformer_.spec().sparse.value_or(SparseSpec()); }
  Result<void> Run(const ForwardBatch& batch, const LogitsVisitor& visit) override;
  std::vector<float> FromPooled(PooledOutput output, std::vector<float> pooled) override {
    return transformer_.FromPooled(output, std::move(pooled));
  }
  // Steps add to `profile` where their time went, until nullptr is set. Between steps.
  void set_profile(StepProfile* profile) { profile_ = profile; }
  void CopyBlock(size_t group, int32_t from, int32_t to) override {
    cache_.CopyBlock(group, from, to);
  }

 private:
  Transformer transformer_;
  KvCache cache_;
  Workspace workspace_;
  StepProfile* profile_ = nullptr;
};

}  // namespace weft
