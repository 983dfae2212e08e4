#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/kernels/kernels.h"

namespace weft {

void TopK(const float* values, int64_t n, int64_t k, int32_t* indices) {
  WEFT_CHECK(k >= 0 && k <= n);
  if (k == 0) return;
  const auto goes_before = [values](int32_t a, int32_t b) {
    const float x = values[a];
    const float y = values[b];
    if (std::isnan(x) || std::isnan(y)) {
      return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    }
    return x > y || (x == y && a < b);
  };
  // A heap of the best k so far, the worst of them at the front.
  int32_t* const end = indices + k;
  for (int64_t i = 0; i < k; ++i) indices[i] = static_cast<int32_t>(i);
  std::make_heap(indices, end, goes_before);
  for (int64_t i = k; i < n; ++i) {
    const auto candidate = static_cast<int32_t>(i);
    if (!goes_before(candidate, indices[0])) continue;
    std::pop_heap(indices, end, goes_before);
    end[-1] = candidate;
    std::push_heap(indices, end, goes_before);
  }
  std::sort_heap(indices, end, goes_before);
}

}  // namespace weft
