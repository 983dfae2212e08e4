// A broken invariant is a bug: WEFT_CHECK prints where and what, then aborts. Never for input from
// a file, a socket or a command line; those get a Result.
#pragma once

namespace weft {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace weft

#define WEFT_CHECK(condition)                              \
  do {                                                     \
    if (!(condition)) [[unlikely]]                         \
      ::weft::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
