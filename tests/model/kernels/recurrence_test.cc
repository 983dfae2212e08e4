// Linear attention and its convolution: every instruction set equals scalar bit for bit, wherever a
// prompt is cut and whatever columns a task has; scalar agrees with double precision.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "tests/model/kernels/kernel_fixtures.h"

namespace weft {
namespace {

// A head's inputs, with strides that are wider than what is read.
struct Head {
  int64_t key_dim;
  int64_t value_count;
  int64_t position_count;
  bool has_delta;
  std::vector<float> state, query, key, value, decay, beta;

  Head(int64_t keys, int64_t values, int64_t positions, bool delta, Random& random)
      : key_dim(keys), value_count(values), position_count(positions), has_delta(delta) {
    state = random.Normals(key_dim * state_stride());
    query = random.Normals(position_count * key_stride());
    key = random.Normals(position_count * key_stride());
    for (float& x : key) x *= 0.2F;
    value = random.Normals(position_count * value_stride());
    for (int64_t i = 0; i < position_count * kGateStride; ++i) {
      decay.push_back(1 / (1 + std::abs(random.Normal())));
      beta.push_back(1 / (1 + std::abs(random.Normal())));
    }
  }

  static constexpr int64_t kGateStride = 3;
  int64_t state_stride() const { return value_count + 5; }
  int64_t key_stride() const { return key_dim + 2; }
  int64_t value_stride() const { return value_count + 7; }

  // `positions` from `first` on, `columns` from `column` on; `out` is (positions, value_stride).
  RecurrenceTask Task(int64_t first, int64_t positions, int64_t column, int64_t columns,
                      float* new_state, float* out) const {
    RecurrenceTask task;
    task.key_dim = key_dim;
    task.value_count = columns;
    task.position_count = positions;
    task.state = new_state + column;
    task.state_stride = state_stride();
    task.query = query.data() + first * key_stride();
    task.query_stride = key_stride();
    task.key = key.data() + first * key_stride();
    task.key_stride = key_stride();
    task.value = value.data() + first * value_stride() + column;
    task.value_stride = value_stride();
    task.decay = decay.data() + first * kGateStride;
    task.beta = has_delta ? beta.data() + first * kGateStride : nullptr;
    task.gate_stride = kGateStride;
    task.out = out + first * value_stride() + column;
    task.out_stride = value_stride();
    return task;
  }
};

// The new state, then what each position gives.
struct Result {
  std::vector<float> state;
  std::vector<float> out;
  bool operator==(const Result&) const = default;
};

Result Untouched(const Head& head) {
  return {head.state, std::vector<float>(
                          static_cast<size_t>(head.position_count * head.value_stride()), -7.0F)};
}

Result Whole(const KernelTable& kernels, const Head& head) {
  Result result = Untouched(head);
  kernels.recurrence(head.Task(0, head.position_count, 0, head.value_count, result.state.data(),
                               result.out.data()));
  return result;
}

class RecurrenceTest : public testing::Test {
 protected:
  Random random_{17};
  ScopedFlushDenormals flush_;
  const KernelTable& scalar_ = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
};

TEST_F(RecurrenceTest, EveryInstructionSetEqualsScalar) {
  for (const bool delta : {false, true}) {
    for (const int64_t values : {1, 15, 16, 17, 33, 64, 97, 128, 161}) {
      const Head head(random_.Integer(1, 70), values, random_.Integer(1, 9), delta, random_);
      const Result expected = Whole(scalar_, head);
      for (const KernelTable* kernels : AvailableTables()) {
        EXPECT_EQ(Whole(*kernels, head), expected) << kernels->name << ' ' << values;
      }
    }
  }
}

TEST_F(RecurrenceTest, NothingDependsOnWhereAPromptIsCutOrWhoHasWhichColumns) {
  const Head head(32, 100, 23, true, random_);
  const Result expected = Whole(scalar_, head);
  for (const KernelTable* kernels : AvailableTables()) {
    for (int trial = 0; trial < 8; ++trial) {
      Result result = Untouched(head);
      const int64_t border = random_.Integer(1, head.value_count - 1);
      for (int64_t first = 0, count = 0; first < head.position_count; first += count) {
        count = std::min(random_.Integer(1, 7), head.position_count - first);
        float* const state = result.state.data();
        float* const out = result.out.data();
        kernels->recurrence(head.Task(first, count, border, head.value_count - border, state, out));
        kernels->recurrence(head.Task(first, count, 0, border, state, out));
      }
      EXPECT_EQ(result, expected) << kernels->name;
    }
  }
}

// The formula of RecurrenceTask, over the whole state.
TEST_F(RecurrenceTest, ScalarAgreesWithDoublePrecision) {
  for (const bool delta : {false, true}) {
    const Head head(24, 20, 30, delta, random_);
    const Result result = Whole(scalar_, head);
    std::vector<double> state(head.state.begin(), head.state.end());
    const auto at = [&](int64_t i, int64_t column) -> double& {
      return state[static_cast<size_t>(i * head.state_stride() + column)];
    };
    for (int64_t p = 0; p < head.position_count; ++p) {
      const float* key = head.key.data() + p * head.key_stride();
      const float* query = head.query.data() + p * head.key_stride();
      const auto gate = static_cast<size_t>(p * Head::kGateStride);
      for (int64_t column = 0; column < head.value_count; ++column) {
        const auto place = static_cast<size_t>(p * head.value_stride() + column);
        double memory = 0;
        for (int64_t i = 0; i < head.key_dim; ++i)
          memory += head.decay[gate] * at(i, column) * key[i];
        double change = head.value[place];
        if (delta) change = (change - memory) * head.beta[gate];
        double out = 0;
        for (int64_t i = 0; i < head.key_dim; ++i) {
          at(i, column) = head.decay[gate] * at(i, column) + key[i] * change;
          out += at(i, column) * query[i];
        }
        EXPECT_NEAR(result.out[place], out, 1e-4) << p;
      }
    }
  }
}

// (Q K^T) V = Q (K^T V): without decay and delta rule the state's result is attention without its
// softmax over the earlier positions and its own.
TEST_F(RecurrenceTest, WithoutGatesItIsAttentionWithoutASoftmax) {
  Head head(16, 12, 10, false, random_);
  std::fill(head.state.begin(), head.state.end(), 0.0F);
  std::fill(head.decay.begin(), head.decay.end(), 1.0F);
  const Result result = Whole(scalar_, head);
  for (int64_t p = 0; p < head.position_count; ++p) {
    for (int64_t column = 0; column < head.value_count; ++column) {
      double expected = 0;
      for (int64_t earlier = 0; earlier <= p; ++earlier) {
        double score = 0;
        for (int64_t i = 0; i < head.key_dim; ++i) {
          score += static_cast<double>(head.query[static_cast<size_t>(p * head.key_stride() + i)]) *
                   head.key[static_cast<size_t>(earlier * head.key_stride() + i)];
        }
        expected += score * head.value[static_cast<size_t>(earlier * head.value_stride() + column)];
      }
      EXPECT_NEAR(result.out[static_cast<size_t>(p * head.value_stride() + column)], expected,
                  1e-4);
    }
  }
}

struct Channels {
  int64_t width;
  int64_t count;
  int64_t position_count;
  std::vector<float> weight, bias, state, x;

  Channels(int64_t w, int64_t channels, int64_t positions, Random& random)
      : width(w), count(channels), position_count(positions) {
    weight = random.Normals(width * count);
    bias = random.Normals(count);
    state = random.Normals((width - 1) * count);
    x = random.Normals(position_count * stride());
  }
  int64_t stride() const { return count + 3; }

  Result Convolve(const KernelTable& kernels, bool has_bias, int64_t most_positions) const {
    Result result{state, std::vector<float>(static_cast<size_t>(position_count * stride()), -7.0F)};
    for (int64_t first = 0; first < position_count; first += most_positions) {
      ConvolutionTask task;
      task.width = width;
      task.channel_count = count;
      task.position_count = std::min(most_positions, position_count - first);
      task.weight = weight.data();
      task.bias = has_bias ? bias.data() : nullptr;
      task.state = result.state.data();
      task.row_stride = count;
      task.x = x.data() + first * stride();
      task.x_stride = stride();
      task.out = result.out.data() + first * stride();
      task.out_stride = stride();
      kernels.convolution(task);
    }
    return result;
  }
};

TEST_F(RecurrenceTest, ConvolutionsAreTheSameEverywhereAndWhereverTheyAreCut) {
  for (const int64_t width : {1, 2, 3, 4, 8}) {
    for (const int64_t count : {1, 16, 31, 100}) {
      const Channels channels(width, count, 11, random_);
      for (const bool has_bias : {false, true}) {
        const Result expected = channels.Convolve(scalar_, has_bias, 11);
        for (const KernelTable* kernels : AvailableTables()) {
          for (const int64_t most : {1, 2, 5, 11}) {
            EXPECT_EQ(channels.Convolve(*kernels, has_bias, most), expected) << kernels->name;
          }
        }
      }
    }
  }
}

TEST_F(RecurrenceTest, AConvolutionIsTheSumOverTheLastPositions) {
  const Channels channels(4, 5, 9, random_);
  const Result result = channels.Convolve(scalar_, true, 9);
  const auto input = [&](int64_t position, int64_t channel) {
    return position < 0 ? channels.state[static_cast<size_t>((position + 3) * 5 + channel)]
                        : channels.x[static_cast<size_t>(position * channels.stride() + channel)];
  };
  for (int64_t p = 0; p < 9; ++p) {
    for (int64_t c = 0; c < 5; ++c) {
      double expected = channels.bias[static_cast<size_t>(c)];
      for (int64_t j = 0; j < 4; ++j) {
        expected += static_cast<double>(channels.weight[static_cast<size_t>(j * 5 + c)]) *
                    input(p - 3 + j, c);
      }
      EXPECT_NEAR(result.out[static_cast<size_t>(p * channels.stride() + c)], expected, 1e-5);
    }
  }
  for (int64_t j = 0; j < 3; ++j) {
    for (int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(result.state[static_cast<size_t>(j * 5 + c)], input(6 + j, c));
    }
  }
}

}  // namespace
}  // namespace weft
