// Matrix products and attention over bf16 for AMX (and AVX-512 with VNNI and BF16, which every
// processor with AMX has); the rest of its tables is avx512.cc's.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"
#include "model/kernels/peak_loops.h"

namespace weft::amx {
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
#include "model/kernels/amx_hardware_tiles.inc"
// clang-format on

// Scaling every group's dot products takes most of the time, and vectors do that for the rows that
// there are, tiles for sixteen: a tile takes as long as twelve or thirteen rows on vectors alone.
bool FillTilesInt8(int64_t row_count) {
  const int64_t rows_of_tiles = (row_count + kMaxTileRows - 1) / kMaxTileRows * kMaxTileRows;
  return 5 * row_count >= 4 * rows_of_tiles;
}
// One row costs tiles as much as sixteen; attention of few is as fast as memory anyway.
constexpr int64_t kQueryRowsForTiles = 8;

// Products of whole tiles of zeros. Four sums at a time hide the latency of an instruction.
constexpr int64_t kProductsPerRound = 32;

TileConfig WholeTiles() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) config.Shape(tile, kMaxTileRows, kTileRowBytes);
  return config;
}

template <typename Multiply>
float RunPeak(int64_t round_count, const Multiply& multiply_four) {
  HardwareTiles tiles(WholeTiles());
  for (int64_t round = 0; round < round_count; ++round) {
    for (int64_t product = 0; product < kProductsPerRound; product += 4) multiply_four(tiles);
  }
  alignas(64) float sums[kMaxTileRows * kTileRowBytes / sizeof(float)];
  tiles.Store<0>(sums, kTileRowBytes);
  return sums[0];
}

float RunBF16Peak(int64_t round_count) {
  return RunPeak(round_count, [](HardwareTiles& tiles) {
    tiles.MultiplyBF16<0, 4, 6>();
    tiles.MultiplyBF16<1, 4, 7>();
    tiles.MultiplyBF16<2, 5, 6>();
    tiles.MultiplyBF16<3, 5, 7>();
  });
}

float RunInt8Peak(int64_t round_count) {
  return RunPeak(round_count, [](HardwareTiles& tiles) {
    tiles.MultiplyInt8<0, 4, 6>();
    tiles.MultiplyInt8<1, 4, 7>();
    tiles.MultiplyInt8<2, 5, 6>();
    tiles.MultiplyInt8<3, 5, 7>();
  });
}

// A product of tiles: 16 rows times 16 outputs over as many k as a row of a tile holds.
constexpr int64_t kTileProductOperations = 2 * kMaxTileRows * kMaxTileRows * kTileRowBytes;

}  // namespace

constexpr PeakLoop kBF16Peak = {"AMX bf16", kProductsPerRound* kTileProductOperations / 2,
                                RunBF16Peak};
constexpr PeakLoop kInt8Peak = {"AMX int8", kProductsPerRound* kTileProductOperations, RunInt8Peak};

void MatmulBF16(const MatmulTask& task, const std::byte* panel) {
  MultiplyTilesBF16<HardwareTiles>(task, panel);
}

void MatmulInt8(const MatmulTask& task, const std::byte* panel) {
  if (!FillTilesInt8(task.row_count)) return avx512_vnni::MatmulInt8(task, panel);
  MultiplyTilesInt8<HardwareTiles>(task, panel);
}

int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows) {
  return TileAttentionScratchBytes(layout, query_rows);
}

void AttentionBF16(const AttentionTask& task) {
  if (task.row_count * task.heads < kQueryRowsForTiles) {
    return avx512::kFunctions.kv_bf16.attention(task);
  }
  AttendOnTiles<HardwareTiles>(task);
}

void AttendSpansBF16(const AttentionTask& task, int64_t first_span, int64_t span_count,
                     float* partials) {
  if (task.row_count * task.heads < kQueryRowsForTiles) {
    return avx512::kFunctions.kv_bf16.attend_spans(task, first_span, span_count, partials);
  }
  AttendSpansOnTiles<HardwareTiles>(task, first_span, span_count, partials);
}

}  // namespace weft::amx
