// Memory that a file stands behind can vanish: where the file has become shorter, or its disk
// fails, touching a page is answered with SIGBUS, which ends the process. Here it becomes zeros and
// a flag.
#pragma once

#include <cstddef>

namespace weft {

// Watches one mapping for as long as it lives; the mapping outlives it. From the first page that
// cannot be read on, the mapping is replaced by zeros, in whatever thread that happens. Any other
// SIGBUS ends the process as before. Made and destroyed on any thread.
class BusErrorGuard {
 public:
  BusErrorGuard(const std::byte* begin, size_t size_bytes);
  ~BusErrorGuard();
  BusErrorGuard(const BusErrorGuard&) = delete;
  BusErrorGuard& operator=(const BusErrorGuard&) = delete;

  // Whether something could not be read, and zeros were.
  bool hit() const;

 private:
  struct Range;
  static Range& TakeRange();
  static void InstallHandler();

  Range& range_;
};

}  // namespace weft
