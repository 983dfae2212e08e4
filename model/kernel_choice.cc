#include "model/kernel_choice.h"

#include <algorithm>
#include <cstdint>

#include "model/kernels/kv_page.h"
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

// `kernels` are those with a cache in bf16.
bool PrefersQ8(const Checkpoint& checkpoint, const KernelTable& kernels) {
  const ModelSpec& spec = checkpoint.spec;
  if (spec.is_encoder || spec.encoder != nullptr || kernels.isa == Isa::kAmx) return false;
  for (int64_t i = 0; i < CachedLayerCount(spec); ++i) {
    const AttentionSpec& attention = CachedLayer(spec, i);
    if (attention.value_in_key || attention.key_dim > kQ8MaxHeadDim) return false;
  }
  return IsMostlyInt8(checkpoint.tensors, kernels);
}

}  // namespace

Result<const KernelTable*> KernelsForModel(const Checkpoint& checkpoint,
                                           const KernelChoice& choice) {
  const Arithmetic arithmetic = choice.arithmetic.value_or(AutoArithmetic(choice.isa));
  const KernelTable* kernels =
      &KernelsFor(arithmetic, choice.isa, choice.kv_type.value_or(KvType::kBF16));
  WEFT_RETURN_IF_ERROR(CheckKvType(checkpoint.spec, *kernels, choice.kv_type));
  if (!choice.kv_type && PrefersQ8(checkpoint, *kernels)) {
    kernels = &KernelsFor(arithmetic, choice.isa, KvType::kQ8);
  }
  return kernels;
}

}  // namespace weft
