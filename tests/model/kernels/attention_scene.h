// One sequence's attention, for tests: a cache with its blocks in random order among NaN, tasks
// over it, and what they should come to in double precision.
#pragma once

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "model/kernels/kv_page.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/kernels/tables_here.h"

namespace weft {

struct AttentionShape {
  int64_t key_dim;
  int64_t heads;
  int64_t block_size;
  int64_t first_position;
  int64_t row_count;
  int64_t sliding_window = 0;
  int64_t chunk = 0;
  float soft_cap = 0;
  bool has_slopes = false;
  int64_t bias_reach = 0;  // 0: no bias by distance
  bool has_sinks = false;
  int64_t other_value_dim = 0;  // 0: values are as long as keys
  bool value_in_key = false;
  int64_t lookahead = 0;
  int64_t behind = 0;  // positions of the sequence behind the rows'

  int64_t value_dim() const { return other_value_dim == 0 ? key_dim : other_value_dim; }
  int64_t end() const { return first_position + row_count + behind; }
  int64_t first_seen_at(int64_t position) const {
    return FirstVisible(position, sliding_window, chunk);
  }
  int64_t end_seen() const { return EndVisible(first_position + row_count - 1, lookahead, end()); }
};

// One sequence's keys, values and queries.
class AttentionScene {
 public:
  AttentionScene(const AttentionShape& shape, bool wild, Random& random)
      : shape_(shape),
        query_stride_(shape.heads * shape.key_dim),
        out_columns_(shape.heads * shape.value_dim()) {
    const auto make = [&](int64_t n) { return wild ? random.Wilds(n) : random.Normals(n); };
    keys_ = make(shape.end() * shape.key_dim);
    values_ = shape.value_in_key ? ValuesOfKeys() : make(shape.end() * shape.value_dim());
    queries_ = make(shape.row_count * query_stride_);
    if (shape.has_slopes) slopes_ = random.Normals(shape.heads);
    for (float& slope : slopes_) slope *= kLargeSlope;
    if (shape.has_sinks) sinks_ = random.Normals(shape.heads);
    if (shape.bias_reach > 0) distance_bias_ = BiasOf(shape, random);
  }

  static constexpr int64_t kSpoilt = 5;
  // Makes one element of a position's key or value NaN.
  void Spoil(int64_t position, bool in_value) {
    std::vector<float>& elements = in_value ? values_ : keys_;
    const int64_t size = in_value ? shape_.value_dim() : shape_.key_dim;
    elements[static_cast<size_t>(position * size + kSpoilt)] = NAN;
  }

  // Gives one element of every key this value.
  void SetChannel(int64_t channel, float x) {
    for (int64_t position = 0; position < shape_.end(); ++position) {
      keys_[static_cast<size_t>(position * shape_.key_dim + channel)] = x;
    }
  }
  void SetKeys(float x) { std::fill(keys_.begin(), keys_.end(), x); }
  void SetValues(float x) { std::fill(values_.begin(), values_.end(), x); }
  void SetSlopes(float x) { std::fill(slopes_.begin(), slopes_.end(), x); }
  void SetSinks(float x) { std::fill(sinks_.begin(), sinks_.end(), x); }
  // Other adjustments of the same keys, values and queries.
  void Become(const AttentionShape& shape) { shape_ = shape; }
  void SetValue(int64_t position, float x) {
    std::fill_n(values_.begin() + position * shape_.value_dim(), shape_.value_dim(), x);
  }

  // Row by row, head by head: the outputs as floats, with `chunk` rows a task, all spans at once or
  // in pieces of random length.
  std::vector<float> Attend(const KernelTable& kernels, int64_t block_size, int64_t chunk,
                            Random& random, bool in_pieces = false) const {
    const Cache cache = Fill(kernels, block_size, random);
    const int64_t out_stride = out_columns_ + 16;
    std::vector<float> out(static_cast<size_t>(shape_.row_count * out_stride), kUntouched);
    for (int64_t row = 0; row < shape_.row_count; row += chunk) {
      AttentionTask task = TaskFor(cache);
      task.first_position = shape_.first_position + row;
      task.row_count = std::min(chunk, shape_.row_count - row);
      task.query = queries_.data() + row * query_stride_;
      task.out = out.data() + row * out_stride;
      task.out_stride = out_stride;
      const auto scratch_bytes = static_cast<size_t>(
          kernels.attention_scratch_bytes(cache.layout, task.row_count * task.heads));
      AlignedBuffer scratch(scratch_bytes + 64);
      std::fill(scratch.bytes().begin(), scratch.bytes().end(), std::byte{0xff});
      task.scratch = scratch.data();
      if (in_pieces) {
        AttendInPieces(kernels, task, random);
      } else {
        kernels.attention(task);
      }
      for (size_t i = scratch_bytes; i < scratch_bytes + 64; ++i) {
        EXPECT_EQ(scratch.data()[i], std::byte{0xff}) << kernels.name << ": scratch overrun";
      }
    }
    return Unpad(out, out_stride);
  }

  std::vector<double> Reference(bool rounded) const {
    std::vector<double> out;
    for (int64_t row = 0; row < shape_.row_count; ++row) {
      for (int64_t head = 0; head < shape_.heads; ++head) {
        const std::vector<double> result = ReferenceHead(row, head, rounded);
        out.insert(out.end(), result.begin(), result.end());
      }
    }
    return out;
  }

 private:
  // Numbers for all distances within reach, in each head's margins the outermost of them again.
  static std::vector<float> BiasOf(const AttentionShape& shape, Random& random) {
    std::vector<float> bias;
    for (int64_t head = 0; head < shape.heads; ++head) {
      const std::vector<float> within = random.Normals(2 * shape.bias_reach + 1);
      bias.insert(bias.end(), kDistanceMargin, within.front());
      bias.insert(bias.end(), within.begin(), within.end());
      bias.insert(bias.end(), kDistanceMargin, within.back());
    }
    return bias;
  }

  std::vector<float> ValuesOfKeys() const {
    std::vector<float> values;
    for (int64_t position = 0; position < shape_.end(); ++position) {
      const float* key = KeyAt(position);
      values.insert(values.end(), key, key + shape_.value_dim());
    }
    return values;
  }
  const float* KeyAt(int64_t position) const { return keys_.data() + position * shape_.key_dim; }
  // nullptr: who writes it has it in the key.
  const float* ValueAt(int64_t position) const {
    return shape_.value_in_key ? nullptr : values_.data() + position * shape_.value_dim();
  }

  static void AttendInPieces(const KernelTable& kernels, const AttentionTask& task,
                             Random& random) {
    const int64_t first =
        FirstVisible(task.first_position, task.sliding_window, task.chunk) / kAttentionSpan;
    const int64_t last = task.first_position + task.row_count - 1;
    const int64_t end = (EndVisible(last, task.lookahead, task.length) - 1) / kAttentionSpan + 1;
    const int64_t span_floats =
        task.row_count * task.heads * AttentionPartialFloats(task.layout.value_dim);
    std::vector<float> partials(static_cast<size_t>((end - first) * span_floats), NAN);
    for (int64_t span = end; span > first;) {  // pieces in any order
      const int64_t count = random.Integer(1, span - first);
      span -= count;
      kernels.attend_spans(task, span, count, partials.data() + (span - first) * span_floats);
    }
    kernels.merge_spans(task, first, partials.data());
  }

  struct Cache {
    KvLayout layout;
    AlignedBuffer pages;
    std::vector<int32_t> table;
    int64_t stride;
  };

  // Every byte that is not this sequence's, and every position that no row sees, is NaN; table
  // entries that no row may follow point far away.
  Cache Fill(const KernelTable& kernels, int64_t block_size, Random& random) const {
    Cache cache;
    cache.layout = {.block_size = block_size,
                    .key_dim = shape_.key_dim,
                    .value_dim = shape_.value_dim(),
                    .value_in_key = shape_.value_in_key};
    cache.layout.page_bytes = kernels.kv_page_bytes(cache.layout);
    cache.stride = cache.layout.page_bytes * 2;
    const int64_t blocks = CeilDivide(shape_.end(), block_size);
    cache.table.resize(static_cast<size_t>(blocks));
    std::iota(cache.table.begin(), cache.table.end(), 1);
    for (int64_t i = blocks - 1; i > 0; --i) {
      std::swap(cache.table[static_cast<size_t>(i)],
                cache.table[static_cast<size_t>(random.Integer(0, i))]);
    }
    cache.pages = AlignedBuffer(static_cast<size_t>((blocks + 2) * cache.stride));
    std::fill(cache.pages.bytes().begin(), cache.pages.bytes().end(), std::byte{0xff});
    const int64_t first = shape_.first_seen_at(shape_.first_position);
    for (int64_t position = first; position < shape_.end_seen(); ++position) {
      const int64_t block = cache.table[static_cast<size_t>(position / block_size)];
      kernels.kv_write(cache.layout, cache.pages.data() + block * cache.stride,
                       position % block_size, KeyAt(position), ValueAt(position));
    }
    for (int64_t i = 0; i < blocks; ++i) {
      const bool is_seen = (i + 1) * block_size > first && i * block_size < shape_.end_seen();
      if (!is_seen) cache.table[static_cast<size_t>(i)] = 1 << 30;
    }
    return cache;
  }

  AttentionTask TaskFor(const Cache& cache) const {
    AttentionTask task;
    task.layout = cache.layout;
    task.pages = cache.pages.data();
    task.page_stride_bytes = cache.stride;
    task.block_table = cache.table.data();
    task.sliding_window = shape_.sliding_window;
    task.chunk = shape_.chunk;
    task.lookahead = shape_.lookahead;
    task.length = shape_.end();
    task.soft_cap = shape_.soft_cap;
    if (shape_.has_slopes) task.slopes = slopes_.data();
    if (shape_.bias_reach > 0) {
      task.distance_bias = distance_bias_.data();
      task.bias_reach = shape_.bias_reach;
    }
    if (shape_.has_sinks) task.sinks = sinks_.data();
    task.heads = shape_.heads;
    task.scale = 1.0F / std::sqrt(static_cast<float>(shape_.key_dim));
    task.query_stride = query_stride_;
    return task;
  }

  std::vector<float> Unpad(const std::vector<float>& out, int64_t out_stride) const {
    std::vector<float> values;
    for (int64_t row = 0; row < shape_.row_count; ++row) {
      for (int64_t i = 0; i < out_stride; ++i) {
        const float element = out[static_cast<size_t>(row * out_stride + i)];
        if (i >= out_columns_) {
          EXPECT_EQ(element, kUntouched) << "padding written";
        } else {
          values.push_back(element);
        }
      }
    }
    return values;
  }

  // One query head of one row, by the textbook.
  std::vector<double> ReferenceHead(int64_t row, int64_t head, bool rounded) const {
    const auto as_stored = [rounded](float value) {
      return static_cast<double>(rounded ? BFloat16ToFloat(FloatToBFloat16(value)) : value);
    };
    const auto head_index = static_cast<size_t>(head);
    const int64_t key_dim = shape_.key_dim;
    const int64_t value_dim = shape_.value_dim();
    const float* query = queries_.data() + row * query_stride_ + head * key_dim;
    const int64_t own = shape_.first_position + row;
    const auto is_hidden = [&](int64_t position) {
      return position > own + shape_.lookahead ||
             (shape_.sliding_window > 0 && position <= own - shape_.sliding_window) ||
             (shape_.chunk > 0 && position / shape_.chunk != own / shape_.chunk);
    };
    double sum = shape_.has_sinks ? std::exp(double{sinks_[head_index]}) : 0;
    std::vector<double> out(static_cast<size_t>(value_dim));
    for (int64_t position = 0; position < shape_.end(); ++position) {
      if (is_hidden(position)) continue;
      double score = 0;
      for (int64_t i = 0; i < key_dim; ++i) {
        score +=
            as_stored(query[i]) * as_stored(keys_[static_cast<size_t>(position * key_dim + i)]);
      }
      score /= std::sqrt(static_cast<double>(key_dim));
      if (shape_.soft_cap > 0) score = shape_.soft_cap * std::tanh(score / shape_.soft_cap);
      const auto distance = static_cast<double>(std::abs(own - position));
      if (shape_.has_slopes) score -= slopes_[head_index] * distance;
      if (shape_.bias_reach > 0) {
        const int64_t within = std::clamp(position - own, -shape_.bias_reach, shape_.bias_reach);
        score += distance_bias_[static_cast<size_t>(head * DistanceBiasFloats(shape_.bias_reach) +
                                                    kDistanceMargin + shape_.bias_reach + within)];
      }
      const double p = std::exp(score);
      sum += p;
      for (int64_t i = 0; i < value_dim; ++i) {
        out[static_cast<size_t>(i)] +=
            p * as_stored(values_[static_cast<size_t>(position * value_dim + i)]);
      }
    }
    for (double& value : out) value /= sum;
    return out;
  }

  static constexpr float kLargeSlope = 0.05F;
  static constexpr float kUntouched = 1234.5F;

  AttentionShape shape_;
  int64_t query_stride_;
  int64_t out_columns_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> queries_;
  std::vector<float> slopes_;
  std::vector<float> distance_bias_;
  std::vector<float> sinks_;
};

inline double RootMeanSquareDifference(const std::vector<float>& found,
                                       const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) sum += std::pow(found[i] - expected.at(i), 2);
  return std::sqrt(sum / static_cast<double>(found.size()));
}

inline AttentionShape RandomShape(Random& random) {
  const int64_t key_dims[] = {64, 128, 16, 80, 96, 2, 18, 50, 32};
  AttentionShape shape = {};
  shape.key_dim = key_dims[random.Integer(0, 8)];
  shape.heads = random.Integer(1, 5);
  shape.block_size = 16 * random.Integer(1, 4);
  shape.first_position = random.Integer(0, 1) == 0 ? 0 : random.Integer(0, 1500);
  shape.row_count = random.Integer(0, 2) == 0 ? 1 : random.Integer(1, 40);
  if (random.Integer(0, 2) == 0) shape.sliding_window = random.Integer(1, 300);
  return shape;
}

inline std::string Describe(const AttentionShape& shape) {
  std::ostringstream out;
  out << "key " << shape.key_dim << ", value " << shape.value_dim()
      << (shape.value_in_key ? " in it" : "") << ", heads " << shape.heads << ", positions "
      << shape.first_position << " + " << shape.row_count << ", window " << shape.sliding_window
      << ", chunk " << shape.chunk << ", lookahead " << shape.lookahead << " of " << shape.behind
      << ", cap " << shape.soft_cap << (shape.has_slopes ? ", slopes" : "") << ", bias to "
      << shape.bias_reach << (shape.has_sinks ? ", sinks" : "");
  return out.str();
}

class AttentionTest : public testing::TestWithParam<KvType> {
 protected:
  std::vector<const KernelTable*> Tables() const {
    std::vector<const KernelTable*> tables;
    for (const KernelTable& table : tables_) tables.push_back(&table);
    return tables;
  }

  const KernelTable& scalar_ = KernelsFor(Arithmetic::kBF16, Isa::kScalar, GetParam());
  Random random_{21};
  ScopedFlushDenormals flush_;

 private:
  // The int8 arithmetic has an attention for each instruction set, VNNI's among them.
  const std::vector<KernelTable> tables_ = TablesHere(Arithmetic::kInt8, GetParam());
};

}  // namespace weft
