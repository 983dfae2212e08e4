#include "model/load.h"

#include <new>
#include <utility>

namespace weft {

Result<Transformer> LoadTransformer(Checkpoint& checkpoint, const KernelTable& kernels,
                                    ThreadPool& threads, const PackingProgress& progress) {
  bool is_stopped = false;
  const PackingProgress watched = [&](int64_t done_bytes, int64_t total_bytes) {
    is_stopped |= progress && !progress(done_bytes, total_bytes);
    return !is_stopped;
  };
  const int64_t packed_bytes = Weights::PackedBytes(checkpoint.tensors, kernels);
  try {
    Weights weights =
        Weights::Pack(checkpoint.tensors, checkpoint.files, kernels, threads, watched);
    if (is_stopped) {
      return Fail(ErrorCode::kUnavailable, "{}: nobody wants it any more", checkpoint.path);
    }
    for (const MappedFile& file : checkpoint.files) WEFT_RETURN_IF_ERROR(file.CheckUnchanged());
    Transformer transformer(checkpoint.spec, std::move(weights), kernels, threads);
    checkpoint.tensors = {};
    checkpoint.files.clear();
    return transformer;
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "{}: no memory for {} bytes of weights",
                checkpoint.path, packed_bytes);
  }
}

}  // namespace weft
