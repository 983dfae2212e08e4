// From a checkpoint to a model that computes.
#pragma once

#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/checkpoint.h"
#include "model/kernels/kernels.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace weft {

// Packs the checkpoint's tensors for these kernels, in parallel on `threads`, and closes its files:
// `checkpoint.tensors` and `checkpoint.files` are empty afterwards, the rest stays. `kernels` and
// `threads` outlive the result. An error if memory runs out, a file has changed since it was
// opened, or `progress` stopped it. Where others compute on `threads`, this takes turns with them.
// `packed_cache`: a directory (PackedCache), out of which packed matrices are mapped, or into which
// they are written; what does not work there is said on the log and changes nothing else. Empty:
// none. Nor with several NUMA nodes, to which packing gives the pages of each panel.
Result<Transformer> LoadTransformer(Checkpoint& checkpoint, const KernelTable& kernels,
                                    ThreadPool& threads, const PackingProgress& progress = {},
                                    const std::string& packed_cache = {});

}  // namespace weft
