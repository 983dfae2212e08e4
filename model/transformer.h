// The forward pass: token ids in, logits out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/forward_batch.h"
#include "model/kernels/kernels.h"
#include "model/kv_cache.h"
#include "model/spec.h"
#include "model/step_profile.h"

namespace weft {

class Weights;    // weights.h: tensors packed for this CPU's kernels
class Workspace;  // workspace.h: every intermediate buffer of a step, allocated once

// Immutable apart from the thread pool it runs on. Forward is called by one thread at a time, which
// holds ScopedFlushDenormals.
class Transformer {
 public:
  Transformer(ModelSpec spec, Weights weights, const KernelTable& kernels, ThreadPool& threads);
  Transformer(Transformer&&) noexcept;
  ~Transformer();

  const ModelSpec& spec() const { return spec_; }
  const KernelTable& kernels() const { return kernels_; }
  bool has_f16() const { return has_f16_; }  // HasF16 of what its weights were made of

  // The cache and the workspace were made for this model, these kernels and this pool; the batch
  // has at most WorkspaceOptions::max_rows rows. Computes the batch's rows, writes their K and V
  // into the cache, hands the wanted logits to `visit`, on the pool's threads, and then the wanted
  // hidden states to the batch's visitor. A row's result
  // depends on that row and its sequence's earlier positions alone. Where the time went is added to
  // `profile`, if there is one; what `visit` takes is not counted. Where others compute on the
  // pool, it has its turn there: an urgent one if the batch has rows of running streams.
  void Forward(const ForwardBatch& batch, KvCache& cache, Workspace& workspace,
               const LogitsVisitor& visit, StepProfile* profile = nullptr);

  // What kEmbedding or kLabels says of a vector that was pooled; the model makes that. On the
  // calling thread, which holds ScopedFlushDenormals.
  std::vector<float> FromPooled(PooledOutput output, std::vector<float> pooled) const;

 private:
  ModelSpec spec_;
  std::unique_ptr<Weights> weights_;
  const KernelTable& kernels_;
  ThreadPool& threads_;
  bool has_f16_;
  std::vector<std::vector<double>> rope_frequencies_;  // of each of ModelSpec::ropes
};

}  // namespace weft
