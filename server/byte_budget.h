// A number of bytes that many holders share.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// Thread-safe. Outlives its holds.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  uint64_t limit_bytes() const { return limit_bytes_; }

  // What one holder has taken; given back at its end. One thread.
  class Hold {
   public:
    explicit Hold(ByteBudget& budget) : budget_(budget) {}
    ~Hold() { budget_.taken_bytes_.fetch_sub(bytes_, std::memory_order_relaxed); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Holds `bytes` in all from now on (never fewer than before); false, and nothing changed, if
    // the budget does not allow it.
    [[nodiscard]] bool GrowTo(uint64_t bytes) {
      if (bytes <= bytes_) return true;
      const uint64_t more = bytes - bytes_;
      const uint64_t before = budget_.taken_bytes_.fetch_add(more, std::memory_order_relaxed);
      if (before + more > budget_.limit_bytes_) {
        budget_.taken_bytes_.fetch_sub(more, std::memory_order_relaxed);
        return false;
      }
      bytes_ = bytes;
      return true;
    }

   private:
    ByteBudget& budget_;
    uint64_t bytes_ = 0;
  };

 private:
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> taken_bytes_{0};
};

}  // namespace weft
