#include "model/attention.h"

#include <array>
#include <cmath>

#include "model/rope.h"

namespace weft {
namespace {

// Query, key and value of all rows: one list of tasks over the panels of the three matrices.
void ProjectQkv(const Step& step, const LayerWeights& weights, const Operands& normed) {
  const Workspace& b = step.buffers;
  struct Product {
    const PackedMatrix& weights;
    FloatRows y;
  };
  const std::array<Product, 3> products = {
      {{weights.query, b.query}, {weights.key, b.key}, {weights.value, b.value}}};
  int64_t panels = 0;
  for (const Product& product : products) panels += product.weights.panel_count();
  const int64_t each = PanelsPerTask(panels, step.threads.thread_count());
  std::array<int64_t, 4> first_task = {};
  for (size_t i = 0; i < products.size(); ++i) {
    first_task[i + 1] = first_task[i] + CeilDivide(products[i].weights.panel_count(), each);
  }
  step.threads.ParallelFor(first_task.back(), [&](int64_t task, int) {
    size_t i = 0;
    while (task >= first_task[i + 1]) ++i;
    const int64_t first = (task - first_task[i]) * each;
    const int64_t count = std::min(each, products[i].weights.panel_count() - first);
    Multiply(step.kernels, products[i].weights, {first, count}, normed, nullptr, step.row_count,
             products[i].y);
  });
}

// Bias, norm and rotation of one row's query or key heads.
void FinishHeads(const Step& step, int64_t row, float* heads, int64_t head_count,
                 const std::vector<float>& bias, const std::vector<float>& norm) {
  const KernelTable& kernels = step.kernels;
  const ModelConfig& config = step.config;
  const int64_t width = head_count * config.head_dim;
  if (!bias.empty()) kernels.add(heads, bias.data(), width);
  if (config.qk_norm == QkNorm::kFullWidth) {
    kernels.rms_norm(heads, norm.data(), width, step.epsilon(), heads);
  }
  for (int64_t i = 0; i < head_count; ++i) {
    float* head = heads + i * config.head_dim;
    if (config.qk_norm == QkNorm::kPerHead) {
      kernels.rms_norm(head, norm.data(), config.head_dim, step.epsilon(), head);
    }
    kernels.rope(head, step.buffers.cos[row], step.buffers.sin[row], config.rope.rotary_dim,
                 config.rope.pairing);
  }
}

void WriteToCache(const Step& step, const ForwardBatch& batch, int64_t row, int64_t layer,
                  KvCache& cache) {
  const Workspace& b = step.buffers;
  const auto index = static_cast<size_t>(row);
  const SequenceSpan& sequence = batch.sequences[static_cast<size_t>(b.row_sequence[index])];
  const int64_t position = batch.positions[index];
  const int32_t block = sequence.block_table[static_cast<size_t>(position / cache.block_size())];
  for (int64_t head = 0; head < step.config.kv_head_count; ++head) {
    std::byte* page = cache.Pages(layer, head) + block * cache.page_stride_bytes();
    step.kernels.kv_write(cache.layout(), page, position % cache.block_size(),
                          b.key[row] + head * step.config.head_dim,
                          b.value[row] + head * step.config.head_dim);
  }
}

// One task: some consecutive rows of a sequence, the query heads of one kv head.
void Attend(const Step& step, const ForwardBatch& batch, const AttentionRows& rows, int64_t kv_head,
            int64_t layer, int thread, KvCache& cache) {
  const ModelConfig& config = step.config;
  const Workspace& b = step.buffers;
  const SequenceSpan& sequence = batch.sequences[static_cast<size_t>(rows.sequence)];
  AttentionTask task;
  task.layout = cache.layout();
  task.pages = cache.Pages(layer, kv_head);
  task.page_stride_bytes = cache.page_stride_bytes();
  task.block_table = sequence.block_table.data();
  task.first_position = batch.positions[static_cast<size_t>(rows.first_row)];
  task.row_count = rows.row_count;
  task.sliding_window = config.sliding_window;
  task.heads = config.head_count / config.kv_head_count;
  task.scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  const int64_t column = kv_head * task.heads * config.head_dim;
  task.query = b.query[rows.first_row] + column;
  task.query_stride = b.query.stride;
  task.out = b.attended[rows.first_row] + column;
  task.out_stride = b.attended.stride;
  task.scratch = b.attention_scratch(thread);
  step.kernels.attention(task);
}

}  // namespace

void PrepareAttention(const Step& step, const ForwardBatch& batch,
                      const std::vector<double>& rope_frequencies) {
  const OperatorTimer timer(step.profile, Operator::kRope);
  Workspace& b = step.buffers;
  b.attention_tasks.clear();
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSpan& sequence = batch.sequences[i];
    for (int32_t row = 0; row < sequence.row_count; ++row) {
      b.row_sequence[static_cast<size_t>(sequence.first_row + row)] = static_cast<int32_t>(i);
    }
    constexpr auto kRows = static_cast<int32_t>(Workspace::kRowsPerAttentionTask);
    for (int32_t row = 0; row < sequence.row_count; row += kRows) {
      b.attention_tasks.push_back({static_cast<int32_t>(i), sequence.first_row + row,
                                   std::min(kRows, sequence.row_count - row)});
    }
  }
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    RopeAngles(rope_frequencies, step.config.rope.attention_factor,
               batch.positions[static_cast<size_t>(row)], b.cos[row], b.sin[row]);
  });
}

void SelfAttention(const Step& step, const ForwardBatch& batch, const LayerWeights& weights,
                   int64_t layer, KvCache& cache) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const ModelConfig& config = step.config;
  const Workspace& b = step.buffers;
  const Operands normed = b.normed.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int thread) {
    step.kernels.rms_norm(b.residual[row], weights.attention_norm.data(), config.hidden_size,
                          step.epsilon(), b.normed_row[thread]);
    WriteOperands(step.kernels, {&weights.query, &weights.key, &weights.value},
                  b.normed_row[thread], config.hidden_size, normed, row);
  });
  timer.Next(Operator::kQkv);
  ProjectQkv(step, weights, normed);
  timer.Next(Operator::kRope);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    FinishHeads(step, row, b.query[row], config.head_count, weights.query_bias, weights.query_norm);
    FinishHeads(step, row, b.key[row], config.kv_head_count, weights.key_bias, weights.key_norm);
    if (!weights.value_bias.empty()) {
      step.kernels.add(b.value[row], weights.value_bias.data(), config.kv_size());
    }
    WriteToCache(step, batch, row, layer, cache);
  });
  timer.Next(Operator::kAttention);
  step.threads.ParallelFor(std::ssize(b.attention_tasks) * config.kv_head_count, [&](int64_t task,
                                                                                     int thread) {
    const auto rows = static_cast<size_t>(task / config.kv_head_count);
    Attend(step, batch, b.attention_tasks[rows], task % config.kv_head_count, layer, thread, cache);
  });
  timer.Next(Operator::kAttentionOutput);
  const Operands attention = b.attention.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    WriteOperands(step.kernels, {&weights.attention_output}, b.attended[row], config.query_size(),
                  attention, row);
  });
  ParallelMultiply(step, weights.attention_output, attention, step.row_count, b.residual,
                   /*accumulate=*/true);
}

}  // namespace weft
