// What the parts of one forward pass share: the model, the step's buffers, and the two ways in
// which its work is cut into tasks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/thread_pool.h"
#include "model/kernels/int8_residual.h"
#include "model/kernels/kernels.h"
#include "model/spec.h"
#include "model/step_profile.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace weft {

struct Step {
  const ModelSpec& spec;
  const Weights& weights;
  const KernelTable& kernels;
  ThreadPool& threads;
  Workspace& buffers;
  int64_t row_count;
  StepProfile* profile = nullptr;  // nullptr: nobody asks

  // out may be x. `first_weight`: where in its tables the norm's weights begin.
  void Norm(const NormSpec& norm, const float* x, int64_t size, float* out,
            int64_t first_weight = 0) const {
    const float* weight = weights.table(norm.weight);
    if (weight != nullptr) weight += first_weight;
    switch (norm.kind) {
      case NormKind::kNone:
        std::copy_n(x, size, out);
        break;
      case NormKind::kRms:
        kernels.rms_norm(x, weight, size, norm.epsilon, out);
        break;
      case NormKind::kLayer:
        kernels.layer_norm(x, weight, weights.table(norm.bias), size, norm.epsilon, out);
        break;
    }
  }
};

// Calls work(row, thread_index) for rows [0, row_count). Tasks are some microseconds long: a few
// rows, or more where there are many.
template <typename Work>
void ParallelRows(ThreadPool& threads, int64_t row_count, const Work& work) {
  constexpr int64_t kTasksPerThread = 16;
  constexpr int64_t kFewestRows = 4;
  const int64_t each =
      std::max(kFewestRows, row_count / (kTasksPerThread * threads.thread_count()));
  threads.ParallelFor(CeilDivide(row_count, each), [&](int64_t task, int thread) {
    const int64_t end = std::min(row_count, (task + 1) * each);
    for (int64_t row = task * each; row < end; ++row) work(row, thread);
  });
}

// Panels of one matmul task, each of `panel_weights` weights. A thread whose core somebody else
// takes holds up the others for the rest of its task, so a task is a tenth of a millisecond or so,
// and at least a few tasks a thread even out their speeds. But every task reads the operands of all
// rows, of which hundreds come from the last cache: eight panels share that, which makes a task of
// so many rows some milliseconds. A multiple of what the kernels walk together.
inline int64_t PanelsPerTask(int64_t panel_count, int64_t panel_weights, int64_t row_count,
                             int thread_count) {
  constexpr int64_t kTasksPerThread = 4;
  constexpr int64_t kWalkedTogether = 4;
  constexpr int64_t kFewestPanels = 8;
  // Reading a weight from memory, and multiplying it with a row: measured on AVX-512 (int8).
  constexpr int64_t kReadPicoseconds = 80;
  constexpr int64_t kMultiplyPicoseconds = 5;
  constexpr int64_t kTaskPicoseconds = 100'000'000;
  const int64_t panel_picoseconds =
      panel_weights * (kReadPicoseconds + kMultiplyPicoseconds * row_count);
  const int64_t each = std::min(CeilDivide(panel_count, kTasksPerThread * thread_count),
                                std::max(kFewestPanels, kTaskPicoseconds / panel_picoseconds));
  return RoundUp(std::max<int64_t>(each, 1), kWalkedTogether);
}

struct Panels {
  int64_t first = 0;
  int64_t count = 0;
};

// Writes one row of `rows`, from group `first_group`, in the types that products with `readers`
// read. A row that has residuals is written whole.
inline void WriteOperands(const KernelTable& kernels,
                          std::initializer_list<const PackedMatrix*> readers, const float* x,
                          int64_t n, const Operands& rows, int64_t row, int64_t first_group = 0) {
  std::array<bool, kOperandTypeCount> written = {};
  for (const PackedMatrix* reader : readers) {
    const OperandType type = kernels.operand_type(reader->layout);
    if (std::exchange(written[static_cast<size_t>(type)], true)) continue;
    const OperandRows& of_type = rows.of(type);
    std::byte* const groups = of_type.At(row, first_group);
    kernels.to_operand(type, x, n, groups, of_type.group_bytes);
    if (of_type.residuals == nullptr) continue;
    WEFT_CHECK(first_group == 0);
    WriteResiduals(kernels, x, n, groups, of_type.group_bytes, of_type.ResidualsAt(row));
  }
}

// The bias of one row of products with the linear's weights, if it has one.
inline void AddBias(const Step& step, const LinearSpec& linear, int64_t width, float* x) {
  if (const float* bias = step.weights.table(linear.bias)) step.kernels.add(x, bias, width);
}

// A row as products with these weights read it: itself, or in `ordered`.
inline const float* InColumnOrder(const PackedMatrix& weights, const float* x, float* ordered) {
  if (weights.column_order.empty()) return x;
  float* out = ordered;
  for (const int32_t column : weights.column_order) *out++ = x[column];
  return ordered;
}

// norm(residual) of the step's rows, as operands of products with `readers`, whose columns have one
// order.
inline Operands NormedOperands(const Step& step, const NormSpec& norm,
                               std::initializer_list<const PackedMatrix*> readers) {
  const Workspace& b = step.buffers;
  const int64_t hidden = step.spec.hidden_size;
  const Operands normed = b.normed.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int thread) {
    step.Norm(norm, b.residual[row], hidden, b.normed_row[thread]);
    const float* x = InColumnOrder(**readers.begin(), b.normed_row[thread], b.ordered_row[thread]);
    WriteOperands(step.kernels, readers, x, hidden, normed, row);
  });
  return normed;
}

// These panels of y = x * weights^T (or y += ...), for rows [0, row_count) of x, or for those that
// x_rows names. `next`: what comes behind the last panel of the weights, if that is known.
inline void Multiply(const KernelTable& kernels, const PackedMatrix& weights, Panels panels,
                     const Operands& x, const int32_t* x_rows, int64_t row_count, FloatRows y,
                     bool accumulate = false, const PackedMatrix* next = nullptr) {
  const OperandRows& operands = x.of(kernels.operand_type(weights.layout));
  MatmulTask task;
  task.weights = &weights;
  task.first_panel = panels.first;
  task.panel_count = panels.count;
  if (next != nullptr) {
    task.next_panels = next->bytes().data();
    task.next_bytes = static_cast<int64_t>(next->bytes().size());
  }
  task.x = operands.data;
  task.x_row_bytes = operands.row_bytes;
  task.x_group_bytes = operands.group_bytes;
  task.x_residuals = operands.residuals;
  task.x_residual_row_bytes = operands.residual_row_bytes;
  task.x_rows = x_rows;
  task.row_count = row_count;
  task.y = y.data;
  task.y_stride = y.stride;
  task.accumulate = accumulate;
  kernels.matmul(task);
}

// Calls work(panels) for pieces of [0, panel_count), which packing placed by node as ParallelFor
// shares them out: products of all rows with `panel_weights` weights a panel.
template <typename Work>
void ParallelPanels(const Step& step, int64_t panel_count, int64_t panel_weights, int64_t row_count,
                    const Work& work) {
  const int64_t each =
      PanelsPerTask(panel_count, panel_weights, row_count, step.threads.thread_count());
  step.threads.ParallelFor(CeilDivide(panel_count, each), [&](int64_t task, int) {
    work(Panels{task * each, std::min(each, panel_count - task * each)});
  });
}

// All panels of one product, in parallel, and the bias of its outputs, if there is one.
inline void ParallelMultiply(const Step& step, const PackedMatrix& weights, const Operands& x,
                             int64_t row_count, FloatRows y, bool accumulate = false,
                             const float* bias = nullptr) {
  ParallelPanels(step, weights.panel_count(), kPanelRows * weights.columns, row_count,
                 [&](Panels panels) {
                   Multiply(step.kernels, weights, panels, x, nullptr, row_count, y, accumulate);
                   if (bias == nullptr) return;
                   const int64_t first = panels.first * kPanelRows;
                   const int64_t count = std::min(panels.count * kPanelRows, weights.rows - first);
                   for (int64_t row = 0; row < row_count; ++row) {
                     step.kernels.add(y[row] + first, bias + first, count);
                   }
                 });
}

}  // namespace weft
