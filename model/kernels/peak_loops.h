// Loops of nothing but multiply-adds in registers, as fast as an instruction set does them: what
// they reach a second is the peak that matrix products are measured against.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/kernels/kernels.h"

namespace weft {

struct PeakLoop {
  std::string_view name;  // of the instructions
  // Multiplications and additions of one round, some dozens of nanoseconds.
  int64_t operations_per_round = 0;
  // nullptr: there is no such loop. The result says nothing; it keeps the loop from being removed.
  float (*run)(int64_t round_count) = nullptr;
};

// The instructions that this instruction set's kernels multiply with: float32 in attention, bf16
// (AMX's or AVX-512's; where these are slower, or there are none, float32) and int8 in products
// with weights.
struct PeakLoops {
  PeakLoop float32;
  PeakLoop bf16;
  PeakLoop int8;
};
PeakLoops PeakLoopsFor(Isa isa, const CpuFeatures& cpu);

// What this thread reaches in `round_count` rounds.
double OperationsPerSecond(const PeakLoop& loop, int64_t round_count);

// What the instruction sets' translation units offer.
namespace avx2 {
extern const PeakLoop kFloatPeak;
extern const PeakLoop kInt8Peak;
}  // namespace avx2
namespace avx_vnni {
extern const PeakLoop kInt8Peak;
}
namespace avx512 {
extern const PeakLoop kFloatPeak;
}
namespace avx512_vnni {
extern const PeakLoop kInt8Peak;
}
namespace avx512_bf16 {
extern const PeakLoop kPairPeak;
}
// Only on threads of a process that has asked for the tiles (ChooseIsa).
namespace amx {
extern const PeakLoop kBF16Peak;
extern const PeakLoop kInt8Peak;
}  // namespace amx

}  // namespace weft
