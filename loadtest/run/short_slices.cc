#include "loadtest/run/short_slices.h"

#include <cstdint>
#include <unistd.h>

#include <sys/syscall.h>

namespace weft {
namespace {

constexpr uint64_t kSliceNs = 100'000;  // the shortest that the kernel gives

// sched_setattr(2)'s first version; glibc has neither.
struct SchedulingAttributes {
  uint32_t size_bytes = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // of ordinary threads: the slice
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

}  // namespace

void AskForShortSlices() {
  constexpr int kThisThread = 0;
  constexpr unsigned kNoFlags = 0;
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, kThisThread, &attributes, sizeof(attributes), kNoFlags) != 0)
    return;
  constexpr uint32_t kOrdinary = 0;
  if (attributes.policy != kOrdinary) return;  // somebody has chosen another one
  attributes.size_bytes = sizeof(attributes);
  attributes.runtime_ns = kSliceNs;
  syscall(SYS_sched_setattr, kThisThread, &attributes, kNoFlags);
}

}  // namespace weft
