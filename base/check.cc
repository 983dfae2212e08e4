#include "base/check.h"

#include <chrono>
#include <cstdlib>

#include <fmt/core.h>

#include "base/log.h"

namespace weft {

void CheckFailed(const char* file, int line, const char* condition) {
  PrintError(fmt::format("{}:{}: broken invariant: {}", file, line, condition));
  FlushLog(std::chrono::seconds(1));
  std::abort();
}

}  // namespace weft
