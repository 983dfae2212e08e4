// The latest value of something, from one thread to another, neither of which ever waits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weft {

// Three copies: the writer fills its own, the reader keeps its own, and the third changes hands
// with one atomic exchange. So Publish takes as long as the copy, whatever the reader does or
// wherever it was interrupted. T is copy-assignable; its assignment should reuse memory.
template <typename T>
class TripleBuffer {
 public:
  // All three begin as this value.
  explicit TripleBuffer(const T& value) : values_{value, value, value} {}

  // The one writer.
  void Publish(const T& value) {
    values_[written_] = value;
    written_ = middle_.exchange(written_ | kFresh, std::memory_order_acq_rel) & kIndex;
  }

  // The one reader: what was published last. Valid, and unchanged, until its next call.
  const T& Latest() {
    if ((middle_.load(std::memory_order_relaxed) & kFresh) != 0) {
      read_ = middle_.exchange(read_, std::memory_order_acq_rel) & kIndex;
    }
    return values_[read_];
  }

 private:
  static constexpr uint32_t kIndex = 3;
  static constexpr uint32_t kFresh = 4;  // published, not read yet

  std::array<T, 3> values_;
  std::atomic<uint32_t> middle_{1};
  alignas(64) uint32_t written_ = 0;
  alignas(64) uint32_t read_ = 2;
};

}  // namespace weft
