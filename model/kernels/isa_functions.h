// What a translation unit for one instruction set offers; kernels.h says what each does. Such a
// unit instantiates nothing with external linkage outside its own namespace (a test looks at its
// symbols), so it gets plain pointers where a type of base/ would need its member functions.
#pragma once

#include "model/kernels/kernels.h"

namespace weft {

// For one type of KV cache.
struct KvFunctions {
  void (*write)(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
                const float* value);
  void (*attention)(const AttentionTask& task);
  void (*attend_spans)(const AttentionTask& task, int64_t first_span, int64_t span_count,
                       float* partials);
};

struct IsaFunctions {
  // `panel`: the packed bytes of task.first_panel.
  void (*matmul)(const MatmulTask& task, const std::byte* panel);
  // With weights of f16, in every arithmetic.
  void (*matmul_f16)(const MatmulTask& task, const std::byte* panel);
  void (*to_operand)(OperandType type, const float* x, int64_t n, std::byte* out,
                     int64_t group_stride_bytes);
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float epsilon, float* out);
  void (*layer_norm)(const float* x, const float* weight, const float* bias, int64_t n,
                     float epsilon, float* out);
  void (*rope)(float* head, const float* cos, const float* sin, int64_t rotary_dim,
               RopePairing pairing);
  void (*gated_activation)(const float* gate, const float* up, int64_t n, ActivationKind activation,
                           float* out);
  void (*activate)(const float* x, int64_t n, ActivationKind activation, float* out);
  void (*xielu)(const float* x, int64_t n, float alpha_positive, float alpha_negative, float* out);
  void (*sigmoid)(float* x, int64_t n);
  void (*soft_cap)(float* x, int64_t n, float cap);
  void (*scale)(float* x, float factor, int64_t n);
  void (*add)(float* x, const float* y, int64_t n);
  void (*multiply)(float* x, const float* y, int64_t n);
  void (*multiply_add)(float* x, const float* y, float factor, int64_t n);
  void (*softmax)(float* x, int64_t n);
  void (*dense_dot)(const float* x, const float* w, int64_t rows, int64_t columns, float* y);
  void (*recurrence)(const RecurrenceTask& task);
  void (*convolution)(const ConvolutionTask& task);
  KvFunctions kv_bf16;
  KvFunctions kv_q8;
  int64_t (*attention_scratch_bytes)(const KvLayout& layout, int64_t query_rows);
  void (*merge_spans)(const AttentionTask& task, int64_t first_span, float* partials);
};

// MatmulInt8: products of int8 operands with quantised weights, otherwise like `matmul`.
// MatmulBF16: `matmul` of a set that shares the rest of its functions with another.
// MatmulBF16Pair: like `matmul`, as the bf16pair arithmetic has it.
namespace scalar {
extern const IsaFunctions kFunctions;
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel);
}  // namespace scalar
namespace avx2 {
extern const IsaFunctions kFunctions;
extern const IsaFunctions kFunctionsWithVnni;  // the same but for what namespace avx_vnni has
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel);
}  // namespace avx2
namespace avx_vnni {
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
void AttentionQ8(const AttentionTask& task);
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials);
}  // namespace avx_vnni
namespace avx512 {
extern const IsaFunctions kFunctions;
extern const IsaFunctions kFunctionsWithVnni;  // the same but for what namespace avx512_vnni has
extern const IsaFunctions kFunctionsWithAmx;   // that, but for what namespace amx has
void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel);
}  // namespace avx512
namespace avx512_bf16 {
void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel);
}  // namespace avx512_bf16
namespace avx512_vnni {
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
// y += the products of x's residuals, which another has left out.
void AddResidualsInt8(const MatmulTask& task, const std::byte* panel);
void AttentionQ8(const AttentionTask& task);
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials);
}  // namespace avx512_vnni
namespace amx {
void MatmulBF16(const MatmulTask& task, const std::byte* panel);
void MatmulInt8(const MatmulTask& task, const std::byte* panel);
int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows);
void AttentionBF16(const AttentionTask& task);
void AttendSpansBF16(const AttentionTask& task, int64_t first_span, int64_t span_count,
                     float* partials);
}  // namespace amx

}  // namespace weft
