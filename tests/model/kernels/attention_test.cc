// Attention over paged keys and values: every instruction set equals scalar bit for bit, scalar is
// right, a row depends on its own visible positions alone, and what no row may see is never read.
#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "model/kernels/kv_page.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/kernels/software_amx.h"

namespace weft {
namespace {

struct Shape {
  int64_t head_dim;
  int64_t heads;
  int64_t block_size;
  int64_t first_position;
  int64_t row_count;
  int64_t sliding_window = 0;

  int64_t end() const { return first_position + row_count; }
};

// One sequence's keys, values and queries, and a cache with its blocks in random order among NaN.
class Scene {
 public:
  Scene(const Shape& shape, bool wild, Random& random)
      : shape_(shape), head_stride_(shape.heads * shape.head_dim) {
    const auto make = [&](int64_t n) { return wild ? random.Wilds(n) : random.Normals(n); };
    keys_ = make(shape.end() * shape.head_dim);
    values_ = make(shape.end() * shape.head_dim);
    queries_ = make(shape.row_count * head_stride_);
  }

  static constexpr int64_t kSpoilt = 5;
  // Makes one element of a position's key or value NaN.
  void Spoil(int64_t position, bool in_value) {
    std::vector<float>& elements = in_value ? values_ : keys_;
    elements[static_cast<size_t>(position * shape_.head_dim + kSpoilt)] = NAN;
  }

  void SetKeys(float x) { std::fill(keys_.begin(), keys_.end(), x); }
  void SetValues(float x) { std::fill(values_.begin(), values_.end(), x); }
  void SetValue(int64_t position, float x) {
    std::fill_n(values_.begin() + position * shape_.head_dim, shape_.head_dim, x);
  }

  // Row by row, head by head: the outputs as floats, with `chunk` rows a task, all spans at once or
  // in pieces of random length.
  std::vector<float> Attend(const KernelTable& kernels, int64_t block_size, int64_t chunk,
                            Random& random, bool in_pieces = false) const {
    const Cache cache = Fill(kernels, block_size, random);
    const int64_t out_stride = head_stride_ + 16;
    std::vector<float> out(static_cast<size_t>(shape_.row_count * out_stride), kUntouched);
    for (int64_t row = 0; row < shape_.row_count; row += chunk) {
      AttentionTask task = TaskFor(cache);
      task.first_position = shape_.first_position + row;
      task.row_count = std::min(chunk, shape_.row_count - row);
      task.query = queries_.data() + row * head_stride_;
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
      const int64_t last = shape_.first_position + row;
      const int64_t first =
          shape_.sliding_window > 0 ? std::max<int64_t>(0, last - shape_.sliding_window + 1) : 0;
      for (int64_t head = 0; head < shape_.heads; ++head) {
        const float* query = queries_.data() + row * head_stride_ + head * shape_.head_dim;
        const std::vector<double> result = ReferenceHead(query, first, last, rounded);
        out.insert(out.end(), result.begin(), result.end());
      }
    }
    return out;
  }

 private:
  static void AttendInPieces(const KernelTable& kernels, const AttentionTask& task,
                             Random& random) {
    const int64_t window = task.sliding_window;
    const int64_t first_seen =
        window == 0 ? 0 : std::max<int64_t>(0, task.first_position - window + 1);
    const int64_t first = first_seen / kAttentionSpan;
    const int64_t end = (task.first_position + task.row_count - 1) / kAttentionSpan + 1;
    const int64_t span_floats =
        task.row_count * task.heads * AttentionPartialFloats(task.layout.head_dim);
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
    cache.layout = {block_size, shape_.head_dim,
                    kernels.kv_page_bytes(block_size, shape_.head_dim)};
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
    const int64_t first = FirstSeen();
    for (int64_t position = first; position < shape_.end(); ++position) {
      const int64_t block = cache.table[static_cast<size_t>(position / block_size)];
      kernels.kv_write(cache.layout, cache.pages.data() + block * cache.stride,
                       position % block_size, keys_.data() + position * shape_.head_dim,
                       values_.data() + position * shape_.head_dim);
    }
    for (int64_t i = 0; i < first / block_size; ++i) cache.table[static_cast<size_t>(i)] = 1 << 30;
    return cache;
  }

  int64_t FirstSeen() const {
    if (shape_.sliding_window == 0) return 0;
    return std::max<int64_t>(0, shape_.first_position - shape_.sliding_window + 1);
  }

  AttentionTask TaskFor(const Cache& cache) const {
    AttentionTask task;
    task.layout = cache.layout;
    task.pages = cache.pages.data();
    task.page_stride_bytes = cache.stride;
    task.block_table = cache.table.data();
    task.sliding_window = shape_.sliding_window;
    task.heads = shape_.heads;
    task.scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
    task.query_stride = head_stride_;
    return task;
  }

  std::vector<float> Unpad(const std::vector<float>& out, int64_t out_stride) const {
    std::vector<float> values;
    for (int64_t row = 0; row < shape_.row_count; ++row) {
      for (int64_t i = 0; i < out_stride; ++i) {
        const float element = out[static_cast<size_t>(row * out_stride + i)];
        if (i >= head_stride_) {
          EXPECT_EQ(element, kUntouched) << "padding written";
        } else {
          values.push_back(element);
        }
      }
    }
    return values;
  }

  std::vector<double> ReferenceHead(const float* query, int64_t first, int64_t last,
                                    bool rounded) const {
    const auto as_stored = [rounded](float value) {
      return static_cast<double>(rounded ? BFloat16ToFloat(FloatToBFloat16(value)) : value);
    };
    const int64_t head_dim = shape_.head_dim;
    std::vector<double> scores;
    for (int64_t position = first; position <= last; ++position) {
      double dot = 0;
      for (int64_t i = 0; i < head_dim; ++i) {
        dot += as_stored(query[i]) * as_stored(keys_[static_cast<size_t>(position * head_dim + i)]);
      }
      scores.push_back(dot / std::sqrt(static_cast<double>(head_dim)));
    }
    const double maximum = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    std::vector<double> out(static_cast<size_t>(head_dim));
    for (int64_t position = first; position <= last; ++position) {
      const double p = std::exp(scores[static_cast<size_t>(position - first)] - maximum);
      sum += p;
      for (int64_t i = 0; i < head_dim; ++i) {
        out[static_cast<size_t>(i)] +=
            p * as_stored(values_[static_cast<size_t>(position * head_dim + i)]);
      }
    }
    for (double& value : out) value /= sum;
    return out;
  }

  static constexpr float kUntouched = 1234.5F;

  Shape shape_;
  int64_t head_stride_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> queries_;
};

Shape RandomShape(Random& random) {
  const int64_t head_dims[] = {64, 128, 16, 80, 96, 2, 18, 50, 32};
  Shape shape = {};
  shape.head_dim = head_dims[random.Integer(0, 8)];
  shape.heads = random.Integer(1, 5);
  shape.block_size = 16 * random.Integer(1, 4);
  shape.first_position = random.Integer(0, 1) == 0 ? 0 : random.Integer(0, 1500);
  shape.row_count = random.Integer(0, 2) == 0 ? 1 : random.Integer(1, 40);
  if (random.Integer(0, 2) == 0) shape.sliding_window = random.Integer(1, 300);
  return shape;
}

std::string Describe(const Shape& shape) {
  std::ostringstream out;
  out << "head_dim " << shape.head_dim << ", heads " << shape.heads << ", positions "
      << shape.first_position << " + " << shape.row_count << ", window " << shape.sliding_window;
  return out.str();
}

class AttentionTest : public testing::TestWithParam<KvType> {
 protected:
  std::vector<const KernelTable*> Tables() const {
    std::vector<const KernelTable*> tables = AvailableTables(Arithmetic::kBF16, GetParam());
    if (software_amx_) tables.push_back(&*software_amx_);
    return tables;
  }

  const KernelTable& scalar_ = KernelsFor(Arithmetic::kBF16, Isa::kScalar, GetParam());
  Random random_{21};
  ScopedFlushDenormals flush_;

 private:
  std::optional<KernelTable> software_amx_ = SoftwareAmx();

  static std::optional<KernelTable> SoftwareAmx() {
    if (GetParam() == KvType::kBF16 && software_amx::HasSoftwareAmx()) {
      return software_amx::SoftwareAmxTable(Arithmetic::kBF16);
    }
    return std::nullopt;
  }
};

TEST_P(AttentionTest, EveryInstructionSetEqualsScalar) {
  for (int trial = 0; trial < 60; ++trial) {
    const Shape shape = RandomShape(random_);
    const Scene scene(shape, trial % 4 == 3, random_);
    std::vector<float> expected;
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> out =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
      if (expected.empty()) expected = out;
      const int64_t i = FirstDifference(out, expected);
      ASSERT_EQ(i, -1) << kernels->name << " trial " << trial << ": " << Describe(shape);
      if (kernels->attend_spans == nullptr) continue;
      const std::vector<float> pieced =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_, /*in_pieces=*/true);
      ASSERT_EQ(FirstDifference(pieced, expected), -1)
          << kernels->name << " in pieces, trial " << trial << ": " << Describe(shape);
    }
  }
}

TEST_P(AttentionTest, AgreesWithDoublePrecision) {
  for (const Shape& shape : {Shape{64, 3, 16, 0, 20}, Shape{128, 1, 32, 700, 1},
                             Shape{80, 2, 16, 250, 12}, Shape{64, 2, 48, 500, 10, 270}}) {
    const Scene scene(shape, false, random_);
    const bool is_bf16 = GetParam() == KvType::kBF16;
    const std::vector<double> expected = scene.Reference(is_bf16);
    const std::vector<float> out =
        scene.Attend(scalar_, shape.block_size, shape.row_count, random_);
    ASSERT_EQ(out.size(), expected.size());
    for (size_t i = 0; i < out.size(); ++i) {
      // Probabilities are rounded to 8 bits, or values, and keys, to 1/254 of the largest element.
      const double tolerance = is_bf16 ? 0.004 : 0.02;
      ASSERT_NEAR(out[i], expected[i], tolerance + std::fabs(expected[i]) * tolerance);
    }
    const std::vector<double> exact = scene.Reference(false);
    const std::vector<float> f32 = scene.Attend(KernelsFor(Arithmetic::kF32, Isa::kScalar),
                                                shape.block_size, shape.row_count, random_);
    for (size_t i = 0; i < f32.size(); ++i) ASSERT_NEAR(f32[i], exact[i], 1e-5);
  }
}

TEST_P(AttentionTest, ARowDependsOnItsVisiblePositionsAlone) {
  const int64_t block_sizes[] = {16, 32, 48, 256};
  for (int trial = 0; trial < 12; ++trial) {
    Shape shape = RandomShape(random_);
    shape.row_count = random_.Integer(2, 30);
    const Scene scene(shape, false, random_);
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> expected = scene.Attend(*kernels, 16, shape.row_count, random_);
      for (const int64_t chunk : {int64_t{1}, int64_t{7}, shape.row_count}) {
        const std::vector<float> out =
            scene.Attend(*kernels, block_sizes[random_.Integer(0, 3)], chunk, random_);
        ASSERT_EQ(FirstDifference(out, expected), -1) << kernels->name << " chunk " << chunk;
      }
    }
  }
}

// What cancels below the smallest float is +0, whichever its sign was before it was flushed.
TEST_P(AttentionTest, NoNegativeZeroIsLeft) {
  if (GetParam() == KvType::kQ8) GTEST_SKIP() << "an 8-bit cache adds integers";
  const Shape shape = {32, 1, 32, 0, 64};
  Scene scene(shape, false, random_);
  // Equal scores, so that every probability is 1; the last row sees both.
  scene.SetKeys(0);
  scene.SetValues(0);
  constexpr float kSmallest = std::numeric_limits<float>::min();
  scene.SetValue(0, 1.5F * kSmallest);
  scene.SetValue(63, -1.75F * kSmallest);
  for (const KernelTable* kernels : Tables()) {
    const std::vector<float> out =
        scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
    EXPECT_EQ(std::bit_cast<uint32_t>(out.back()), 0U) << kernels->name;
  }
}

// A key or a value with NaN in it makes NaN of every row that sees it and of no other.
TEST_P(AttentionTest, NaNStaysWithThoseWhoSeeIt) {
  for (const bool in_value : {false, true}) {
    const Shape shape = {64, 2, 16, 300, 24};
    Scene scene(shape, false, random_);
    constexpr int64_t kPosition = 310;
    scene.Spoil(kPosition, in_value);
    for (const KernelTable* kernels : Tables()) {
      const std::vector<float> out =
          scene.Attend(*kernels, shape.block_size, shape.row_count, random_);
      const int64_t row_size = shape.heads * shape.head_dim;
      for (int64_t i = 0; i < shape.row_count * row_size; ++i) {
        const bool sees = shape.first_position + i / row_size >= kPosition;
        // In bf16 a value spoils its own element of the output only.
        const bool in_reach =
            !in_value || GetParam() == KvType::kQ8 || i % shape.head_dim == Scene::kSpoilt;
        ASSERT_EQ(std::isfinite(out[static_cast<size_t>(i)]), !(sees && in_reach))
            << kernels->name << ", element " << i << (in_value ? ", value" : ", key");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, AttentionTest, testing::Values(KvType::kBF16, KvType::kQ8),
                         [](const auto& parameter) {
                           return std::string(NameOf(parameter.param));
                         });

}  // namespace
}  // namespace weft
