#include "model/blocks/cross_attention.h"

#include "model/blocks/attention.h"
#include "model/state.h"

namespace weft {
namespace {

void KeepSource(const Step& step, const ForwardBatch& sources, const AttentionSpec& attention,
                int64_t layer, KvCache& cache) {
  const Workspace& b = step.buffers;
  const PackedMatrix& key = step.weights.matrix(attention.key.weights);
  const PackedMatrix& value = step.weights.matrix(attention.value.weights);
  const Operands hidden = NormedOperands(step, step.spec.head.norm, {&key, &value});
  ParallelMultiply(step, key, hidden, step.row_count, b.key);
  ParallelMultiply(step, value, hidden, step.row_count, b.value);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    AddBias(step, attention.key, attention.key_size(), b.key[row]);
    AddBias(step, attention.value, attention.value_size(), b.value[row]);
    WriteToCache(step, sources, attention, row, b.key[row], b.value[row], layer, cache);
  });
}

}  // namespace

void KeepSources(const Step& step, const ForwardBatch& sources, const ModelSpec& decoder,
                 KvCache& cache) {
  const OperatorTimer timer(step.profile, Operator::kQkv);
  for (int64_t i = 0; i < decoder.layer_count(); ++i) {
    const LayerSpec& layer = decoder.layers[static_cast<size_t>(i)];
    KeepSource(step, sources, *layer.cross, FirstCrossLayer(decoder) + i, cache);
  }
}

void CrossAttention(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                    const AttentionSpec& attention, int64_t layer, KvCache& cache,
                    BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const Workspace& b = step.buffers;
  const PackedMatrix& query = step.weights.matrix(attention.query.weights);
  const Operands normed = NormedOperands(step, norm, {&query});
  timer.Next(Operator::kQkv);
  ParallelMultiply(step, query, normed, step.row_count, b.query);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    AddBias(step, attention.query, attention.query_size(), b.query[row]);
  });
  timer.Next(Operator::kAttention);
  Attend(step, batch, attention, layer, cache);
  timer.Next(Operator::kAttentionOutput);
  AddAttended(step, attention, output);
}

}  // namespace weft
