// The bf16 and bf16pair arithmetics for AVX-512 (F, BW, DQ, VL), and what int8 shares with them.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/peak_loops.h"

namespace weft::avx512 {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx512.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_exp.inc"
#include "model/kernels/generic_activations.inc"
#include "model/kernels/generic_rows.inc"
#include "model/kernels/generic_recurrence.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_panel_scales.inc"
#include "model/kernels/generic_walk.inc"
#include "model/kernels/tile_f32.inc"
#include "model/kernels/generic_bf16_unpack.inc"
#include "model/kernels/generic_bf16.inc"
#include "model/kernels/generic_pair.inc"
#include "model/kernels/generic_spans.inc"
#include "model/kernels/generic_kv_common.inc"
#include "model/kernels/generic_kv_bf16.inc"
#include "model/kernels/generic_kv_q8.inc"
#include "model/kernels/generic_attention.inc"
#include "model/kernels/generic_functions.inc"
#include "model/kernels/generic_peak.inc"
// clang-format on

constexpr IsaFunctions WithVnni(IsaFunctions functions) {
  functions.kv_q8.attention = avx512_vnni::AttentionQ8;
  functions.kv_q8.attend_spans = avx512_vnni::AttendSpansQ8;
  return functions;
}

constexpr IsaFunctions WithAmx(IsaFunctions functions) {
  functions.matmul = amx::MatmulBF16;
  functions.kv_bf16.attention = amx::AttentionBF16;
  functions.kv_bf16.attend_spans = amx::AttendSpansBF16;
  functions.attention_scratch_bytes = amx::AttentionScratchBytes;
  return functions;
}

}  // namespace

constexpr IsaFunctions kFunctions = kGenericFunctions;
constexpr IsaFunctions kFunctionsWithVnni = WithVnni(kGenericFunctions);
constexpr IsaFunctions kFunctionsWithAmx = WithAmx(kFunctionsWithVnni);

constexpr PeakLoop kFloatPeak = {"AVX-512 FMA", kFloatPeakOperations<16>, RunFloatPeak<16>};

void MatmulBF16Pair(const MatmulTask& task, const std::byte* panel) { MultiplyPairs(task, panel); }

}  // namespace weft::avx512
