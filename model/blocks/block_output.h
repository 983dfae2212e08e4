// How what attention and MLPs give comes into the residual stream.
#pragma once

#include <algorithm>

#include "model/step.h"

namespace weft {

// residual += multiplier * norm(output), or, with a norm of the sum, += norm(output + residual).
// The output is a sum of products, each added with Add; where nothing comes between, they are added
// to the stream itself.
class BlockOutput {
 public:
  // `waits`: the stream must not change until Finish, since another block has yet to read it.
  BlockOutput(const Step& step, const NormSpec& norm, float multiplier, bool waits = false,
              bool norm_of_sum = false)
      : step_(step),
        norm_(norm),
        norm_of_sum_(norm_of_sum),
        multiplier_(multiplier),
        is_direct_(!norm && multiplier == 1 && !waits),
        rows_(is_direct_ ? step.buffers.residual : step.buffers.block_output),
        is_empty_(!is_direct_) {}

  // An output that stays in these rows: Finish is not for it.
  BlockOutput(const Step& step, FloatRows rows)
      : step_(step), multiplier_(1), is_direct_(false), rows_(rows), is_empty_(true) {}

  // output += weights * x + bias, for all rows.
  void Add(const LinearSpec& linear, const Operands& x) {
    ParallelMultiply(step_, step_.weights.matrix(linear.weights), x, step_.row_count, rows_,
                     /*accumulate=*/!std::exchange(is_empty_, false),
                     step_.weights.table(linear.bias));
  }

  // Calls add(row, output) for all rows, which adds to what is there.
  template <typename AddRow>
  void AddRows(const AddRow& add) {
    const bool was_empty = std::exchange(is_empty_, false);
    ParallelRows(step_.threads, step_.row_count, [&](int64_t row, int) {
      if (was_empty) std::fill_n(rows_[row], step_.spec.hidden_size, 0.0F);
      add(row, rows_[row]);
    });
  }

  void Finish() const {
    if (is_direct_) return;
    const int64_t size = step_.spec.hidden_size;
    ParallelRows(step_.threads, step_.row_count, [&](int64_t row, int) {
      float* x = rows_[row];
      float* residual = step_.buffers.residual[row];
      if (norm_of_sum_) step_.kernels.add(x, residual, size);
      if (norm_) step_.Norm(norm_, x, size, x);
      if (multiplier_ == 1) {
        step_.kernels.add(residual, x, size);
      } else {
        step_.kernels.multiply_add(residual, x, multiplier_, size);
      }
    });
  }

 private:
  const Step& step_;
  const NormSpec norm_ = {};
  const bool norm_of_sum_ = false;
  const float multiplier_;
  const bool is_direct_;
  const FloatRows rows_;
  bool is_empty_;
};

}  // namespace weft
