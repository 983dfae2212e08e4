#include "model/kernels/peak_loops.h"

#include <chrono>

namespace weft {

PeakLoops PeakLoopsFor(Isa isa, const CpuFeatures& cpu) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:
      return {avx512::kFloatPeak, amx::kBF16Peak, amx::kInt8Peak};
    case Isa::kAvx512:
      return {avx512::kFloatPeak, MultipliesBF16(isa) ? avx512_bf16::kPairPeak : avx512::kFloatPeak,
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

double OperationsPerSecond(const PeakLoop& loop, int64_t round_count) {
  const auto start = std::chrono::steady_clock::now();
  [[maybe_unused]] const volatile float result = loop.run(round_count);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return static_cast<double>(loop.operations_per_round * round_count) / taken.count();
}

}  // namespace weft
