// What a translation unit for one instruction set offers; kernels.h says what each does. Such a
// unit instantiates nothing with external linkage outside its own namespace (a test looks at its
// symbols), so it gets plain pointers where a type of base/ would need its member functions.
#pragma once

#include "model/kernels/kernels.h"

namespace weft {

struct IsaFunctions {
  // `panel`: the packed bytes of task.first_panel.
  void (*matmul)(const MatmulTask& task, const std::byte* panel);
  void (*to_operand)(const float* x, int64_t n, void* out);
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float epsilon, float* out);
  void (*rms_norm_to_operand)(const float* x, const float* weight, int64_t n, float epsilon,
                              void* out);
  void (*rope)(float* head, const float* cos, const float* sin, int64_t rotary_dim,
               RopePairing pairing);
  // The float32 result, for the f32 arithmetic.
  void (*gated_activation)(const float* gate, const float* up, int64_t n, ActivationKind activation,
                           float* out);
  void (*gated_activation_to_operand)(const float* gate, const float* up, int64_t n,
                                      ActivationKind activation, void* out);
  void (*add)(float* x, const float* y, int64_t n);
  void (*multiply_add)(float* x, const float* y, float factor, int64_t n);
  void (*softmax)(float* x, int64_t n);
  void (*dense_dot)(const float* x, const float* w, int64_t rows, int64_t columns, float* y);
  void (*kv_write)(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
                   const float* value);
  int64_t (*attention_scratch_bytes)(const KvLayout& layout, int64_t query_rows);
  void (*attention)(const AttentionTask& task);
};

namespace scalar {
extern const IsaFunctions kFunctions;
}
namespace avx2 {
extern const IsaFunctions kFunctions;
}
namespace avx512 {
extern const IsaFunctions kFunctions;
}

}  // namespace weft
