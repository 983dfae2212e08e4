#include "base/bus_errors.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <unistd.h>

#include <sys/mman.h>

namespace weft {

// The handler looks for the range that holds an address, and may wait for nobody: they are in a
// list that only grows, whose members are used again.
struct BusErrorGuard::Range {
  std::atomic<bool> taken{true};
  // Even while a guard watches from `begin` to `end`, which change only while it is odd: who reads
  // them between two equal even ones has those of one guard.
  std::atomic<uint64_t> generation{1};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> hit{false};
  Range* next = nullptr;

  static std::atomic<Range*> first;
};

std::atomic<BusErrorGuard::Range*> BusErrorGuard::Range::first{nullptr};

void BusErrorGuard::InstallHandler() {
  static struct sigaction previous;
  static const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  action.sa_sigaction = [](int signal, siginfo_t* info, void* /*context*/) {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    const bool is_gone = info->si_code == BUS_ADRERR;
    for (Range* range = Range::first.load(); is_gone && range != nullptr; range = range->next) {
      const uint64_t generation = range->generation.load();
      const uintptr_t begin = range->begin.load();
      const uintptr_t end = range->end.load();
      // Not the one that is looked for, in any case: that is watched until the access is done.
      if (generation % 2 != 0 || range->generation.load() != generation) continue;
      if (address < begin || address >= end) continue;
      const int interrupted_errno = errno;
      const uintptr_t page = address / page_bytes * page_bytes;
      void* const zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      errno = interrupted_errno;
      if (zeros == MAP_FAILED) break;
      range->hit.store(true);
      return;
    }
    // What comes of an access is tried again, and meets the one before; what was sent, is sent
    // again.
    sigaction(signal, &previous, nullptr);
    if (info->si_code <= 0) raise(signal);
  };
  sigaction(SIGBUS, &action, &previous);
}

BusErrorGuard::Range& BusErrorGuard::TakeRange() {
  for (Range* range = Range::first.load(); range != nullptr; range = range->next) {
    if (!range->taken.exchange(true)) return *range;
  }
  auto* const range = new Range;  // for the rest of the process
  range->next = Range::first.load();
  while (!Range::first.compare_exchange_weak(range->next, range)) {
  }
  return *range;
}

BusErrorGuard::BusErrorGuard(const std::byte* begin, size_t size_bytes) : range_(TakeRange()) {
  static std::once_flag installed;
  std::call_once(installed, InstallHandler);
  range_.hit.store(false);
  range_.begin.store(reinterpret_cast<uintptr_t>(begin));
  range_.end.store(reinterpret_cast<uintptr_t>(begin) + size_bytes);
  range_.generation.fetch_add(1);
}

BusErrorGuard::~BusErrorGuard() {
  range_.generation.fetch_add(1);
  range_.taken.store(false);
}

bool BusErrorGuard::hit() const { return range_.hit.load(); }

}  // namespace weft
