// What this machine can do at most, measured: how fast its memory is read and how fast it
// multiplies.
#pragma once

#include <chrono>
#include <string>

#include "base/thread_pool.h"
#include "model/kernels/kernels.h"

namespace weft {

// The rate of one kind of operation; 0: not measured.
struct PeakRate {
  std::string name;  // of the instructions
  double operations_per_s = 0;
};

struct MachineLimits {
  double read_bytes_per_s = 0;  // from DRAM
  PeakRate float32 = {};        // attention in vectors, and products of float32 operands
  PeakRate bf16 = {};           // products of bf16 operands, and attention on AMX's tiles
  PeakRate int8 = {};           // products of quantised weights in the int8 arithmetic
};

// Measures with all threads of the pool at once; the best of several short passes, as many as
// `each` takes for each of the limits, counts, since other processes can only slow one down. Throws
// std::bad_alloc.
MachineLimits MeasureLimits(ThreadPool& threads, Isa isa,
                            std::chrono::milliseconds each = std::chrono::milliseconds(150));

}  // namespace weft
