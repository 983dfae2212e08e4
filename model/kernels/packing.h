// Weights from the file's order to panels and back, for the bf16 and int8 arithmetics. The same on
// every instruction set; panel_layout.h says where things lie.
#pragma once

#include <cstdint>

#include "model/kernels/packed_matrix.h"
#include "model/kernels/weight_group.h"
#include "model/tensor.h"

namespace weft {

PanelFormat PackedLayoutBF16(DataType file_type);
int64_t PanelBytesBF16(PanelFormat layout, int64_t columns);
// That pack_panels is given rows of as many panels as there are from first_panel on, or fewer.
void CheckPanelRows(const TensorView& rows, int64_t first_panel, const PackedMatrix& packed);
// KernelTable::pack_panels. Rows that the matrix does not have become zeros.
void PackPanelsBF16(const TensorView& rows, int64_t first_panel, PackedMatrix& packed);
// The weights of one lane (0 .. 15) of a panel, rounded to bf16 unless they are of f16: out[0 ..
// columns).
void UnpackLaneBF16(PanelFormat layout, const std::byte* panel, int64_t lane, int64_t columns,
                    float* out);
// One lane's group of a quantised panel.
WeightGroup UnpackGroup(PanelFormat layout, const std::byte* panel, int64_t lane, int64_t group,
                        int64_t group_count);

// KernelTable::unpack_row.
void UnpackRowBF16(const PackedMatrix& weights, int64_t row, float* out);

}  // namespace weft
