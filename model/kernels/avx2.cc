// The bf16 arithmetic for AVX2 with FMA and F16C.
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
#include "model/kernels/vector_avx2.h"
#include "model/kernels/generic_rows.h"
#include "model/kernels/generic_matmul.h"
#include "model/kernels/generic_attention.h"
#include "model/kernels/generic_functions.h"
// clang-format on

}  // namespace

constexpr IsaFunctions kFunctions = kGenericFunctions;

}  // namespace weft::avx2
