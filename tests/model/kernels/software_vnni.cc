// avx_vnni.cc's products and attention. Compiled for AVX2: nothing here may have external linkage
// but the functions of software_vnni.h.
#include "tests/model/kernels/software_vnni.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "model/kernels/isa_functions.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/panel_layout.h"

namespace weft::software_vnni {
namespace {

[[gnu::always_inline]] inline __m256i AddPairs(__m256i sum, __m256i a, __m256i b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}
// Of the even bytes and of the odd ones as words, whose pairs of products vpmaddwd adds exactly.
[[gnu::always_inline]] inline __m256i AddQuads(__m256i sum, __m256i codes, __m256i x) {
  const __m256i even_codes = _mm256_and_si256(codes, _mm256_set1_epi16(0xff));
  const __m256i odd_codes = _mm256_srli_epi16(codes, 8);
  const __m256i even_x = _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8);
  const __m256i odd_x = _mm256_srai_epi16(x, 8);
  return AddPairs(AddPairs(sum, even_codes, even_x), odd_codes, odd_x);
}

#include "model/kernels/avx_vnni.inc"

}  // namespace

void MatmulInt8(const MatmulTask& task, const std::byte* panel) { MultiplyInt8(task, panel); }

void AttentionQ8(const AttentionTask& task) { Attention<KvQ8>(task); }
void AttendSpansQ8(const AttentionTask& task, int64_t first_span, int64_t span_count,
                   float* partials) {
  AttendSpans<KvQ8>(task, first_span, span_count, partials);
}

}  // namespace weft::software_vnni
