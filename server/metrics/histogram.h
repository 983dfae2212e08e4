// How often values fell under each of some bounds: a Prometheus histogram as plain data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// One thread. Copying reuses memory.
class BucketCounts {
 public:
  // Upper bounds, ascending, each within its bucket; of static storage.
  explicit BucketCounts(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Add(double value, int64_t count = 1) {
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<size_t>(bucket)] += count;
    sum_ += value * static_cast<double>(count);
  }

  std::span<const double> bounds() const { return bounds_; }
  // A bucket each, not added up; the last one is what lies above all bounds.
  std::span<const int64_t> counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

// Weft's buckets: vLLM's, so that both can be told from one count, and finer ones at the fast end.
namespace buckets {

inline constexpr std::array kFirstToken = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                           0.25,  0.5,   0.75, 1.0,  2.5,  5.0,  7.5,  10.0,
                                           20.0,  40.0,  80.0, 160., 640., 2560.};
inline constexpr std::array kToken = {0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05,
                                      0.075, 0.1,   0.15,  0.2,   0.3,    0.4,  0.5,   0.75,
                                      1.0,   2.5,   5.0,   7.5,   10.0,   20.0, 40.0,  80.0};
inline constexpr std::array kRequest = {0.001, 0.0025, 0.005, 0.01,   0.025, 0.05, 0.1,  0.2,
                                        0.3,   0.5,    0.8,   1.0,    1.5,   2.0,  2.5,  5.0,
                                        10.0,  15.0,   20.0,  30.0,   40.0,  50.0, 60.0, 120.0,
                                        240.0, 480.0,  960.0, 1920.0, 7680.0};
inline constexpr std::array kStep = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                     1.0,   2.5,    5.0,   10.0, 25.0,  50.0, 100., 250.};
inline constexpr std::array kRows = {1.,   2.,   4.,    8.,    16.,   32.,   64.,   128.,
                                     256., 512., 1024., 2048., 4096., 8192., 16384.};
inline constexpr std::array kSequences = {1., 2., 4., 8., 16., 32., 64., 128., 256., 512., 1024.};
inline constexpr std::array kLength = {1.,  2.,  5.,  10., 20., 50., 100., 200., 500., 1e3, 2e3,
                                       5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5,  1e6,  2e6,  5e6};
inline constexpr std::array kChoices = {1., 2., 5., 10., 20., 50., 100.};

}  // namespace buckets

}  // namespace weft
