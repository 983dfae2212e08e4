// The tensors of a model, packed for this CPU's kernels. Read-only once packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "model/kernels/kernels.h"
#include "model/kernels/packed_matrix.h"
#include "model/parameters.h"

namespace weft {

// Called on the packing thread after every tensor: bytes of the file done so far, and in all.
// False: pack no more, the weights are for nobody.
using PackingProgress = std::function<bool(int64_t done_bytes, int64_t total_bytes)>;

// Matrices that were packed before, in a file: those of ModelTensors::matrices, then of stacks.
struct MappedMatrices {
  MappedFile file;
  std::vector<std::span<const std::byte>> panels;
};

class Weights {
 public:
  // Packs tensor by tensor, the panels of each in parallel, and gives the pages of `files` back as
  // it goes: at no time is more resident than the packed weights and one tensor of the file. Packs
  // no more of a file that is torn, which is for the caller to find. Matrices that are `mapped` are
  // taken from there; tables never are. Throws std::bad_alloc.
  static Weights Pack(const ModelTensors& tensors, std::span<const MappedFile> files,
                      const KernelTable& kernels, ThreadPool& threads,
                      const PackingProgress& progress = {},
                      std::shared_ptr<const MappedMatrices> mapped = nullptr);

  // What Pack will allocate.
  static int64_t PackedBytes(const ModelTensors& tensors, const KernelTable& kernels);

  const PackedMatrix& matrix(MatrixId id) const { return matrices_[static_cast<size_t>(id)]; }
  std::span<const PackedMatrix> stack(StackId id) const { return stacks_[static_cast<size_t>(id)]; }
  // All of them, stacks' behind the others.
  std::vector<const PackedMatrix*> all_matrices() const;
  // float32 in every arithmetic. nullptr: the model, or its checkpoint, has no such table.
  const float* table(TableId id) const {
    if (id == TableId::kNone) return nullptr;
    const std::vector<float>& values = tables_[static_cast<size_t>(id)];
    return values.empty() ? nullptr : values.data();
  }

 private:
  std::vector<PackedMatrix> matrices_;
  std::vector<std::vector<PackedMatrix>> stacks_;
  std::vector<std::vector<float>> tables_;
  std::shared_ptr<const MappedMatrices> mapped_;
};

}  // namespace weft
