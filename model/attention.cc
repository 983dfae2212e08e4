#include "model/attention.h"

#include <array>
#include <cmath>

#include "model/kernels/kv_page.h"
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
  const int64_t each = PanelsPerTask(panels, kPanelRows * weights.query.columns, step.row_count,
                                     step.threads.thread_count());
  std::array<int64_t, 4> first_task = {};
  for (size_t i = 0; i < products.size(); ++i) {
    first_task[i + 1] = first_task[i] + CeilDivide(products[i].weights.panel_count(), each);
  }
  ParallelPanelTasks(step.threads, first_task.back(), [&](int64_t task, int) {
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

// Some consecutive rows of a sequence, the query heads of one kv head.
AttentionTask TaskFor(const Step& step, const ForwardBatch& batch, const AttentionRows& rows,
                      int64_t kv_head, int64_t layer, int thread, KvCache& cache) {
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
  return task;
}

// All tasks and pieces, then what the pieces make together.
void Attend(const Step& step, const ForwardBatch& batch, int64_t layer, KvCache& cache) {
  const KernelTable& kernels = step.kernels;
  const Workspace& b = step.buffers;
  const int64_t heads = step.config.kv_head_count;
  step.threads.ParallelFor(std::ssize(b.attention_tasks) * heads, [&](int64_t i, int thread) {
    const AttentionRows& rows = b.attention_tasks[static_cast<size_t>(i / heads)];
    const AttentionTask task = TaskFor(step, batch, rows, i % heads, layer, thread, cache);
    if (rows.span_count == 0) {
      kernels.attention(task);
    } else {
      kernels.attend_spans(task, rows.first_span, rows.span_count,
                           b.attention_partials + rows.partials + i % heads * rows.head_partials);
    }
  });
  if (b.cut_attention.empty()) return;
  step.threads.ParallelFor(std::ssize(b.cut_attention) * heads, [&](int64_t i, int thread) {
    const AttentionRows& rows = b.cut_attention[static_cast<size_t>(i / heads)];
    const AttentionTask task = TaskFor(step, batch, rows, i % heads, layer, thread, cache);
    kernels.merge_spans(task, rows.first_span,
                        b.attention_partials + rows.partials + i % heads * rows.head_partials);
  });
}

// The spans that these rows see.
void FindSpans(const Step& step, const ForwardBatch& batch, AttentionRows& rows) {
  const int64_t first_position = batch.positions[static_cast<size_t>(rows.first_row)];
  const int64_t window = step.config.sliding_window;
  const int64_t first = window > 0 ? std::max<int64_t>(0, first_position - window + 1) : 0;
  rows.first_span = first / kAttentionSpan;
  rows.span_count = (first_position + rows.row_count - 1) / kAttentionSpan + 1 - rows.first_span;
}

// Cuts row blocks that are more than their share of the step's attention into pieces of some spans
// each, while there is memory for their partial results. Merging goes over the spans one by one, so
// that the result is the same whichever are cut.
void CutLongTasks(const Step& step, const ForwardBatch& batch) {
  constexpr int64_t kMinSpansPerPiece = 2;
  Workspace& b = step.buffers;
  const ModelConfig& config = step.config;
  if (b.attention_partial_floats == 0) return;
  int64_t work = 0;  // in spans of one row and kv head
  for (AttentionRows& rows : b.attention_tasks) {
    FindSpans(step, batch, rows);
    work += rows.row_count * rows.span_count * config.kv_head_count;
  }
  const int64_t share =
      CeilDivide(work, Workspace::kAttentionTasksPerThread * step.threads.thread_count());
  const int64_t query_heads = config.head_count / config.kv_head_count;
  int64_t used_floats = 0;
  const size_t block_count = b.attention_tasks.size();
  for (size_t i = 0; i < block_count; ++i) {
    AttentionRows whole = b.attention_tasks[i];
    b.attention_tasks[i].span_count = 0;
    const int64_t pieces = std::min(CeilDivide(whole.row_count * whole.span_count, share),
                                    whole.span_count / kMinSpansPerPiece);
    const int64_t span_floats =
        whole.row_count * query_heads * AttentionPartialFloats(config.head_dim);
    whole.partials = used_floats;
    whole.head_partials = whole.span_count * span_floats;
    const int64_t floats = whole.head_partials * config.kv_head_count;
    if (pieces < 2 || used_floats + floats > b.attention_partial_floats) continue;
    used_floats += floats;
    b.cut_attention.push_back(whole);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      AttentionRows part = whole;
      const int64_t first = whole.span_count * piece / pieces;
      part.first_span = whole.first_span + first;
      part.span_count = whole.span_count * (piece + 1) / pieces - first;
      part.partials = whole.partials + first * span_floats;
      if (piece == 0) {
        b.attention_tasks[i] = part;
      } else {
        b.attention_tasks.push_back(part);
      }
    }
  }
}

}  // namespace

void PrepareAttention(const Step& step, const ForwardBatch& batch,
                      const std::vector<double>& rope_frequencies) {
  const OperatorTimer timer(step.profile, Operator::kRope);
  Workspace& b = step.buffers;
  b.attention_tasks.clear();
  b.cut_attention.clear();
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSpan& sequence = batch.sequences[i];
    for (int32_t row = 0; row < sequence.row_count; ++row) {
      b.row_sequence[static_cast<size_t>(sequence.first_row + row)] = static_cast<int32_t>(i);
    }
    constexpr auto kRows = static_cast<int32_t>(Workspace::kRowsPerAttentionTask);
    for (int32_t row = 0; row < sequence.row_count; row += kRows) {
      AttentionRows rows;
      rows.sequence = static_cast<int32_t>(i);
      rows.first_row = sequence.first_row + row;
      rows.row_count = std::min(kRows, sequence.row_count - row);
      b.attention_tasks.push_back(rows);
    }
  }
  CutLongTasks(step, batch);
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
  Attend(step, batch, layer, cache);
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
