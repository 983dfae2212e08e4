// The definition of attention, for one query head at one position.
//
// Visible are the positions [FirstVisible, EndVisible). They fall into spans of kAttentionSpan
// positions from absolute position 0. In a span, over its visible slots:
//
//   maximum   = the largest score
//   p         = Exp(score - maximum)
//   sum       = 16 lanes of p, slot j of the span in lane j % 16, folded
//
// In a bf16 cache keys and values are rounded to operands, and so is the query:
//
//   score     = Dot(query, key) * scale, key_dim padded with zeros to a multiple of 32
//   output[d] = Dot(operand(p), value[.][d]) + 0
//
// where the last Dot runs over all slots of the span, p and value being 0 in those not visible.
// Adding +0 leaves no negative zero, so that groups without a visible slot can be skipped.
//
// In an 8-bit cache a key is rotated (Rotated) and then codes of up to kQ8Limit with one scale
// (ScaleOfCodes), and so is a value, which is not rotated; the query is rotated, and codes of up to
// kQ8FactorLimit with one scale; dots of codes are exact integers, rounded once to float32:
//
//   score     = dot(query codes, key codes) * (query scale * (scale / RotationBlock)) * key scale
//   w         = p * value scale
//   output[d] = dot(codes of w, value codes[.][d]) * scale of w
//
// where the w of the span's visible slots become codes of up to kQ8FactorLimit with one scale.
//
// A value that is in its key (KvLayout::value_in_key) has the key's codes and scale.
//
// A task may adjust its scores before anything is made of them, in this order:
//
//   score     = soft_cap * Tanh(score / soft_cap)
//   score     = fma(slope, 0 - |key's position - query's position|, score)
//   score     = score + what the head has for the key's position - query's position
//
// Spans are merged in ascending order; the first is taken as it is:
//
//   M' = Max(maximum, M), keep = Exp(M - M'), take = Exp(maximum - M')
//   L  = fma(sum, take, L * keep);  O[d] = fma(output[d], take, O[d] * keep);  M = M'
//
// A sink is merged last of all, as a span with its score as the maximum, the sum 1 and the output
// 0.
//
// The result is O[d] / L, float32: what reads it rounds whole rows.
#include "model/kernels/scalar_attention.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/kernels/kv_page.h"
#include "model/kernels/scalar_math.h"

namespace weft::scalar {
namespace {

// What attention over some of a sequence's positions knows: enough to merge it with others.
struct Partial {
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0;
  std::vector<float> output;
};

// Slots [first, end) of the span that begins at position `base`.
struct VisibleSpan {
  int64_t base;
  int64_t first;
  int64_t end;
};

const std::byte* PageOf(const AttentionTask& task, int64_t position) {
  const int64_t block = task.block_table[position / task.layout.block_size];
  return task.pages + block * task.page_stride_bytes;
}

// Where element i of the key in a slot is among a page's keys, and of the value among its values.
int64_t KeyElement(const KvLayout& layout, int64_t slot, int64_t i) {
  return (i / 2 * layout.block_size + slot) * 2 + i % 2;
}
int64_t ValueElement(const KvLayout& layout, int64_t slot, int64_t i) {
  return (slot / 2 * ValueColumns(layout.value_dim) + i) * 2 + slot % 2;
}

// One query head with a bf16 cache.
class HeadBF16 {
 public:
  HeadBF16(const AttentionTask& task, const float* query)
      : task_(task),
        query_(static_cast<size_t>(OperandGroups(task.layout.key_dim) * kGroupColumns)) {
    for (int64_t i = 0; i < task.layout.key_dim; ++i) {
      query_[static_cast<size_t>(i)] = RoundToOperand(query[i]);
    }
  }

  float Score(int64_t position) const {
    const auto* keys = reinterpret_cast<const uint16_t*>(PageOf(task_, position));
    const int64_t slot = position % task_.layout.block_size;
    std::vector<float> key(query_.size());
    for (int64_t i = 0; i < task_.layout.key_dim; ++i) {
      key[static_cast<size_t>(i)] = BFloat16ToFloat(keys[KeyElement(task_.layout, slot, i)]);
    }
    return Dot(query_.data(), key.data(), 1, std::ssize(query_)) * task_.scale;
  }

  // `p` holds the probabilities of all slots of the span.
  std::vector<float> Output(const VisibleSpan& span, std::vector<float> p) const {
    std::vector<float> values(static_cast<size_t>(kAttentionSpan * value_dim()));
    for (int64_t j = span.first; j < span.end; ++j) {
      p[static_cast<size_t>(j)] = RoundToOperand(p[static_cast<size_t>(j)]);
      ReadValue(span.base + j, values.data() + j * value_dim());
    }
    std::vector<float> output;
    for (int64_t d = 0; d < value_dim(); ++d) {
      output.push_back(Dot(p.data(), values.data() + d, value_dim(), kAttentionSpan) + 0.0F);
    }
    return output;
  }

 private:
  int64_t value_dim() const { return task_.layout.value_dim; }

  void ReadValue(int64_t position, float* out) const {
    const KvLayout& layout = task_.layout;
    const std::byte* page = PageOf(task_, position);
    const auto* keys = reinterpret_cast<const uint16_t*>(page);
    const auto* values =
        reinterpret_cast<const uint16_t*>(page + KeyBytes(layout.block_size, layout.key_dim));
    const int64_t slot = position % layout.block_size;
    for (int64_t i = 0; i < layout.value_dim; ++i) {
      out[i] = BFloat16ToFloat(layout.value_in_key ? keys[KeyElement(layout, slot, i)]
                                                   : values[ValueElement(layout, slot, i)]);
    }
  }

  const AttentionTask& task_;
  std::vector<float> query_;
};

// Codes of n numbers, and their scale.
struct Codes {
  float scale = 0;
  std::vector<int32_t> codes;
};

Codes Quantize(const float* x, int64_t n, float limit) {
  int32_t largest = 0;  // magnitudes are ordered like their bits, NaN above all
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::bit_cast<int32_t>(x[i]) & 0x7fffffff);
  }
  const CodeScale scale = ScaleOfCodes(largest, limit);
  Codes result{scale.scale, std::vector<int32_t>(static_cast<size_t>(n))};
  if (scale.inverse == 0) return result;
  constexpr float kShift = 0x1.8p23F;  // adding it leaves no room for a fraction
  for (int64_t i = 0; i < n; ++i) {
    const float rounded = (x[i] * scale.inverse + kShift) - kShift;
    result.codes[static_cast<size_t>(i)] = static_cast<int32_t>(rounded);
  }
  return result;
}

// Each block of RotationBlock elements times the Hadamard matrix, by butterflies: of elements 1, 2,
// 4 ... apart the sum takes the place of the first, the difference that of the second.
std::vector<float> Rotated(const KvLayout& layout, const float* x) {
  std::vector<float> result(x, x + layout.key_dim);
  for (int64_t distance = 1; distance < RotationBlock(layout); distance *= 2) {
    for (int64_t i = 0; i < layout.key_dim; ++i) {
      if ((i & distance) != 0) continue;
      float& first = result[static_cast<size_t>(i)];
      float& second = result[static_cast<size_t>(i + distance)];
      const float sum = first + second;
      second = first - second;
      first = sum;
    }
  }
  return result;
}

float ReadFloat(const std::byte* p) {
  float value = 0;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

// One query head with an 8-bit cache.
class HeadQ8 {
 public:
  HeadQ8(const AttentionTask& task, const float* query)
      : task_(task),
        parts_(LayoutQ8(task.layout)),
        query_(Quantize(Rotated(task.layout, query).data(), task.layout.key_dim, kQ8FactorLimit)),
        query_factor_(query_.scale *
                      (task.scale / static_cast<float>(RotationBlock(task.layout)))) {}

  float Score(int64_t position) const {
    const std::byte* page = PageOf(task_, position);
    const auto* keys = reinterpret_cast<const int8_t*>(page);
    const int64_t slot = position % task_.layout.block_size;
    int32_t dot = 0;
    for (int64_t i = 0; i < task_.layout.key_dim; ++i) {
      dot += query_.codes[static_cast<size_t>(i)] * keys[KeyElement(task_.layout, slot, i)];
    }
    const float key_scale = ReadFloat(page + parts_.key_scales + slot * 4);
    return static_cast<float>(dot) * query_factor_ * key_scale;
  }

  std::vector<float> Output(const VisibleSpan& span, std::vector<float> p) const {
    const KvLayout& layout = task_.layout;
    for (int64_t j = span.first; j < span.end; ++j) {
      const int64_t position = span.base + j;
      const float value_scale = ReadFloat(PageOf(task_, position) + parts_.value_scales +
                                          position % layout.block_size * 4);
      p[static_cast<size_t>(j)] = p[static_cast<size_t>(j)] * value_scale;
    }
    const Codes weights = Quantize(p.data(), kAttentionSpan, kQ8FactorLimit);
    std::vector<float> output;
    for (int64_t d = 0; d < layout.value_dim; ++d) {
      int32_t dot = 0;
      for (int64_t j = span.first; j < span.end; ++j) {
        dot += weights.codes[static_cast<size_t>(j)] * ValueCode(span.base + j, d);
      }
      output.push_back(static_cast<float>(dot) * weights.scale);
    }
    return output;
  }

 private:
  int32_t ValueCode(int64_t position, int64_t d) const {
    const KvLayout& layout = task_.layout;
    const int64_t slot = position % layout.block_size;
    const auto* codes = reinterpret_cast<const int8_t*>(PageOf(task_, position));
    return layout.value_in_key ? codes[KeyElement(layout, slot, d)]
                               : codes[parts_.values + ValueElement(layout, slot, d)];
  }

  const AttentionTask& task_;
  PageQ8 parts_;
  Codes query_;
  float query_factor_;
};

// Which query of a task.
struct QueryRow {
  int64_t position;
  int64_t head;
};

float Adjust(const AttentionTask& task, QueryRow row, int64_t key_position, float score) {
  if (task.soft_cap > 0) score = SoftCap(score, task.soft_cap);
  if (task.slopes != nullptr) {
    const auto distance = static_cast<float>(std::abs(key_position - row.position));
    score = FusedMultiplyAdd(task.slopes[row.head], 0.0F - distance, score);
  }
  if (task.distance_bias != nullptr) {
    const float* bias = task.distance_bias + row.head * DistanceBiasFloats(task.bias_reach);
    score = score + bias[DistanceBiasAt(task.bias_reach, key_position - row.position)];
  }
  return score;
}

template <typename Head>
Partial AttendSpan(const AttentionTask& task, const Head& head, QueryRow row, VisibleSpan span) {
  std::vector<float> p(kAttentionSpan);
  Partial partial;
  for (int64_t j = span.first; j < span.end; ++j) {
    p[static_cast<size_t>(j)] = Adjust(task, row, span.base + j, head.Score(span.base + j));
    partial.maximum = Max(p[static_cast<size_t>(j)], partial.maximum);
  }
  Lanes lanes;
  for (int64_t j = span.first; j < span.end; ++j) {
    float& probability = p[static_cast<size_t>(j)];
    probability = Exp(probability - partial.maximum);
    lanes.lane[j % 16] = lanes.lane[j % 16] + probability;
  }
  partial.sum = lanes.Fold();
  partial.output = head.Output(span, std::move(p));
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

template <typename Head>
void AttendHead(const AttentionTask& task, int64_t row, int64_t head_index) {
  const KvLayout& layout = task.layout;
  const Head head(task, task.query + row * task.query_stride + head_index * layout.key_dim);
  const int64_t position = task.first_position + row;
  const int64_t first = FirstVisible(position, task.sliding_window, task.chunk);
  const int64_t end = EndVisible(position, task.lookahead, task.length);
  Partial total;
  for (int64_t base = first / kAttentionSpan * kAttentionSpan; base < end; base += kAttentionSpan) {
    const VisibleSpan span = {base, std::max(first - base, int64_t{0}),
                              std::min(end - base, kAttentionSpan)};
    Partial partial = AttendSpan(task, head, {position, head_index}, span);
    if (total.output.empty()) {
      total = std::move(partial);
    } else {
      Merge(partial, total);
    }
  }
  if (task.sinks != nullptr) {
    Merge({task.sinks[head_index], 1, std::vector<float>(total.output.size())}, total);
  }
  float* out = task.out + row * task.out_stride + head_index * layout.value_dim;
  for (const float value : total.output) *out++ = value / total.sum;
}

template <typename Head>
void AttendAll(const AttentionTask& task) {
  for (int64_t row = 0; row < task.row_count; ++row) {
    for (int64_t head = 0; head < task.heads; ++head) AttendHead<Head>(task, row, head);
  }
}

}  // namespace

int64_t AttentionScratchBytes(const KvLayout& /*layout*/, int64_t /*query_rows*/) { return 0; }

void WriteBF16(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
               const float* value) {
  auto* keys = reinterpret_cast<uint16_t*>(page);
  auto* values = reinterpret_cast<uint16_t*>(page + KeyBytes(layout.block_size, layout.key_dim));
  for (int64_t i = 0; i < layout.key_dim; ++i) {
    keys[KeyElement(layout, slot, i)] = OperandBits(key[i]);
  }
  if (layout.value_in_key) return;
  for (int64_t i = 0; i < layout.value_dim; ++i) {
    values[ValueElement(layout, slot, i)] = OperandBits(value[i]);
  }
}

void AttentionBF16(const AttentionTask& task) { AttendAll<HeadBF16>(task); }

void WriteQ8(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
             const float* value) {
  const PageQ8 parts = LayoutQ8(layout);
  auto* keys = reinterpret_cast<int8_t*>(page);
  const Codes key_codes = Quantize(Rotated(layout, key).data(), layout.key_dim, kQ8Limit);
  for (int64_t i = 0; i < layout.key_dim; ++i) {
    const int32_t code = key_codes.codes[static_cast<size_t>(i)];
    keys[KeyElement(layout, slot, i)] = static_cast<int8_t>(code);
  }
  std::memcpy(page + parts.key_scales + slot * 4, &key_codes.scale, 4);
  if (layout.value_in_key) return;
  auto* values = reinterpret_cast<int8_t*>(page + parts.values);
  const Codes value_codes = Quantize(value, layout.value_dim, kQ8Limit);
  for (int64_t i = 0; i < layout.value_dim; ++i) {
    const int32_t code = value_codes.codes[static_cast<size_t>(i)];
    values[ValueElement(layout, slot, i)] = static_cast<int8_t>(code);
  }
  std::memcpy(page + parts.value_scales + slot * 4, &value_codes.scale, 4);
}

void AttentionQ8(const AttentionTask& task) { AttendAll<HeadQ8>(task); }

}  // namespace weft::scalar
