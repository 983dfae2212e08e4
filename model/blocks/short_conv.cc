#include "model/blocks/short_conv.h"

#include <algorithm>
#include <span>

#include "model/blocks/state_pieces.h"

namespace weft {
namespace {

// Channels of one task.
constexpr int64_t kChannelsPerTask = 256;

// One sequence's rows, b * x in place of x, through some channels, into `attended`.
struct SequenceConvolution {
  const Step& step;
  const ShortConvSpec& conv;
  const SequenceSpan& sequence;
  const int64_t layer;
  KvCache& cache;

  void Run(int64_t first_channel, int64_t channel_count) const {
    ForEachStatePiece(sequence, sequence.block_tables[cache.state_group()], cache.block_size(),
                      [&](const StatePiece& piece) {
                        Begin(piece, first_channel, channel_count);
                        Convolve(piece, first_channel, channel_count);
                      });
  }

 private:
  // The channels' state before a piece, where it is to be behind it.
  void Begin(const StatePiece& piece, int64_t first_channel, int64_t channel_count) const {
    if (piece.from == piece.to) return;
    const int64_t hidden = step.spec.hidden_size;
    for (int64_t j = 0; j + 1 < conv.width; ++j) {
      float* to = cache.State(layer, piece.to) + j * hidden + first_channel;
      if (piece.from == kNoBlock) {
        std::fill_n(to, channel_count, 0.0F);
      } else {
        const float* from = cache.State(layer, piece.from) + j * hidden + first_channel;
        std::copy_n(from, channel_count, to);
      }
    }
  }

  void Convolve(const StatePiece& piece, int64_t first_channel, int64_t channel_count) const {
    const Workspace& b = step.buffers;
    const int64_t row = piece.first_row;
    const float* bias = step.weights.table(conv.bias);
    ConvolutionTask task;
    task.width = conv.width;
    task.channel_count = channel_count;
    task.position_count = piece.row_count;
    task.weight = step.weights.table(conv.weight) + first_channel;
    task.bias = bias == nullptr ? nullptr : bias + first_channel;
    task.state = cache.State(layer, piece.to) + first_channel;
    task.row_stride = step.spec.hidden_size;
    task.x = b.query[row] + 2 * step.spec.hidden_size + first_channel;
    task.x_stride = b.query.stride;
    task.out = b.attended[row] + first_channel;
    task.out_stride = b.attended.stride;
    step.kernels.convolution(task);
  }
};

}  // namespace

void ShortConvolution(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                      const ShortConvSpec& conv, int64_t layer, KvCache& cache,
                      BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const Workspace& b = step.buffers;
  const int64_t hidden = step.spec.hidden_size;
  const PackedMatrix& input = step.weights.matrix(conv.input.weights);
  const PackedMatrix& last = step.weights.matrix(conv.output.weights);
  const Operands normed = NormedOperands(step, norm, {&input});
  timer.Next(Operator::kQkv);
  ParallelMultiply(step, input, normed, step.row_count, b.query, /*accumulate=*/false,
                   step.weights.table(conv.input.bias));
  timer.Next(Operator::kRope);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    step.kernels.multiply(b.query[row] + 2 * hidden, b.query[row], hidden);
  });
  timer.Next(Operator::kAttention);
  const int64_t pieces = CeilDivide(hidden, kChannelsPerTask);
  step.threads.ParallelFor(std::ssize(batch.sequences) * pieces, [&](int64_t task, int) {
    const int64_t first = task % pieces * kChannelsPerTask;
    const SequenceSpan& sequence = batch.sequences[static_cast<size_t>(task / pieces)];
    SequenceConvolution{step, conv, sequence, layer, cache}.Run(
        first, std::min(kChannelsPerTask, hidden - first));
  });
  timer.Next(Operator::kAttentionOutput);
  const Operands convolved = b.attention.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    step.kernels.multiply(b.attended[row], b.query[row] + hidden, hidden);
    WriteOperands(step.kernels, {&last}, b.attended[row], hidden, convolved, row);
  });
  output.Add(conv.output, convolved);
}

}  // namespace weft
