// Compiled for AVX-512 VNNI: nothing here may have external linkage but the functions of
// evex_vnni.h.
#include "tests/model/kernels/evex_vnni.h"

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"

namespace weft::evex_vnni {
namespace {

#include "model/kernels/avx_vnni.inc"

}  // namespace

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }

void AttentionQ8(const AttentionTask& task) { Attention<KvQ8>(task); }
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials) {
  AttendSpans<KvQ8>(task, first_span, span_count, partials);
}

}  // namespace weft::evex_vnni
