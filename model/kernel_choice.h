// Which kernels a model gets.
#pragma once

#include <optional>

#include "base/result.h"
#include "model/checkpoint.h"
#include "model/kernels/kernels.h"

namespace weft {

// What was asked for; nullopt: what suits the machine and the model.
struct KernelChoice {
  Isa isa{};
  std::optional<Arithmetic> arithmetic = {};
  std::optional<KvType> kv_type = {};
};

// The table for a model whose `tensors` are bound. Without a wish the arithmetic is AutoArithmetic,
// and the KV cache q8 where that adds little to what is lost anyway (docs/ACCURACY.md): in a
// decoder without an encoder most of whose weights are multiplied in int8, unless keys hold their
// values, which are not rotated then, or AMX attends over bf16 in tiles. An error if the cache that
// was asked for does not go with the arithmetic, or cannot hold the model's heads.
Result<const KernelTable*> KernelsForModel(const Checkpoint& checkpoint,
                                           const KernelChoice& choice);

}  // namespace weft
