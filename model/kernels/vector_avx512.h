// Sixteen lanes of float32 and int32 for AVX-512 (F, BW, DQ, VL) with FMA and F16C. Included inside
// an unnamed namespace of the one translation unit for this instruction set.
#pragma once

using F = __m512;
using I = __m512i;

#define WEFT_VECTOR [[gnu::always_inline]] inline

// --- float ---
WEFT_VECTOR F Zero() { return _mm512_setzero_ps(); }
WEFT_VECTOR F Set(float value) { return _mm512_set1_ps(value); }
WEFT_VECTOR F Load(const float* p) { return _mm512_loadu_ps(p); }
WEFT_VECTOR void Store(float* p, F a) { _mm512_storeu_ps(p, a); }
// The first `count` (1 .. 16) lanes; the others are zero.
WEFT_VECTOR __mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1);
}
WEFT_VECTOR F LoadFirst(const float* p, int64_t count) {
  return _mm512_maskz_loadu_ps(FirstLanes(count), p);
}
WEFT_VECTOR void StoreFirst(float* p, F a, int64_t count) {
  _mm512_mask_storeu_ps(p, FirstLanes(count), a);
}
WEFT_VECTOR F Add(F a, F b) { return _mm512_add_ps(a, b); }
WEFT_VECTOR F Subtract(F a, F b) { return _mm512_sub_ps(a, b); }
WEFT_VECTOR F Multiply(F a, F b) { return _mm512_mul_ps(a, b); }
WEFT_VECTOR F Divide(F a, F b) { return _mm512_div_ps(a, b); }
WEFT_VECTOR F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
// b where the two are equal or one is NaN.
WEFT_VECTOR F Max(F a, F b) { return _mm512_max_ps(a, b); }
// a < b ? yes : no
WEFT_VECTOR F SelectLess(F a, F b, F yes, F no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
// a in lanes [first, end), other elsewhere.
WEFT_VECTOR F SelectLanes(int64_t first, int64_t end, F a, F other) {
  const auto mask = static_cast<__mmask16>(((1U << end) - 1) & ~((1U << first) - 1));
  return _mm512_mask_blend_ps(mask, other, a);
}

// --- int ---
WEFT_VECTOR I LoadInts(const void* p) { return _mm512_loadu_si512(p); }
WEFT_VECTOR I SetInt(int32_t value) { return _mm512_set1_epi32(value); }
WEFT_VECTOR I AddInts(I a, I b) { return _mm512_add_epi32(a, b); }
WEFT_VECTOR I And(I a, I b) { return _mm512_and_si512(a, b); }
WEFT_VECTOR I Or(I a, I b) { return _mm512_or_si512(a, b); }
template <int kBits>
WEFT_VECTOR I ShiftLeft(I a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
WEFT_VECTOR I ShiftRight(I a) {  // zeros come in
  return _mm512_srli_epi32(a, kBits);
}
WEFT_VECTOR F AsFloat(I a) { return _mm512_castsi512_ps(a); }
WEFT_VECTOR I AsInts(F a) { return _mm512_castps_si512(a); }
WEFT_VECTOR F ToFloat(I a) { return _mm512_cvtepi32_ps(a); }

// --- narrower elements in memory, sixteen of them ---
WEFT_VECTOR __m128i Load16Bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
WEFT_VECTOR __m256i Load32Bytes(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
WEFT_VECTOR I LoadUint8(const void* p) { return _mm512_cvtepu8_epi32(Load16Bytes(p)); }
WEFT_VECTOR I LoadInt8(const void* p) { return _mm512_cvtepi8_epi32(Load16Bytes(p)); }
WEFT_VECTOR I LoadUint16(const void* p) { return _mm512_cvtepu16_epi32(Load32Bytes(p)); }
WEFT_VECTOR F LoadHalf(const void* p) { return _mm512_cvtph_ps(Load32Bytes(p)); }
WEFT_VECTOR void StoreUint16(void* p, I a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a));
}

// a as bf16 bits, rounded to nearest even; denormals become zero, NaN quiet.
WEFT_VECTOR I OperandBits(F a) {
  const I bits = AsInts(a);
  const I lowest = And(ShiftRight<16>(bits), SetInt(1));
  const I rounded = ShiftRight<16>(AddInts(bits, AddInts(SetInt(0x7fff), lowest)));
  const I sign = And(ShiftRight<16>(bits), SetInt(0x8000));
  const __mmask16 tiny = _mm512_testn_epi32_mask(bits, SetInt(0x7f800000));
  const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
  const I quiet = Or(ShiftRight<16>(bits), SetInt(0x40));
  return _mm512_mask_blend_epi32(nan, _mm512_mask_blend_epi32(tiny, rounded, sign), quiet);
}

// Lanes folded 8, 4, 2, 1.
WEFT_VECTOR float Fold(F a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// How many rows and panels a matrix product keeps in registers, and rows an attention step.
constexpr int kMatmulRows = 4;
constexpr int kMatmulPanels = 4;
constexpr int kAttentionRows = 8;
