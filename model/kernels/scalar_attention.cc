// The definition of attention in the bf16 arithmetic, for one query head at one position, whose
// query is rounded to an operand.
//
// Visible are the positions [first, last], last the query's own, first max(0, last - window + 1) or
// 0. They fall into spans of kAttentionSpan positions from absolute position 0. In a span, over its
// visible slots:
//
//   score     = Dot(query, key) * scale, head_dim padded with zeros to a multiple of 32
//   maximum   = the largest score
//   p         = Exp(score - maximum)
//   sum       = 16 lanes of p, slot j of the span in lane j % 16, folded
//   output[d] = Dot(operand(p), value[.][d]) + 0
//
// where the last Dot runs over all slots of the span, p and value being 0 in those not visible.
// Adding +0 leaves no negative zero, so that groups without a visible slot can be skipped.
//
// Spans are merged in ascending order; the first is taken as it is:
//
//   M' = Max(maximum, M), keep = Exp(M - M'), take = Exp(maximum - M')
//   L  = fma(sum, take, L * keep);  O[d] = fma(output[d], take, O[d] * keep);  M = M'
//
// The result is O[d] / L, float32: what reads it rounds whole rows.
#include "model/kernels/scalar_attention.h"

#include <algorithm>
#include <vector>

#include "model/kernels/kv_page.h"
#include "model/kernels/scalar_math.h"

namespace weft::scalar {
namespace {

// What attention over some of a sequence's positions knows: enough to merge it with others.
struct Partial {
  float maximum = 0;
  float sum = 0;
  std::vector<float> output;
};

// Slots [first, end) of the span that begins at position `base`.
struct VisibleSpan {
  int64_t base;
  int64_t first;
  int64_t end;
};

const uint16_t* PageOf(const AttentionTask& task, int64_t position) {
  const int64_t block = task.block_table[position / task.layout.block_size];
  return reinterpret_cast<const uint16_t*>(task.pages + block * task.page_stride_bytes);
}

float Score(const AttentionTask& task, const std::vector<float>& query, int64_t position) {
  const uint16_t* keys = PageOf(task, position);
  const int64_t slot = position % task.layout.block_size;
  std::vector<float> key(query.size());
  for (int64_t i = 0; i < task.layout.head_dim; ++i) {
    key[static_cast<size_t>(i)] =
        BFloat16ToFloat(keys[(i / 2 * task.layout.block_size + slot) * 2 + i % 2]);
  }
  return Dot(query.data(), key.data(), 1, static_cast<int64_t>(query.size())) * task.scale;
}

void ReadValue(const AttentionTask& task, int64_t position, float* out) {
  const KvLayout& layout = task.layout;
  const uint16_t* values =
      PageOf(task, position) + KeyBytes(layout.block_size, layout.head_dim) / 2;
  const int64_t slot = position % layout.block_size;
  for (int64_t i = 0; i < layout.head_dim; ++i) {
    out[i] = BFloat16ToFloat(values[(slot / 2 * ValueColumns(layout.head_dim) + i) * 2 + slot % 2]);
  }
}

Partial AttendSpan(const AttentionTask& task, const std::vector<float>& query, VisibleSpan span) {
  const int64_t head_dim = task.layout.head_dim;
  std::vector<float> p(kAttentionSpan);
  std::vector<float> values(static_cast<size_t>(kAttentionSpan * head_dim));
  Partial partial;
  partial.maximum = -std::numeric_limits<float>::infinity();
  for (int64_t j = span.first; j < span.end; ++j) {
    p[static_cast<size_t>(j)] = Score(task, query, span.base + j);
    partial.maximum = Max(p[static_cast<size_t>(j)], partial.maximum);
    ReadValue(task, span.base + j, values.data() + j * head_dim);
  }
  Lanes lanes;
  for (int64_t j = span.first; j < span.end; ++j) {
    float& probability = p[static_cast<size_t>(j)];
    probability = Exp(probability - partial.maximum);
    lanes.lane[j % 16] = lanes.lane[j % 16] + probability;
    probability = RoundToOperand(probability);
  }
  partial.sum = lanes.Fold();
  for (int64_t d = 0; d < head_dim; ++d) {
    partial.output.push_back(Dot(p.data(), values.data() + d, head_dim, kAttentionSpan) + 0.0F);
  }
  return partial;
}

void Merge(const Partial& next, Partial& total) {
  const float maximum = Max(next.maximum, total.maximum);
  const float keep = Exp(total.maximum - maximum);
  const float take = Exp(next.maximum - maximum);
  total.maximum = maximum;
  total.sum = FusedMultiplyAdd(next.sum, take, total.sum * keep);
  for (size_t d = 0; d < total.output.size(); ++d) {
    total.output[d] = FusedMultiplyAdd(next.output[d], take, total.output[d] * keep);
  }
}

void AttendHead(const AttentionTask& task, int64_t row, int64_t head) {
  const int64_t head_dim = task.layout.head_dim;
  std::vector<float> query(static_cast<size_t>(OperandGroups(head_dim) * kGroupColumns));
  for (int64_t i = 0; i < head_dim; ++i) {
    query[static_cast<size_t>(i)] =
        RoundToOperand(task.query[row * task.query_stride + head * head_dim + i]);
  }
  const int64_t last = task.first_position + row;
  const int64_t first =
      task.sliding_window > 0 ? std::max<int64_t>(0, last - task.sliding_window + 1) : 0;
  Partial total;
  for (int64_t base = first / kAttentionSpan * kAttentionSpan; base <= last;
       base += kAttentionSpan) {
    const VisibleSpan span = {base, std::max(first - base, int64_t{0}),
                              std::min(last + 1 - base, kAttentionSpan)};
    Partial partial = AttendSpan(task, query, span);
    if (total.output.empty()) {
      total = std::move(partial);
    } else {
      Merge(partial, total);
    }
  }
  float* out = task.out + row * task.out_stride + head * head_dim;
  for (int64_t d = 0; d < head_dim; ++d) {
    out[d] = total.output[static_cast<size_t>(d)] / total.sum;
  }
}

}  // namespace

int64_t AttentionScratchBytes(const KvLayout& /*layout*/, int64_t /*query_rows*/) { return 0; }

void WriteBF16(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
               const float* value) {
  auto* keys = reinterpret_cast<uint16_t*>(page);
  auto* values = reinterpret_cast<uint16_t*>(page + KeyBytes(layout.block_size, layout.head_dim));
  const int64_t value_columns = ValueColumns(layout.head_dim);
  for (int64_t i = 0; i < layout.head_dim; ++i) {
    keys[(i / 2 * layout.block_size + slot) * 2 + i % 2] = OperandBits(key[i]);
    values[(slot / 2 * value_columns + i) * 2 + slot % 2] = OperandBits(value[i]);
  }
}

void AttentionBF16(const AttentionTask& task) {
  for (int64_t row = 0; row < task.row_count; ++row) {
    for (int64_t head = 0; head < task.heads; ++head) AttendHead(task, row, head);
  }
}

}  // namespace weft::scalar
