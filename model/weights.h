// The tensors of a model, packed for this CPU's kernels. Read-only once packed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "model/checkpoint.h"
#include "model/kernels/kernels.h"
#include "model/kernels/packed_matrix.h"

namespace weft {

// Shapes as in LayerTensors. Matrices are packed; vectors and the router are float32 in every
// arithmetic. What the architecture lacks is empty.
struct LayerWeights {
  std::vector<float> attention_norm, mlp_norm;
  std::vector<float> query_bias, key_bias, value_bias;
  std::vector<float> query_norm, key_norm;
  PackedMatrix query, key, value, attention_output;
  PackedMatrix gate, up, down;
  std::vector<float> router;
  std::vector<PackedMatrix> expert_gate, expert_up, expert_down;
};

// Called on the packing thread after every tensor: bytes of the file done so far, and in all.
using PackingProgress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

class Weights {
 public:
  // Packs tensor by tensor, the panels of each in parallel, and gives the pages of `files` back as
  // it goes: at no time is more resident than the packed weights and one tensor of the file. Packs
  // no more of a file that is torn, which is for the caller to find. Throws std::bad_alloc.
  static Weights Pack(const ModelTensors& tensors, std::span<const MappedFile> files,
                      const KernelTable& kernels, ThreadPool& threads,
                      const PackingProgress& progress = {});

  // What Pack will allocate.
  static int64_t PackedBytes(const ModelTensors& tensors, const KernelTable& kernels);

  const PackedMatrix& token_embedding() const { return token_embedding_; }
  // The token embedding itself if the file ties them.
  const PackedMatrix& output_head() const { return output_head_ ? output_head_ : token_embedding_; }
  const std::vector<float>& output_norm() const { return output_norm_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }

 private:
  PackedMatrix token_embedding_;
  PackedMatrix output_head_;
  std::vector<float> output_norm_;
  std::vector<LayerWeights> layers_;
};

}  // namespace weft
