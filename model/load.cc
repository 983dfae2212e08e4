#include "model/load.h"

#include <new>

namespace weft {

Result<Transformer> LoadTransformer(Checkpoint& checkpoint, const KernelTable& kernels,
                                    ThreadPool& threads, const PackingProgress& progress) {
  const int64_t packed_bytes = Weights::PackedBytes(checkpoint.tensors, kernels);
  try {
    Transformer transformer(
        checkpoint.config,
        Weights::Pack(checkpoint.tensors, checkpoint.files, kernels, threads, progress), kernels,
        threads);
    checkpoint.tensors = {};
    checkpoint.files.clear();
    return transformer;
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "{}: no memory for {} bytes of weights",
                checkpoint.path, packed_bytes);
  }
}

}  // namespace weft
