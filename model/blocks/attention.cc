#include "model/blocks/attention.h"

#include <algorithm>
#include <span>

#include "base/exact_math.h"
#include "model/blocks/products.h"
#include "model/kernels/kv_page.h"
#include "model/rope.h"

namespace weft {
namespace {

// Where the gates of what attention gives are, behind the queries.
FloatRows OutputGates(const Step& step, const AttentionSpec& attention) {
  const FloatRows& queries = step.buffers.query;
  return {queries.data + attention.query_size(), queries.stride};
}

// Bias and clipping of one row of a projection.
void FinishProjection(const Step& step, const LinearSpec& linear, float clip, int64_t width,
                      float* x) {
  AddBias(step, linear, width, x);
  if (clip > 0) {
    for (int64_t i = 0; i < width; ++i) x[i] = std::min(std::max(x[i], -clip), clip);
  }
}

// Norm of one row's query or key heads.
void NormHeads(const Step& step, const AttentionSpec& attention, const NormSpec& norm,
               int64_t head_count, float* heads) {
  if (!norm) return;
  const int64_t head_dim = attention.key_dim;
  if (attention.head_norm == HeadNorm::kAllHeads) {
    step.Norm(norm, heads, head_count * head_dim, heads);
    return;
  }
  const bool own_weights = attention.head_norm == HeadNorm::kEachHeadOwn;
  for (int64_t i = 0; i < head_count; ++i) {
    float* head = heads + i * head_dim;
    step.Norm(norm, head, head_dim, head, own_weights ? i * head_dim : 0);
  }
}

void RotateHeads(const Step& step, const AttentionSpec& attention, int64_t row, int64_t head_count,
                 float* heads) {
  if (attention.rope == AttentionSpec::kNoRope) return;
  for (int64_t i = 0; i < head_count; ++i) {
    RotateHead(step, attention.rope, row, heads + i * attention.key_dim);
  }
}

void ScaleQueries(const Step& step, const AttentionSpec& attention, int64_t position,
                  float* queries) {
  const QueryScaleSpec& by = attention.query_scale;
  if (by.scale == 0) return;
  const int64_t steps = (position + by.offset) / by.length;
  const double factor =
      1 + static_cast<double>(by.scale) * exact::Log(1 + static_cast<double>(steps));
  step.kernels.scale(queries, static_cast<float>(factor), attention.query_size());
}

// From one row's projection to its query or key heads.
void FinishHeads(const Step& step, const AttentionSpec& attention, int64_t row,
                 const LinearSpec& linear, const NormSpec& norm, int64_t head_count, float* heads) {
  FinishProjection(step, linear, attention.clip, head_count * attention.key_dim, heads);
  if (!attention.norms_after_rope) NormHeads(step, attention, norm, head_count, heads);
  RotateHeads(step, attention, row, head_count, heads);
  if (attention.norms_after_rope) NormHeads(step, attention, norm, head_count, heads);
}

// From one row's projection, or from what its keys are before they are normed, to its values.
void FinishValues(const Step& step, const AttentionSpec& attention, int64_t row) {
  float* values = step.buffers.value[row];
  if (attention.values_are_keys) std::copy_n(step.buffers.key[row], attention.value_size(), values);
  FinishProjection(step, attention.value, attention.clip, attention.value_size(), values);
  if (!attention.value_norm) return;
  for (int64_t i = 0; i < attention.kv_head_count; ++i) {
    float* head = values + i * attention.value_dim;
    step.Norm(attention.value_norm, head, attention.value_dim, head);
  }
}

// A layer's attention: its tasks are those of its plan, once a group of heads.
struct LayerAttention {
  const Step& step;
  const ForwardBatch& batch;
  const AttentionSpec& spec;
  const int64_t layer;
  KvCache& cache;

  // Some consecutive rows of a sequence, the query heads of one group.
  AttentionTask TaskFor(const AttentionRows& rows, int64_t group, int thread) const {
    const Workspace& b = step.buffers;
    const SequenceSpan& sequence = batch.sequences[static_cast<size_t>(rows.sequence)];
    AttentionTask task;
    task.layout = cache.layout(layer);
    task.pages = cache.Pages(layer, group * spec.kv_head_count / spec.group_count());
    task.page_stride_bytes = cache.page_stride_bytes(layer);
    task.block_table = sequence.block_tables[cache.group(layer)].data();
    task.first_position = batch.positions[static_cast<size_t>(rows.first_row)];
    task.row_count = rows.row_count;
    task.sliding_window = spec.window;
    task.chunk = spec.chunk;
    task.lookahead = spec.lookahead;
    task.length = sequence.first_position + sequence.row_count;
    if (spec.reads_source) {  // where a row stands makes no difference
      task.first_position = 0;
      task.lookahead = task.length = sequence.source_count;
    }
    task.heads = spec.heads_per_group();
    task.scale = spec.scale;
    task.soft_cap = spec.score.soft_cap;
    task.slopes = OfHeads(spec.score.slopes, group * task.heads);
    task.bias_reach = spec.score.bias_reach;
    task.distance_bias =
        OfHeads(spec.score.distance_bias, group * task.heads * DistanceBiasFloats(task.bias_reach));
    task.sinks = OfHeads(spec.score.sinks, group * task.heads);
    task.query = b.query[rows.first_row] + group * task.heads * spec.key_dim;
    task.query_stride = b.query.stride;
    task.out = b.attended[rows.first_row] + group * task.heads * spec.value_dim;
    task.out_stride = b.attended.stride;
    task.scratch = b.attention_scratch(thread);
    return task;
  }

  // What a table has from `first` on, for this task's heads; nullptr: there is no such table.
  const float* OfHeads(TableId table, int64_t first) const {
    const float* values = step.weights.table(table);
    return values == nullptr ? nullptr : values + first;
  }

  float* PartialsOf(const AttentionRows& rows, int64_t group) const {
    return step.buffers.attention_partials + rows.partials + group * rows.group_partials;
  }

  // All tasks and pieces, then what the pieces make together. A group's lie together: whoever has
  // neighbours reads the same keys and values.
  void Run() const {
    const KernelTable& kernels = step.kernels;
    const AttentionPlan& plan = step.buffers.PlanFor(spec);
    const int64_t groups = plan.group_count;
    const int64_t task_count = std::ssize(plan.tasks);
    step.threads.ParallelFor(groups * task_count, [&](int64_t i, int thread) {
      const AttentionRows& rows = plan.tasks[static_cast<size_t>(i % task_count)];
      const int64_t group = i / task_count;
      const AttentionTask task = TaskFor(rows, group, thread);
      if (rows.span_count == 0) {
        kernels.attention(task);
      } else {
        kernels.attend_spans(task, rows.first_span, rows.span_count, PartialsOf(rows, group));
      }
    });
    if (plan.cut.empty()) return;
    const int64_t cut_count = std::ssize(plan.cut);
    step.threads.ParallelFor(groups * cut_count, [&](int64_t i, int thread) {
      const AttentionRows& rows = plan.cut[static_cast<size_t>(i % cut_count)];
      const int64_t group = i / cut_count;
      kernels.merge_spans(TaskFor(rows, group, thread), rows.first_span, PartialsOf(rows, group));
    });
  }
};

// Whether this pass has layers for the plan, which may be another's: an encoder's or a decoder's.
bool IsUsed(const ModelSpec& spec, const AttentionPlan& plan) {
  return std::ranges::any_of(spec.layers, [&](const LayerSpec& layer) {
    return (layer.attention.head_count > 0 && plan.IsFor(layer.attention)) ||
           (layer.cross && plan.IsFor(*layer.cross));
  });
}

// The spans that these rows see.
void FindSpans(const ForwardBatch& batch, const AttentionPlan& plan, AttentionRows& rows) {
  const SequenceSpan& sequence = batch.sequences[static_cast<size_t>(rows.sequence)];
  if (plan.reads_source) {
    rows.first_span = 0;
    rows.span_count = CeilDivide(int64_t{sequence.source_count}, kAttentionSpan);
    return;
  }
  const int64_t first_position = batch.positions[static_cast<size_t>(rows.first_row)];
  const int64_t end = EndVisible(first_position + rows.row_count - 1, plan.lookahead,
                                 sequence.first_position + sequence.row_count);
  rows.first_span = FirstVisible(first_position, plan.window, plan.chunk) / kAttentionSpan;
  rows.span_count = (end - 1) / kAttentionSpan + 1 - rows.first_span;
}

// Cuts row blocks that are more than their share of the step's attention into pieces of some spans
// each, while there is memory for their partial results. Merging goes over the spans one by one, so
// that the result is the same whichever are cut.
void CutLongTasks(const Step& step, const ForwardBatch& batch, AttentionPlan& plan) {
  constexpr int64_t kMinSpansPerPiece = 2;
  const int64_t partial_floats = step.buffers.attention_partial_floats;
  if (partial_floats == 0) return;
  int64_t work = 0;  // in spans of one row and group
  for (AttentionRows& rows : plan.tasks) {
    FindSpans(batch, plan, rows);
    work += rows.row_count * rows.span_count * plan.group_count;
  }
  const int64_t share =
      CeilDivide(work, Workspace::kAttentionTasksPerThread * step.threads.thread_count());
  int64_t used_floats = 0;
  const size_t block_count = plan.tasks.size();
  for (size_t i = 0; i < block_count; ++i) {
    AttentionRows whole = plan.tasks[i];
    plan.tasks[i].span_count = 0;
    const int64_t pieces = std::min(CeilDivide(whole.row_count * whole.span_count, share),
                                    whole.span_count / kMinSpansPerPiece);
    const int64_t span_floats =
        whole.row_count * plan.heads_per_group * AttentionPartialFloats(plan.value_dim);
    whole.partials = used_floats;
    whole.group_partials = whole.span_count * span_floats;
    const int64_t floats = whole.group_partials * plan.group_count;
    if (pieces < 2 || used_floats + floats > partial_floats) continue;
    used_floats += floats;
    plan.cut.push_back(whole);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      AttentionRows part = whole;
      const int64_t first = whole.span_count * piece / pieces;
      part.first_span = whole.first_span + first;
      part.span_count = whole.span_count * (piece + 1) / pieces - first;
      part.partials = whole.partials + first * span_floats;
      if (piece == 0) {
        plan.tasks[i] = part;
      } else {
        plan.tasks.push_back(part);
      }
    }
  }
}

void PlanTasks(const Step& step, const ForwardBatch& batch, AttentionPlan& plan) {
  plan.tasks.clear();
  plan.cut.clear();
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSpan& sequence = batch.sequences[i];
    constexpr auto kRows = static_cast<int32_t>(Workspace::kRowsPerAttentionTask);
    for (int32_t row = 0; row < sequence.row_count; row += kRows) {
      AttentionRows rows;
      rows.sequence = static_cast<int32_t>(i);
      rows.first_row = sequence.first_row + row;
      rows.row_count = std::min(kRows, sequence.row_count - row);
      plan.tasks.push_back(rows);
    }
  }
  CutLongTasks(step, batch, plan);
}

}  // namespace

void RotateHead(const Step& step, int rope, int64_t row, float* head) {
  const auto index = static_cast<size_t>(rope);
  const RotationRows& rotation = step.buffers.rotations[index];
  step.kernels.rope(head, rotation.cos[row], rotation.sin[row], step.spec.ropes[index].rotary_dim,
                    step.spec.ropes[index].pairing);
}

void WriteToCache(const Step& step, const ForwardBatch& batch, const AttentionSpec& attention,
                  int64_t row, const float* key, const float* value, int64_t layer,
                  KvCache& cache) {
  const auto index = static_cast<size_t>(row);
  const auto of = static_cast<size_t>(step.buffers.row_sequence[index]);
  const int64_t position = batch.positions[index];
  const std::span<const int32_t> table = batch.sequences[of].block_tables[cache.group(layer)];
  const int32_t block = table[static_cast<size_t>(position / cache.block_size())];
  for (int64_t head = 0; head < attention.kv_head_count; ++head) {
    std::byte* page = cache.Pages(layer, head) + block * cache.page_stride_bytes(layer);
    step.kernels.kv_write(cache.layout(layer), page, position % cache.block_size(),
                          key + head * attention.key_dim, value + head * attention.value_dim);
  }
}

void Attend(const Step& step, const ForwardBatch& batch, const AttentionSpec& attention,
            int64_t layer, KvCache& cache) {
  LayerAttention{step, batch, attention, layer, cache}.Run();
}

void AddAttended(const Step& step, const AttentionSpec& attention, BlockOutput& output) {
  const Workspace& b = step.buffers;
  const PackedMatrix& matrix = step.weights.matrix(attention.output.weights);
  const Operands attended = b.attention.Rows(step.row_count);
  const int64_t size = attention.attended_size();
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int thread) {
    if (attention.output_gate) {
      float* gate = OutputGates(step, attention)[row];
      AddBias(step, attention.output_gate, size, gate);
      step.kernels.sigmoid(gate, size);
      step.kernels.multiply(b.attended[row], gate, size);
    }
    if (attention.multiplier != 1) {
      step.kernels.scale(b.attended[row], attention.multiplier, size);
    }
    const float* x = InColumnOrder(matrix, b.attended[row], b.ordered_row[thread]);
    WriteOperands(step.kernels, {&matrix}, x, size, attended, row);
  });
  output.Add(attention.output, attended);
}

void PrepareAttention(const Step& step, const ForwardBatch& batch,
                      std::span<const std::vector<double>> frequencies) {
  const OperatorTimer timer(step.profile, Operator::kRope);
  Workspace& b = step.buffers;
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSpan& sequence = batch.sequences[i];
    for (int32_t row = 0; row < sequence.row_count; ++row) {
      b.row_sequence[static_cast<size_t>(sequence.first_row + row)] = static_cast<int32_t>(i);
    }
  }
  for (AttentionPlan& plan : b.attention_plans) {
    if (IsUsed(step.spec, plan)) PlanTasks(step, batch, plan);
  }
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    for (size_t i = 0; i < frequencies.size(); ++i) {
      RopeAngles(frequencies[i], step.spec.ropes[i].attention_factor,
                 batch.positions[static_cast<size_t>(row)], b.rotations[i].cos[row],
                 b.rotations[i].sin[row]);
      if (step.spec.ropes[i].is_reversed) {
        step.kernels.scale(b.rotations[i].sin[row], -1, std::ssize(frequencies[i]));
      }
    }
  });
}

void SelfAttention(const Step& step, const ForwardBatch& batch, const NormSpec& norm,
                   const AttentionSpec& attention, int64_t layer, KvCache& cache,
                   BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const Workspace& b = step.buffers;
  Products products(step);
  products.Add(attention.query, b.query);
  products.Add(attention.key, b.key);
  products.Add(attention.value, b.value);
  products.Add(attention.output_gate, OutputGates(step, attention));
  const Operands normed = products.Normed(norm);
  timer.Next(Operator::kQkv);
  products.Multiply(normed);
  timer.Next(Operator::kRope);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    FinishHeads(step, attention, row, attention.query, attention.query_norm, attention.head_count,
                b.query[row]);
    ScaleQueries(step, attention, batch.positions[static_cast<size_t>(row)], b.query[row]);
    if (attention.kv_layer != AttentionSpec::kOwnKv) return;
    FinishValues(step, attention, row);
    FinishHeads(step, attention, row, attention.key, attention.key_norm, attention.kv_head_count,
                b.key[row]);
    WriteToCache(step, batch, attention, row, b.key[row], b.value[row], layer, cache);
  });
  timer.Next(Operator::kAttention);
  Attend(step, batch, attention, layer, cache);
  timer.Next(Operator::kAttentionOutput);
  AddAttended(step, attention, output);
}

}  // namespace weft
