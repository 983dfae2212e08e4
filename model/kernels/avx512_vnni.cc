// The int8 arithmetic's products for AVX-512 with VNNI; the rest of its table is avx512.cc's.
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/panel_layout.h"

namespace weft::avx512_vnni {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx512.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_walk.inc"
#include "model/kernels/dot_avx512_vnni.inc"
#include "model/kernels/generic_int8_unpack.inc"
#include "model/kernels/generic_int8.inc"
// clang-format on

}  // namespace

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }

}  // namespace weft::avx512_vnni
