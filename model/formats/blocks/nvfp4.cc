#include "model/formats/blocks/block_bytes.h"

namespace weft::blocks {
namespace {

// e4m3 scales[4]; nibbles q[64], each an e2m1: the first eight elements of a scale's sixteen in the
// low nibbles of 8 bytes, the others in the high ones. The sign of a scale counts for nothing, and
// what would be NaN is zero.
void ReadNVFP4(const std::byte* block, int64_t group, WeightGroup& out) {
  constexpr uint8_t kNaN = 0x7f;
  for (int half = 0; half < 2; ++half) {
    const int64_t run = 2 * group + half;
    const uint8_t scale = ByteAt(block, run);
    out.scale[half] = scale == kNaN ? uint8_t{0} : static_cast<uint8_t>(scale & 0x7f);
    for (int i = 0; i < 2; ++i) {
      out.codes[2 * half + i] = LoadBits(block + 4 + 8 * run, 4 * i, 4);
    }
  }
}

}  // namespace

constexpr BlockFormat kNVFP4 = Quantized<ReadNVFP4, 64, 36>("NVFP4", 40, PanelFormat::kNVFP4);

}  // namespace weft::blocks
