// Matrix products for AMX (and AVX-512 with VNNI and BF16, which every processor with AMX has); the
// rest of its tables is avx512.cc's.
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/panel_layout.h"

namespace weft::amx {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx512.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/tile_bf16.inc"
#include "model/kernels/generic_bf16_unpack.inc"
#include "model/kernels/amx_tile_config.inc"
#include "model/kernels/generic_int8_unpack.inc"
#include "model/kernels/amx_walk.inc"
#include "model/kernels/amx_bf16.inc"
#include "model/kernels/amx_int8.inc"
#include "model/kernels/amx_hardware_tiles.inc"
// clang-format on

// For few rows unpacking is most of the work, and vectors eat what is unpacked without the detour
// through tiles.
constexpr int64_t kRowsForTiles = 8;

}  // namespace

void MatmulBF16(const MatmulTask& task, const std::byte* panel) {
  MultiplyTilesBF16<HardwareTiles>(task, panel);
}

void MatmulInt8(const MatmulTask& task, const std::byte* panel) {
  if (task.row_count < kRowsForTiles) return avx512_vnni::MatmulInt8(task, panel);
  MultiplyTilesInt8<HardwareTiles>(task, panel);
}

}  // namespace weft::amx
