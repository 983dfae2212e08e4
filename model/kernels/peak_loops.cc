#include "model/kernels/peak_loops.h"

namespace weft {

PeakLoops PeakLoopsFor(Isa isa, const CpuFeatures& cpu) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:
      return {avx512::kFloatPeak, amx::kBF16Peak, amx::kInt8Peak};
    case Isa::kAvx512:
      return {avx512::kFloatPeak, cpu.avx512_bf16 ? avx512_bf16::kPairPeak : avx512::kFloatPeak,
              cpu.avx512_vnni ? avx512_vnni::kInt8Peak : avx2::kInt8Peak};
    case Isa::kAvx2:
      return {avx2::kFloatPeak, avx2::kFloatPeak,
              cpu.avx_vnni ? avx_vnni::kInt8Peak : avx2::kInt8Peak};
#else
    case Isa::kAmx:
    case Isa::kAvx512:
    case Isa::kAvx2:
#endif
    case Isa::kScalar:
      break;
  }
  static_cast<void>(cpu);
  return {};
}

}  // namespace weft
