// Types of single elements.
#include "model/formats/blocks/block_bytes.h"
#include "model/formats/dequantize.h"

namespace weft::blocks {
namespace {

void ReadF32(const std::byte* elements, int64_t count, float* out) {
  if (count > 0) std::memcpy(out, elements, static_cast<size_t>(count) * sizeof *out);
}
void ReadF16(const std::byte* elements, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = HalfToFloat(LoadAt<uint16_t>(elements + 2 * i));
}
void ReadBF16(const std::byte* elements, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = BFloat16ToFloat(LoadAt<uint16_t>(elements + 2 * i));
}
void ReadU8(const std::byte* elements, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(ByteAt(elements, i));
}

}  // namespace

constexpr BlockFormat kF32 = {.traits = {"F32", 1, 4}, .ggml_type = 0, .read_elements = ReadF32};
constexpr BlockFormat kF16 = {.traits = {"F16", 1, 2}, .ggml_type = 1, .read_elements = ReadF16};
constexpr BlockFormat kBF16 = {
    .traits = {"BF16", 1, 2}, .ggml_type = 30, .read_elements = ReadBF16};
constexpr BlockFormat kU8 = {.traits = {"U8", 1, 1}, .read_elements = ReadU8};
constexpr BlockFormat kI64 = {.traits = {"I64", 1, 8}};

}  // namespace weft::blocks
