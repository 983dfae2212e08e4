// OpenBLAS, which the f32 arithmetic multiplies with. It is loaded when that is asked for and not
// with the program: as it is loaded it starts a thread a core, and where the address space is small
// (ulimit -v) that fails in ways of its own.
#pragma once

#include <cblas.h>

#include "base/result.h"

namespace weft {

// Loads it the first time; afterwards says the same. It computes on the caller's thread alone:
// panels come from our own pool. To be called before other threads start, since it sets an
// environment variable. The error says what is missing.
Result<void> LoadBlas();

// nullptr unless LoadBlas() has succeeded. Any thread.
decltype(&cblas_sgemm) BlasSgemm();

}  // namespace weft
