#include "model/blocks/head.h"

#include <algorithm>

namespace weft {
namespace {

// Hidden states, operands in `normed`, become operands of the head's size in the same place.
void Project(const Step& step, int64_t count, const Operands& normed) {
  const HeadSpec& head = step.spec.head;
  const PackedMatrix& projection = step.weights.matrix(head.projection.weights);
  const FloatRows projected = step.buffers.block_output;
  const int64_t size = projection.rows;
  ParallelMultiply(step, projection, normed, count, projected);
  ParallelRows(step.threads, count, [&](int64_t i, int) {
    float* x = projected[i];
    AddBias(step, head.projection, size, x);
    if (head.activation) step.kernels.activate(x, size, *head.activation, x);
    if (head.projection_norm) step.Norm(head.projection_norm, x, size, x);
    WriteOperands(step.kernels, {&step.weights.matrix(head.linear.weights)}, x, size, normed, i);
  });
}

// Final norm and head of these rows: their logits, in `buffers`.
void Head(const Step& step, std::span<const int32_t> rows) {
  const OperatorTimer timer(step.profile, Operator::kHead);
  const Workspace& b = step.buffers;
  const HeadSpec& head = step.spec.head;
  const int64_t count = std::ssize(rows);
  const int64_t hidden = step.spec.hidden_size;
  const PackedMatrix& matrix = step.weights.matrix(head.linear.weights);
  const PackedMatrix& first =
      head.projection ? step.weights.matrix(head.projection.weights) : matrix;
  const Operands normed = b.normed.Rows(count);
  ParallelRows(step.threads, count, [&](int64_t i, int thread) {
    step.Norm(head.norm, b.residual[rows[static_cast<size_t>(i)]], hidden, b.normed_row[thread]);
    WriteOperands(step.kernels, {&first}, b.normed_row[thread], hidden, normed, i);
  });
  if (head.projection) Project(step, count, normed);
  ParallelMultiply(step, matrix, normed, count, b.logits);
}

// What is left to do for a row of products.
void FinishLogits(const Step& step, float* logits) {
  const HeadSpec& head = step.spec.head;
  const int64_t size = step.spec.vocab_size;
  const float* bias = step.weights.table(head.linear.bias);
  if (bias != nullptr) step.kernels.add(logits, bias, size);
  if (head.multiplier != 1) step.kernels.scale(logits, head.multiplier, size);
  if (head.soft_cap > 0) step.kernels.soft_cap(logits, size, head.soft_cap);
}

}  // namespace

void Logits(const Step& step, std::span<const int32_t> logit_rows, const LogitsVisitor& visit) {
  const int64_t total = std::ssize(logit_rows);
  for (int64_t first = 0; first < total; first += Workspace::kLogitRowsPerPiece) {
    const int64_t count = std::min(Workspace::kLogitRowsPerPiece, total - first);
    Head(step, logit_rows.subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
    step.threads.ParallelFor(count, [&](int64_t i, int thread) {
      FinishLogits(step, step.buffers.logits[i]);
      visit(first + i, thread, step.buffers.logits[i]);
    });
  }
}

void HiddenStates(const Step& step, const ForwardBatch& batch) {
  const Workspace& b = step.buffers;
  const int64_t size = step.spec.hidden_size;
  const int64_t count = std::ssize(batch.hidden_rows);
  const auto row_of = [&](int64_t i) {
    return b.residual[batch.hidden_rows[static_cast<size_t>(i)]];
  };
  ParallelRows(step.threads, count,
               [&](int64_t i, int) { step.Norm(step.spec.head.norm, row_of(i), size, row_of(i)); });
  for (int64_t i = 0; i < count; ++i) {
    (*batch.visit_hidden)(i, {row_of(i), static_cast<size_t>(size)});
  }
}

}  // namespace weft
