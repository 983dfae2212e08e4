// The f32 arithmetic: full precision through BLAS, the yardstick for accuracy. Its row functions
// are those of the bf16 tables (float32 either way); what is here is what differs.
#pragma once

#include "model/kernels/kernels.h"

namespace weft::f32 {

PanelFormat PackedLayout(DataType file_type);
int64_t PanelBytes(PanelFormat layout, int64_t columns);
void PackPanels(const TensorView& rows, int64_t first_panel, PackedMatrix& packed);
void UnpackRow(const PackedMatrix& weights, int64_t row, float* out);
void Matmul(const MatmulTask& task);
int64_t KvPageBytes(const KvLayout& layout);
void KvWrite(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
             const float* value);
int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows);
void Attention(const AttentionTask& task);

}  // namespace weft::f32
