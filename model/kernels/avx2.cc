// The bf16 and int8 arithmetics for AVX2 with FMA and F16C.
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"

namespace weft::avx2 {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx2.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_rows.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_walk.inc"
#include "model/kernels/tile_f32.inc"
#include "model/kernels/generic_bf16_unpack.inc"
#include "model/kernels/generic_bf16.inc"
#include "model/kernels/dot_avx2.inc"
#include "model/kernels/generic_int8_unpack.inc"
#include "model/kernels/generic_int8.inc"
#include "model/kernels/generic_kv_common.inc"
#include "model/kernels/generic_kv_bf16.inc"
#include "model/kernels/generic_kv_q8.inc"
#include "model/kernels/generic_attention.inc"
#include "model/kernels/generic_functions.inc"
// clang-format on

}  // namespace

constexpr IsaFunctions kFunctions = kGenericFunctions;

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }

}  // namespace weft::avx2
