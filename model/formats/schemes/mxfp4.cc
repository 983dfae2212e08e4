// gpt-oss' experts: MXFP4, a type of the OCP Microscaling Formats, in two tensors of bytes. Blocks
// of 32 elements, 4 bits each (a sign, two bits of exponent, one of mantissa), two neighbours a
// byte, the first in its low half; and one scale a block, a power of two.
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {
namespace {

// One row of blocks as in a GGUF file.
void JoinRow(const std::byte* codes, const std::byte* scales, int64_t blocks, std::byte* out) {
  constexpr std::byte kLow{0x0F};
  constexpr std::byte kHigh{0xF0};
  for (int64_t block = 0; block < blocks; ++block, codes += 16, out += 17) {
    out[0] = scales[block];
    // Out go element j in the low half of byte j, element j + 16 in its high half.
    for (int64_t i = 0; i < 8; ++i) {
      out[1 + 2 * i] = (codes[i] & kLow) | (codes[i + 8] & kLow) << 4;
      out[2 + 2 * i] = codes[i] >> 4 | (codes[i + 8] & kHigh);
    }
  }
}

}  // namespace

Result<AssembledTensor> AssembleMxfp4(Parts& parts, const Config& /*config*/) {
  constexpr int64_t kCodeBytes = 16;  // of a block
  WEFT_ASSIGN_OR_RETURN(
      const TensorView codes,
      parts.Take("_blocks", {DataType::kU8}, {Parts::kAny, Parts::kAny, Parts::kAny, kCodeBytes}));
  const int64_t rows = codes.dims[1];
  const int64_t blocks = codes.dims[2];
  WEFT_ASSIGN_OR_RETURN(const TensorView scales,
                        parts.Take("_scales", {DataType::kU8}, {codes.dims[0], rows, blocks}));
  AssembledTensor tensor;
  tensor.view = TensorView::Contiguous(codes.data, DataType::kMXFP4,
                                       {codes.dims[0], rows, blocks * 2 * kCodeBytes});
  tensor.parts = parts.views();
  tensor.read_row = [=](int64_t row, std::byte* out) {
    JoinRow(codes.data + row * blocks * kCodeBytes, scales.data + row * blocks, blocks, out);
  };
  return tensor;
}

}  // namespace weft::schemes
