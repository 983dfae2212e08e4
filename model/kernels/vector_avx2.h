// Sixteen lanes of float32 and int32 for AVX2 with FMA and F16C, as two registers. Included inside
// an unnamed namespace of the one translation unit for this instruction set.
#pragma once

struct F {
  __m256 low;
  __m256 high;
};
struct I {
  __m256i low;
  __m256i high;
};

#define WEFT_VECTOR [[gnu::always_inline]] inline

// --- float ---
WEFT_VECTOR F Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
WEFT_VECTOR F Set(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
WEFT_VECTOR F Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
WEFT_VECTOR void Store(float* p, F a) {
  _mm256_storeu_ps(p, a.low);
  _mm256_storeu_ps(p + 8, a.high);
}
// All ones in the lanes below `count`.
WEFT_VECTOR I FirstLanes(int64_t count) {
  const __m256i limit = _mm256_set1_epi32(static_cast<int32_t>(count));
  return {_mm256_cmpgt_epi32(limit, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
          _mm256_cmpgt_epi32(limit, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
}
// The first `count` (1 .. 16) lanes; the others are zero.
WEFT_VECTOR F LoadFirst(const float* p, int64_t count) {
  const I mask = FirstLanes(count);
  return {_mm256_maskload_ps(p, mask.low), _mm256_maskload_ps(p + 8, mask.high)};
}
WEFT_VECTOR void StoreFirst(float* p, F a, int64_t count) {
  const I mask = FirstLanes(count);
  _mm256_maskstore_ps(p, mask.low, a.low);
  _mm256_maskstore_ps(p + 8, mask.high, a.high);
}
WEFT_VECTOR F Add(F a, F b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
WEFT_VECTOR F Subtract(F a, F b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
WEFT_VECTOR F Multiply(F a, F b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
WEFT_VECTOR F Divide(F a, F b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
WEFT_VECTOR F Fma(F a, F b, F c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
// b where the two are equal or one is NaN.
WEFT_VECTOR F Max(F a, F b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
WEFT_VECTOR F Blend(I mask, F yes, F no) {
  return {_mm256_blendv_ps(no.low, yes.low, _mm256_castsi256_ps(mask.low)),
          _mm256_blendv_ps(no.high, yes.high, _mm256_castsi256_ps(mask.high))};
}
// a < b ? yes : no
WEFT_VECTOR F SelectLess(F a, F b, F yes, F no) {
  return Blend({_mm256_castps_si256(_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
                _mm256_castps_si256(_mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))},
               yes, no);
}
// a in lanes [first, end), other elsewhere.
WEFT_VECTOR F SelectLanes(int64_t first, int64_t end, F a, F other) {
  return Blend(FirstLanes(first), other, Blend(FirstLanes(end), a, other));
}

// --- int ---
WEFT_VECTOR I LoadInts(const void* p) {
  const auto* words = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1)};
}
WEFT_VECTOR I SetInt(int32_t value) { return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
WEFT_VECTOR I AddInts(I a, I b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
WEFT_VECTOR I And(I a, I b) {
  return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}
WEFT_VECTOR I Or(I a, I b) {
  return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}
template <int kBits>
WEFT_VECTOR I ShiftLeft(I a) {
  return {_mm256_slli_epi32(a.low, kBits), _mm256_slli_epi32(a.high, kBits)};
}
template <int kBits>
WEFT_VECTOR I ShiftRight(I a) {  // zeros come in
  return {_mm256_srli_epi32(a.low, kBits), _mm256_srli_epi32(a.high, kBits)};
}
WEFT_VECTOR F AsFloat(I a) { return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)}; }
WEFT_VECTOR I AsInts(F a) { return {_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)}; }
WEFT_VECTOR F ToFloat(I a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }

// --- narrower elements in memory, sixteen of them ---
WEFT_VECTOR __m128i Load16Bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
WEFT_VECTOR __m128i Second16Bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p) + 1);
}
WEFT_VECTOR I LoadUint8(const void* p) {
  const __m128i bytes = Load16Bytes(p);
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
WEFT_VECTOR I LoadInt8(const void* p) {
  const __m128i bytes = Load16Bytes(p);
  return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
}
WEFT_VECTOR I LoadUint16(const void* p) {
  return {_mm256_cvtepu16_epi32(Load16Bytes(p)), _mm256_cvtepu16_epi32(Second16Bytes(p))};
}
WEFT_VECTOR F LoadHalf(const void* p) {
  return {_mm256_cvtph_ps(Load16Bytes(p)), _mm256_cvtph_ps(Second16Bytes(p))};
}
WEFT_VECTOR void StoreUint16(void* p, I a) {
  const __m256i packed = _mm256_packus_epi32(a.low, a.high);  // quarters 0 2 1 3
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}

// a as bf16 bits, rounded to nearest even; denormals become zero, NaN quiet.
WEFT_VECTOR I OperandBits(F a) {
  const I bits = AsInts(a);
  const I lowest = And(ShiftRight<16>(bits), SetInt(1));
  const I rounded = ShiftRight<16>(AddInts(bits, AddInts(SetInt(0x7fff), lowest)));
  const I sign = And(ShiftRight<16>(bits), SetInt(0x8000));
  const I exponent = And(bits, SetInt(0x7f800000));
  const __m256i zero = _mm256_setzero_si256();
  const I tiny = {_mm256_cmpeq_epi32(exponent.low, zero), _mm256_cmpeq_epi32(exponent.high, zero)};
  const I nan = {_mm256_castps_si256(_mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q)),
                 _mm256_castps_si256(_mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q))};
  const I quiet = Or(ShiftRight<16>(bits), SetInt(0x40));
  const F finite = Blend(tiny, AsFloat(sign), AsFloat(rounded));
  return AsInts(Blend(nan, AsFloat(quiet), finite));
}

// Lanes folded 8, 4, 2, 1.
WEFT_VECTOR float Fold(F a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// How many rows and panels a matrix product keeps in registers, and rows an attention step.
constexpr int kMatmulRows = 4;
constexpr int kMatmulPanels = 1;
constexpr int kAttentionRows = 4;
