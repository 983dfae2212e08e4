#include "model/blocks/convolution.h"

#include <algorithm>

#include "model/blocks/state_pieces.h"

namespace weft {
namespace {

// Channels of one task.
constexpr int64_t kChannelsPerTask = 256;

// One sequence's rows through some channels.
struct SequenceConvolution {
  const Step& step;
  const ConvolvedRows& rows;
  const SequenceSpan& sequence;
  const int64_t layer;
  KvCache& cache;

  void Run(int64_t first_channel, int64_t channel_count) const {
    ForEachStatePiece(sequence, sequence.block_tables[cache.state_group()], cache.block_size(),
                      [&](const StatePiece& piece) {
                        CarryState(piece, StateIn(piece.from, first_channel),
                                   StateIn(piece.to, first_channel), rows.width - 1,
                                   rows.channel_count, channel_count);
                        Convolve(piece, first_channel, channel_count);
                      });
  }

 private:
  float* StateIn(int32_t block, int64_t first_channel) const {
    return block == kNoBlock ? nullptr : cache.State(layer, block) + first_channel;
  }

  void Convolve(const StatePiece& piece, int64_t first_channel, int64_t channel_count) const {
    ConvolutionTask task;
    task.width = rows.width;
    task.channel_count = channel_count;
    task.position_count = piece.row_count;
    task.weight = rows.weight + first_channel;
    task.bias = rows.bias == nullptr ? nullptr : rows.bias + first_channel;
    task.state = StateIn(piece.to, first_channel);
    task.row_stride = rows.channel_count;
    task.x = rows.x[piece.first_row] + first_channel;
    task.x_stride = rows.x.stride;
    task.out = rows.out[piece.first_row] + first_channel;
    task.out_stride = rows.out.stride;
    step.kernels.convolution(task);
  }
};

}  // namespace

void Convolve(const Step& step, const ForwardBatch& batch, const ConvolvedRows& rows, int64_t layer,
              KvCache& cache) {
  const int64_t pieces = CeilDivide(rows.channel_count, kChannelsPerTask);
  step.threads.ParallelFor(std::ssize(batch.sequences) * pieces, [&](int64_t task, int) {
    const int64_t first = task % pieces * kChannelsPerTask;
    const SequenceSpan& sequence = batch.sequences[static_cast<size_t>(task / pieces)];
    SequenceConvolution{step, rows, sequence, layer, cache}.Run(
        first, std::min(kChannelsPerTask, rows.channel_count - first));
  });
}

}  // namespace weft
