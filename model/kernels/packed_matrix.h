// A weight matrix in the order in which the kernels eat it, without loss against the file's own
// dequantisation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/kernels/panel_format.h"

namespace weft {

// Outputs of a panel: one AVX-512 register of float32, one AMX tile of outputs.
inline constexpr int64_t kPanelRows = 16;
// k of one step of the accumulation that the bf16 definition fixes.
inline constexpr int64_t kGroupColumns = 32;

// (rows, columns) weights as CeilDivide(rows, 16) panels of equal size, laid out as `layout` is,
// the same on all instruction sets, so that a packed matrix means one thing. Read-only once packed.
struct PackedMatrix {
  PanelFormat layout = PanelFormat::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t panel_bytes = 0;
  AlignedBuffer storage;                   // what is packed into; empty where the panels are mapped
  std::span<const std::byte> mapped = {};  // in a file that outlives the matrix
  // Its column k is multiplied with element column_order[k] of a row, which whoever writes the
  // operands sees to; empty: with element k.
  std::vector<int32_t> column_order = {};

  int64_t panel_count() const { return (rows + kPanelRows - 1) / kPanelRows; }
  std::span<const std::byte> bytes() const { return mapped.empty() ? storage.bytes() : mapped; }
  const std::byte* panel(int64_t index) const { return bytes().data() + index * panel_bytes; }
  explicit operator bool() const { return rows > 0; }
};

}  // namespace weft
