#include "model/blocks/short_conv.h"

#include "model/blocks/convolution.h"

namespace weft {

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
  Convolve(step, batch,
           {.width = conv.width,
            .channel_count = hidden,
            .weight = step.weights.table(conv.weight),
            .bias = step.weights.table(conv.bias),
            .x = {b.query.data + 2 * hidden, b.query.stride},
            .out = b.attended},
           layer, cache);
  timer.Next(Operator::kAttentionOutput);
  const Operands convolved = b.attention.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    step.kernels.multiply(b.attended[row], b.query[row] + hidden, hidden);
    WriteOperands(step.kernels, {&last}, b.attended[row], hidden, convolved, row);
  });
  output.Add(conv.output, convolved);
}

}  // namespace weft
