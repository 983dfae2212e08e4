#include "model/blocks/state_space.h"

#include <algorithm>

#include "base/exact_math.h"
#include "model/blocks/convolution.h"
#include "model/blocks/state_pieces.h"

namespace weft {
namespace {

// Where the parts of a layer's rows lie. Each is read until another takes its place: x, B and C
// before the convolution give way to dt * x, and dt to the decays.
struct Parts {
  const Workspace& b;
  const StateSpaceSpec& space;

  float* gate(int64_t row) const { return b.query[row]; }
  FloatRows projected() const { return {b.query.data + space.values(), b.query.stride}; }
  FloatRows weighted() const { return projected(); }
  FloatRows dt() const {
    return {b.query.data + space.values() + space.channels(), b.query.stride};
  }
  FloatRows x() const { return b.attended; }
  FloatRows key() const { return {b.attended.data + space.values(), b.attended.stride}; }
  FloatRows query() const {
    return {b.attended.data + space.values() + space.group_count * space.state_dim,
            b.attended.stride};
  }
  FloatRows y() const { return b.value; }
};

// Falcon-H1's factors of the projection's parts.
void Scale(const Step& step, const StateSpaceSpec& space) {
  const StateSpaceSpec::Multipliers& by = space.multipliers;
  if (by.gate == 1 && by.x == 1 && by.b == 1 && by.c == 1 && by.dt == 1) return;
  const Parts parts{step.buffers, space};
  const int64_t shared = space.group_count * space.state_dim;
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    float* x = parts.projected()[row];
    step.kernels.scale(parts.gate(row), by.gate, space.values());
    step.kernels.scale(x, by.x, space.values());
    step.kernels.scale(x + space.values(), by.b, shared);
    step.kernels.scale(x + space.values() + shared, by.c, shared);
    step.kernels.scale(parts.dt()[row], by.dt, space.head_count);
  });
}

// From one row's convolution and dt to what the recurrence reads.
void Discretize(const Step& step, const StateSpaceSpec& space, int64_t row) {
  const Parts parts{step.buffers, space};
  const float* rate = step.weights.table(space.rate);
  const float* bias = step.weights.table(space.dt_bias);
  float* x = parts.x()[row];
  float* weighted = parts.weighted()[row];
  float* of_head = parts.dt()[row];
  step.kernels.activate(x, space.channels(), ActivationKind::kSilu, x);
  std::copy_n(x, space.values(), weighted);
  for (int64_t head = 0; head < space.head_count; ++head) {
    const double softplus = Softplus(static_cast<double>(of_head[head] + bias[head]));
    const float dt = std::clamp(static_cast<float>(softplus), space.least_dt, space.most_dt);
    step.kernels.scale(weighted + head * space.head_dim, dt, space.head_dim);
    of_head[head] =
        static_cast<float>(exact::Exp(static_cast<double>(rate[head]) * static_cast<double>(dt)));
  }
}

// One sequence's rows through some columns of one head's state.
struct HeadRecurrence {
  const Step& step;
  const StateSpaceSpec& space;
  const SequenceSpan& sequence;
  const int64_t layer;
  KvCache& cache;
  const int64_t head;
  const int64_t first_column;
  const int64_t column_count;

  void Run() const {
    ForEachStatePiece(sequence, sequence.block_tables[cache.state_group()], cache.block_size(),
                      [&](const StatePiece& piece) {
                        CarryState(piece, StateIn(piece.from), StateIn(piece.to), space.state_dim,
                                   column_count, column_count);
                        Recur(piece);
                      });
  }

 private:
  float* StateIn(int32_t block) const {
    if (block == kNoBlock) return nullptr;
    return cache.State(layer, block) + space.conv_floats() +
           (head * space.head_dim + first_column) * space.state_dim;
  }

  void Recur(const StatePiece& piece) const {
    const Parts parts{step.buffers, space};
    const int64_t row = piece.first_row;
    const int64_t column = head * space.head_dim + first_column;
    const int64_t shared = head / (space.head_count / space.group_count) * space.state_dim;
    RecurrenceTask task;
    task.key_dim = space.state_dim;
    task.value_count = column_count;
    task.position_count = piece.row_count;
    task.state = StateIn(piece.to);
    task.state_stride = column_count;
    task.query = parts.query()[row] + shared;
    task.query_stride = parts.query().stride;
    task.key = parts.key()[row] + shared;
    task.key_stride = parts.key().stride;
    task.value = parts.weighted()[row] + column;
    task.value_stride = parts.weighted().stride;
    task.decay = parts.dt()[row] + head;
    task.gate_stride = parts.dt().stride;
    task.out = parts.y()[row] + column;
    task.out_stride = parts.y().stride;
    step.kernels.recurrence(task);
  }
};

void Recur(const Step& step, const ForwardBatch& batch, const StateSpaceSpec& space, int64_t layer,
           KvCache& cache) {
  const int64_t pieces = CeilDivide(space.head_dim, kStateColumnsPerTask);
  const int64_t each = space.head_count * pieces;
  step.threads.ParallelFor(std::ssize(batch.sequences) * each, [&](int64_t task, int) {
    const int64_t first = task % pieces * kStateColumnsPerTask;
    HeadRecurrence{.step = step,
                   .space = space,
                   .sequence = batch.sequences[static_cast<size_t>(task / each)],
                   .layer = layer,
                   .cache = cache,
                   .head = task % each / pieces,
                   .first_column = first,
                   .column_count = std::min(kStateColumnsPerTask, space.head_dim - first)}
        .Run();
  });
}

void NormGroups(const Step& step, const StateSpaceSpec& space, float* y) {
  if (!space.norm) return;
  const int64_t size = space.values() / space.norm_group_count;
  for (int64_t first = 0; first < space.values(); first += size) {
    step.Norm(space.norm, y + first, size, y + first, first);
  }
}

// One row of what the states give, with what skips them, gated and normed, in the gate's place.
void Finish(const Step& step, const StateSpaceSpec& space, int64_t row) {
  const Parts parts{step.buffers, space};
  const float* skip = step.weights.table(space.skip);
  const float* x = parts.x()[row];
  float* y = parts.y()[row];
  for (int64_t head = 0; head < space.head_count; ++head) {
    const int64_t first = head * space.head_dim;
    step.kernels.multiply_add(y + first, x + first, skip[head], space.head_dim);
  }
  if (space.norm_before_gate) NormGroups(step, space, y);
  float* gate = parts.gate(row);
  step.kernels.gated_activation(gate, y, space.values(), ActivationKind::kSilu, gate);
  if (!space.norm_before_gate) NormGroups(step, space, gate);
  if (space.multipliers.output != 1) {
    step.kernels.scale(gate, space.multipliers.output, space.values());
  }
}

}  // namespace

void StateSpace(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                const StateSpaceSpec& space, int64_t layer, KvCache& cache, BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const Workspace& b = step.buffers;
  const Parts parts{b, space};
  const PackedMatrix& input = step.weights.matrix(space.input.weights);
  const PackedMatrix& last = step.weights.matrix(space.output.weights);
  const Operands normed = NormedOperands(step, norm, {&input});
  timer.Next(Operator::kQkv);
  ParallelMultiply(step, input, normed, step.row_count, b.query, /*accumulate=*/false,
                   step.weights.table(space.input.bias));
  timer.Next(Operator::kAttention);
  Scale(step, space);
  Convolve(step, batch,
           {.width = space.conv_width,
            .channel_count = space.channels(),
            .weight = step.weights.table(space.conv_weight),
            .bias = step.weights.table(space.conv_bias),
            .x = parts.projected(),
            .out = parts.x()},
           layer, cache);
  ParallelRows(step.threads, step.row_count,
               [&](int64_t row, int) { Discretize(step, space, row); });
  Recur(step, batch, space, layer, cache);
  timer.Next(Operator::kAttentionOutput);
  const Operands finished = b.attention.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    Finish(step, space, row);
    WriteOperands(step.kernels, {&last}, parts.gate(row), space.values(), finished, row);
  });
  output.Add(space.output, finished);
}

}  // namespace weft
