// Several products with the same rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "model/step.h"

namespace weft {

// Those that a layer has, of some that it may have.
class Products {
 public:
  static constexpr size_t kMost = 6;

  explicit Products(const Step& step) : step_(step) {}

  // One more, unless there is no such linear: the step's rows, without its bias, go to y.
  void Add(const LinearSpec& linear, FloatRows y) {
    if (!linear) return;
    products_[count_++] = {&step_.weights.matrix(linear.weights), y};
  }

  // norm(residual) as all of them read it. There is one at least.
  Operands Normed(const NormSpec& norm) const {
    std::array<const PackedMatrix*, kMost> readers = {};
    for (size_t i = 0; i < kMost; ++i) readers[i] = products_[i < count_ ? i : 0].weights;
    return NormedOperands(step_, norm,
                          {readers[0], readers[1], readers[2], readers[3], readers[4], readers[5]});
  }

  // One list of tasks over the panels of all matrices.
  void Multiply(const Operands& normed) const {
    int64_t panels = 0;
    for (const Product& product : all()) panels += product.weights->panel_count();
    const int64_t each = PanelsPerTask(panels, kPanelRows * step_.spec.hidden_size, step_.row_count,
                                       step_.threads.thread_count());
    std::array<int64_t, kMost + 1> first_task = {};
    for (size_t i = 0; i < count_; ++i) {
      first_task[i + 1] = first_task[i] + CeilDivide(products_[i].weights->panel_count(), each);
    }
    step_.threads.ParallelFor(first_task[count_], [&](int64_t task, int) {
      size_t i = 0;
      while (task >= first_task[i + 1]) ++i;
      const int64_t first = (task - first_task[i]) * each;
      const int64_t count = std::min(each, products_[i].weights->panel_count() - first);
      weft::Multiply(step_.kernels, *products_[i].weights, {first, count}, normed, nullptr,
                     step_.row_count, products_[i].y);
    });
  }

 private:
  struct Product {
    const PackedMatrix* weights = nullptr;
    FloatRows y = {};
  };
  std::span<const Product> all() const { return {products_.data(), count_}; }

  const Step& step_;
  std::array<Product, kMost> products_ = {};
  size_t count_ = 0;
};

}  // namespace weft
