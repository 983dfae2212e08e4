// The one virtual seam of the engine: the real transformer in production, a deterministic fake in
// the scheduler's tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/forward_batch.h"
#include "model/spec.h"
#include "model/state.h"

namespace weft {

class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  virtual int64_t vocab_size() const = 0;
  virtual int64_t block_size() const = 0;  // positions a KV block
  // What the model keeps of a sequence, with the number of KV blocks that there are for each.
  virtual std::span<const StateGroup> groups() const = 0;
  virtual int thread_count() const = 0;  // bound of the thread indices that visitors see

  // One step; logits are handed to `visit` before it returns. An error fails the sequences of this
  // batch, not the engine.
  virtual Result<void> Run(const ForwardBatch& batch, const LogitsVisitor& visit) = 0;
  virtual bool generates() const = 0;  // text
  virtual bool makes(PooledOutput output) const = 0;
  // How weights come of logits, if the model makes kSparse.
  virtual SparseSpec sparse() const = 0;
  // What kEmbedding or kLabels says of a vector that was pooled of hidden states; the model makes
  // that.
  virtual std::vector<float> FromPooled(PooledOutput output, std::vector<float> pooled) = 0;
  // Copies the bytes of one of a group's KV blocks over another (copy on write).
  virtual void CopyBlock(size_t group, int32_t from, int32_t to) = 0;
};

}  // namespace weft
