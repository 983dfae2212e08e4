// What a template may cost. A template comes from an untrusted file: whatever it says, parsing and
// rendering end, with an error where one of these would be exceeded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::jinja {

inline constexpr size_t kMaxSourceBytes = 1 << 20;
// Nesting of blocks within blocks, and of one expression (a chain of N operators counts N).
inline constexpr int kMaxBlockDepth = 64;
inline constexpr int kMaxExpressionDepth = 256;
// Values inside values: lists, dicts, and filters waiting on filters.
inline constexpr int kMaxValueDepth = 128;
inline constexpr int64_t kMaxRangeItems = 100000;  // as Jinja's sandbox has it

struct RenderLimits {
  int64_t steps = 20'000'000;       // evaluated nodes, items and, in part, copied bytes
  size_t memory_bytes = 512 << 20;  // alive at one time
  size_t output_bytes = 128 << 20;  // of the result, and of any one string
  int depth = 1200;                 // expressions, blocks and calls within each other
};

// The costs of one render. Values hold a pointer to it, so it outlives them. One thread.
class Budget {
 public:
  explicit Budget(const RenderLimits& limits)
      : limits_(limits), steps_left_(limits.steps), depth_left_(limits.depth) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // False once any limit was exceeded; stays so.
  bool Spend(int64_t steps) {
    steps_left_ -= steps;
    return steps_left_ >= 0 && live_bytes_ <= limits_.memory_bytes && !exceeded_;
  }
  int64_t steps_left() const { return std::max<int64_t>(steps_left_, 0); }
  void Charge(size_t size_bytes) { live_bytes_ += size_bytes; }
  void Release(size_t size_bytes) { live_bytes_ -= size_bytes; }
  // Whether a string of this size may be made.
  bool FitsString(uint64_t size_bytes) {
    if (size_bytes > limits_.output_bytes || live_bytes_ + size_bytes > limits_.memory_bytes) {
      too_much_memory_ = exceeded_ = true;
    }
    return !exceeded_;
  }
  // Whether a list of this many items may be made.
  bool FitsItems(uint64_t item_count) {
    return item_count <= (uint64_t{1} << 32) && FitsMemory(item_count * 64);
  }
  void SetTooDeep() { too_deep_ = exceeded_ = true; }

  bool Enter() {
    if (--depth_left_ < 0) SetTooDeep();
    return !exceeded_;
  }
  void Leave() { ++depth_left_; }

  const char* Reason() const {
    if (too_deep_) return "nested too deeply";
    if (too_much_memory_ || live_bytes_ > limits_.memory_bytes) return "needs too much memory";
    return "takes too many steps";
  }
  const RenderLimits& limits() const { return limits_; }

 private:
  bool FitsMemory(uint64_t size_bytes) {
    if (live_bytes_ + size_bytes > limits_.memory_bytes) too_much_memory_ = exceeded_ = true;
    return !exceeded_;
  }

  const RenderLimits limits_;
  int64_t steps_left_;
  int depth_left_;
  uint64_t live_bytes_ = 0;
  bool exceeded_ = false;
  bool too_deep_ = false;
  bool too_much_memory_ = false;
};

}  // namespace weft::jinja
