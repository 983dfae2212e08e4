// Types of single elements.
#include <bit>
#include <limits>

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
void ReadF8E4M3(const std::byte* elements, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = kFloatsE4M3.values[ByteAt(elements, i)];
}
// Powers of two alone, of the Microscaling Formats.
void ReadF8E8M0(const std::byte* elements, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t byte = ByteAt(elements, i);
    const float power = std::bit_cast<float>(byte == 0 ? 0x00400000U : byte << 23);
    out[i] = byte == 0xff ? std::numeric_limits<float>::quiet_NaN() : power;
  }
}

}  // namespace

constexpr BlockFormat kF32 = {.traits = {"F32", 1, 4}, .ggml_type = 0, .read_elements = ReadF32};
constexpr BlockFormat kF16 = {
    .traits = {"F16", 1, 2}, .ggml_type = 1, .panel = PanelFormat::kF16, .read_elements = ReadF16};
constexpr BlockFormat kBF16 = {
    .traits = {"BF16", 1, 2}, .ggml_type = 30, .read_elements = ReadBF16};
constexpr BlockFormat kU8 = {.traits = {"U8", 1, 1}, .read_elements = ReadU8};
constexpr BlockFormat kI8 = {.traits = {"I8", 1, 1}};
constexpr BlockFormat kI32 = {.traits = {"I32", 1, 4}};
constexpr BlockFormat kU32 = {.traits = {"U32", 1, 4}};
constexpr BlockFormat kI64 = {.traits = {"I64", 1, 8}};
constexpr BlockFormat kF8_E4M3 = {.traits = {"F8_E4M3", 1, 1}, .read_elements = ReadF8E4M3};
constexpr BlockFormat kF8_E8M0 = {.traits = {"F8_E8M0", 1, 1}, .read_elements = ReadF8E8M0};

}  // namespace weft::blocks
