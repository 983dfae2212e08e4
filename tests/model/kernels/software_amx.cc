// amx.cc over the tiles of software_tiles.inc. Compiled with the same flags: nothing here may have
// external linkage but the functions of software_amx.h.
#include "tests/model/kernels/software_amx.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"

namespace weft::software_amx {
namespace {

// In this order: each needs what is above it.
// clang-format off
#include "model/kernels/vector_avx512.inc"
#include "model/kernels/generic_lanes.inc"
#include "model/kernels/generic_exp.inc"
#include "model/kernels/generic_spans.inc"
#include "model/kernels/generic_prefetch.inc"
#include "model/kernels/generic_panel_scales.inc"
#include "model/kernels/tile_bf16.inc"
#include "model/kernels/generic_bf16_unpack.inc"
#include "model/kernels/amx_tile_config.inc"
#include "model/kernels/generic_int8_unpack.inc"
#include "model/kernels/amx_walk.inc"
#include "model/kernels/amx_bf16.inc"
#include "model/kernels/amx_int8.inc"
#include "model/kernels/amx_attention.inc"
#include "tests/model/kernels/software_tiles.inc"
// clang-format on

TileConfig ConfigFor(int64_t m, int64_t n, int64_t k) {
  TileConfig config;
  config.Shape(0, m, 4 * n);
  config.Shape(1, m, 4 * k);
  config.Shape(2, k, 4 * n);
  return config;
}

}  // namespace

void MatmulBF16(const MatmulTask& task, const std::byte* panel) {
  MultiplyTilesBF16<SoftwareTiles>(task, panel);
}

void MatmulInt8(const MatmulTask& task, const std::byte* panel) {
  MultiplyTilesInt8<SoftwareTiles>(task, panel);
}

int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows) {
  return TileAttentionScratchBytes(layout, query_rows);
}

void AttentionBF16(const AttentionTask& task) { AttendOnTiles<SoftwareTiles>(task); }

void AttendSpansBF16(const AttentionTask& task, int64_t first_span, int64_t span_count,
                     float* partials) {
  AttendSpansOnTiles<SoftwareTiles>(task, first_span, span_count, partials);
}

void MultiplyBF16(int64_t m, int64_t n, int64_t k, const void* rows, const void* weights,
                  float* sums) {
  SoftwareTiles tiles(ConfigFor(m, n, k));
  tiles.Load<0>(sums, 4 * n);
  tiles.Load<1>(rows, 4 * k);
  tiles.Load<2>(weights, 4 * n);
  tiles.MultiplyBF16<0, 1, 2>();
  tiles.Store<0>(sums, 4 * n);
}

void MultiplyInt8(int64_t m, int64_t n, int64_t k, const void* rows, const void* weights,
                  int32_t* sums) {
  SoftwareTiles tiles(ConfigFor(m, n, k));
  tiles.Load<0>(sums, 4 * n);
  tiles.Load<1>(rows, 4 * k);
  tiles.Load<2>(weights, 4 * n);
  tiles.MultiplyInt8<0, 1, 2>();
  tiles.Store<0>(sums, 4 * n);
}

}  // namespace weft::software_amx
