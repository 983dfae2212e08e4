#include "model/blocks/delta_net.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/exact_math.h"
#include "model/blocks/products.h"
#include "model/blocks/state_pieces.h"

namespace weft {
namespace {

// Rows of one task, and channels of a convolution, if its heads are small.
constexpr int64_t kGatedRowsPerTask = 4;
constexpr int64_t kHeadChannelsPerTask = 256;

// Heads of queries, keys or values, one behind the other among the channels.
struct HeadGroup {
  int64_t first_channel = 0;
  int64_t head_count = 0;
  int64_t dim = 0;
  float scale = 0;  // of heads that are divided by their length; 0: they are not

  int64_t heads_per_task() const { return std::max<int64_t>(1, kHeadChannelsPerTask / dim); }
  int64_t task_count() const { return CeilDivide(head_count, heads_per_task()); }
};

// A layer and a step. A row's queries, keys and values are in Workspace::query, and convolved in
// `key`; behind its gate in `value` are its betas and decays; `attended` has what the delta rule
// gives.
class Run {
 public:
  Run(const Step& step, const ForwardBatch& batch, const DeltaNetSpec& net, int64_t layer,
      KvCache& cache)
      : step_(step), batch_(batch), net_(net), layer_(layer), cache_(cache) {
    // x / |x| by way of the norm that divides by the root of the mean square.
    const auto dim = static_cast<float>(net.key_dim);
    const float to_length = 1 / std::sqrt(dim);
    groups_[0] = {0, net.key_head_count, net.key_dim, to_length * to_length};
    groups_[1] = {net.keys(), net.key_head_count, net.key_dim, to_length};
    groups_[2] = {2 * net.keys(), net.value_head_count, net.value_dim};
  }

  void Project(const NormSpec& norm, OperatorTimer& timer) const {
    const Workspace& b = step_.buffers;
    Products products(step_);
    products.Add(net_.query, b.query);
    products.Add(net_.key, Behind(b.query, net_.keys()));
    products.Add(net_.value, Behind(b.query, 2 * net_.keys()));
    products.Add(net_.gate, b.value);
    products.Add(net_.beta, Betas());
    products.Add(net_.decay, Decays());
    const Operands normed = products.Normed(norm);
    timer.Next(Operator::kQkv);
    products.Multiply(normed);
  }

  // Convolutions, and what is made of each row alone.
  void Prepare() const {
    const int64_t rows_tasks = CeilDivide(step_.row_count, kGatedRowsPerTask);
    int64_t group_tasks = 0;
    for (const HeadGroup& group : groups_) group_tasks += group.task_count();
    step_.threads.ParallelFor(
        rows_tasks + std::ssize(batch_.sequences) * group_tasks, [&](int64_t task, int) {
          if (task < rows_tasks) {
            const int64_t end = std::min(step_.row_count, (task + 1) * kGatedRowsPerTask);
            for (int64_t row = task * kGatedRowsPerTask; row < end; ++row) MakeGates(row);
            return;
          }
          task -= rows_tasks;
          int64_t part = task % group_tasks;
          size_t group = 0;
          for (; part >= groups_[group].task_count(); ++group) part -= groups_[group].task_count();
          Convolve(Sequence(task / group_tasks), groups_[group], part);
        });
  }

  void ApplyDeltaRule() const {
    const int64_t parts = CeilDivide(net_.value_dim, kStateColumnsPerTask);
    const int64_t tasks = net_.value_head_count * parts;
    step_.threads.ParallelFor(std::ssize(batch_.sequences) * tasks, [&](int64_t task, int) {
      StepColumns(Sequence(task / tasks), task % tasks / parts,
                  task % parts * kStateColumnsPerTask);
    });
  }

  // norm(delta rule) * silu(gate), as operands.
  Operands Finish() const {
    const Workspace& b = step_.buffers;
    const PackedMatrix& last = step_.weights.matrix(net_.output.weights);
    const Operands finished = b.attention.Rows(step_.row_count);
    ParallelRows(step_.threads, step_.row_count, [&](int64_t row, int) {
      float* heads = b.attended[row];
      for (int64_t head = 0; head < net_.value_head_count; ++head) {
        float* x = heads + head * net_.value_dim;
        step_.Norm(net_.norm, x, net_.value_dim, x);
      }
      float* gate = b.value[row];
      step_.kernels.gated_activation(gate, heads, net_.values(), ActivationKind::kSilu, gate);
      WriteOperands(step_.kernels, {&last}, gate, net_.values(), finished, row);
    });
    return finished;
  }

 private:
  static FloatRows Behind(FloatRows rows, int64_t count) {
    return {rows.data + count, rows.stride};
  }
  FloatRows Betas() const { return Behind(step_.buffers.value, net_.values()); }
  FloatRows Decays() const { return Behind(Betas(), net_.value_head_count); }

  const SequenceSpan& Sequence(int64_t index) const {
    return batch_.sequences[static_cast<size_t>(index)];
  }
  template <typename Visit>
  void ForEachPiece(const SequenceSpan& sequence, const Visit& visit) const {
    ForEachStatePiece(sequence, sequence.block_tables[cache_.state_group()], cache_.block_size(),
                      visit);
  }
  float* StateAt(int32_t block, int64_t offset) const {
    return block == kNoBlock ? nullptr : cache_.State(layer_, block) + offset;
  }

  // From products to the betas and decays of a row.
  void MakeGates(int64_t row) const {
    step_.kernels.sigmoid(Betas()[row], net_.value_head_count);
    const float* rate = step_.weights.table(net_.decay_rate);
    const float* bias = step_.weights.table(net_.decay_bias);
    float* decay = Decays()[row];
    for (int64_t head = 0; head < net_.value_head_count; ++head) {
      const double softplus = Softplus(static_cast<double>(decay[head] + bias[head]));
      decay[head] = static_cast<float>(exact::Exp(static_cast<double>(rate[head]) * softplus));
    }
  }

  // The `part`-th task's heads of a group, for all rows of a sequence.
  void Convolve(const SequenceSpan& sequence, const HeadGroup& group, int64_t part) const {
    const int64_t first_head = part * group.heads_per_task();
    const int64_t head_count = std::min(group.heads_per_task(), group.head_count - first_head);
    const int64_t channel = group.first_channel + first_head * group.dim;
    const int64_t count = head_count * group.dim;
    const Workspace& b = step_.buffers;
    ForEachPiece(sequence, [&](const StatePiece& piece) {
      ConvolutionTask task;
      task.width = net_.conv_width;
      task.channel_count = count;
      task.position_count = piece.row_count;
      task.weight = step_.weights.table(net_.conv_weight) + channel;
      task.state = StateAt(piece.to, channel);
      task.row_stride = net_.channels();
      task.x = b.query[piece.first_row] + channel;
      task.x_stride = b.query.stride;
      task.out = b.key[piece.first_row] + channel;
      task.out_stride = b.key.stride;
      CarryState(piece, StateAt(piece.from, channel), task.state, net_.conv_width - 1,
                 net_.channels(), count);
      step_.kernels.convolution(task);
    });
    for (int64_t row = sequence.first_row; row < sequence.first_row + sequence.row_count; ++row) {
      float* x = b.key[row] + channel;
      step_.kernels.activate(x, count, ActivationKind::kSilu, x);
      if (group.scale == 0) continue;
      const float epsilon = kLengthEpsilon / static_cast<float>(group.dim);
      for (int64_t head = 0; head < head_count; ++head) {
        step_.kernels.rms_norm(x + head * group.dim, nullptr, group.dim, epsilon,
                               x + head * group.dim);
      }
      step_.kernels.scale(x, group.scale, count);
    }
  }

  // Some columns of a value head's state, for all rows of a sequence.
  void StepColumns(const SequenceSpan& sequence, int64_t head, int64_t column) const {
    const Workspace& b = step_.buffers;
    const int64_t key_head = net_.heads_are_tiled
                                 ? head % net_.key_head_count
                                 : head / (net_.value_head_count / net_.key_head_count);
    const int64_t value = head * net_.value_dim + column;  // among all heads' values
    const int64_t offset = net_.conv_floats() + value * net_.key_dim;
    ForEachPiece(sequence, [&](const StatePiece& piece) {
      const int64_t row = piece.first_row;
      RecurrenceTask task;
      task.key_dim = net_.key_dim;
      task.value_count = std::min(kStateColumnsPerTask, net_.value_dim - column);
      task.position_count = piece.row_count;
      task.state = StateAt(piece.to, offset);
      task.state_stride = task.value_count;
      task.query = b.key[row] + key_head * net_.key_dim;
      task.key = task.query + net_.keys();
      task.value = b.key[row] + 2 * net_.keys() + value;
      task.query_stride = task.key_stride = task.value_stride = b.key.stride;
      task.beta = Betas()[row] + head;
      task.decay = Decays()[row] + head;
      task.gate_stride = b.value.stride;
      task.out = b.attended[row] + value;
      task.out_stride = b.attended.stride;
      CarryState(piece, StateAt(piece.from, offset), task.state, net_.key_dim, task.value_count,
                 task.value_count);
      step_.kernels.recurrence(task);
    });
  }

  static constexpr float kLengthEpsilon = 1e-6F;  // added to the square of a length

  const Step& step_;
  const ForwardBatch& batch_;
  const DeltaNetSpec& net_;
  const int64_t layer_;
  KvCache& cache_;
  std::array<HeadGroup, 3> groups_;
};

}  // namespace

void DeltaNet(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
              const DeltaNetSpec& net, int64_t layer, KvCache& cache, BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const Run run(step, batch, net, layer, cache);
  run.Project(norm, timer);
  timer.Next(Operator::kRope);
  run.Prepare();
  timer.Next(Operator::kAttention);
  run.ApplyDeltaRule();
  timer.Next(Operator::kAttentionOutput);
  output.Add(net.output, run.Finish());
}

}  // namespace weft
