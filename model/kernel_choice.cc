#include "model/kernel_choice.h"

#include <algorithm>
#include <cstdint>

#include "model/kv_cache.h"

namespace weft {
namespace {

bool IsMostlyInt8(const ModelTensors& tensors, const KernelTable& kernels) {
  int64_t int8_elements = 0;
  int64_t other_elements = 0;
  const auto count = [&](const BoundMatrix& matrix) {
    const OperandType operand = kernels.operand_type(kernels.packed_layout(matrix.type()));
    (operand == OperandType::kInt8 ? int8_elements : other_elements) += matrix.view.element_count();
  };
  std::ranges::for_each(tensors.matrices, count);
  for (const std::vector<BoundMatrix>& stack : tensors.stacks) std::ranges::for_each(stack, count);
  return int8_elements > other_elements;
}

// `q8` are the kernels with such a cache, where their arithmetic has one.
bool PrefersQ8(const Checkpoint& checkpoint, const KernelTable& q8) {
  const ModelSpec& spec = checkpoint.spec;
  if (spec.is_encoder || spec.encoder != nullptr || q8.isa == Isa::kAmx) return false;
  if (!CheckKvType(spec, q8, KvType::kQ8)) return false;
  for (int64_t i = 0; i < CachedLayerCount(spec); ++i) {
    if (CachedLayer(spec, i).value_in_key) return false;
  }
  return IsMostlyInt8(checkpoint.tensors, q8);
}

}  // namespace

Result<const KernelTable*> KernelsForModel(const Checkpoint& checkpoint,
                                           const KernelChoice& choice) {
  const Arithmetic arithmetic = choice.arithmetic.value_or(AutoArithmetic(choice.isa));
  if (!choice.kv_type) {
    const KernelTable& q8 = KernelsFor(arithmetic, choice.isa, KvType::kQ8);
    return PrefersQ8(checkpoint, q8) ? &q8 : &KernelsFor(arithmetic, choice.isa);
  }
  const KernelTable& kernels = KernelsFor(arithmetic, choice.isa, *choice.kv_type);
  WEFT_RETURN_IF_ERROR(CheckKvType(checkpoint.spec, kernels, choice.kv_type));
  return &kernels;
}

}  // namespace weft
