// Linear attention: Katharopoulos et al., "Transformers are RNNs" (2020, arXiv:2006.16236). Without
// the softmax attention is a product of three matrices, and a product is associative:
//
//   (Q K^T) V = Q (K^T V)
//
// The left side costs n^2 d for n positions of d numbers and keeps all keys and values; the right
// side costs n d^2 and keeps d x d. Under the causal mask the right side is a recurrence,
// S_t = S_(t-1) + k_t v_t^T, o_t = q_t S_t (section 3.3).
//
// Products here are the kernels' own, over integers that bf16 and float32 hold exactly, so that the
// theorem is an equality on every instruction set.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "tests/model/kernels/tables_here.h"

namespace weft {
namespace {

struct Matrix {
  int64_t rows;
  int64_t columns;
  std::vector<float> values;  // [row][column]

  float& at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
  float at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
  Matrix Transposed() const {
    Matrix result = {columns, rows, std::vector<float>(values.size())};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        result.at(column, row) = at(row, column);
      }
    }
    return result;
  }
};

// a b, by the kernel that multiplies activations with weights, which reads b's columns as rows.
Matrix Product(const KernelTable& kernels, const Matrix& a, const Matrix& b) {
  const Matrix weights = b.Transposed();
  const TensorView view =
      TensorView::Contiguous(reinterpret_cast<const std::byte*>(weights.values.data()),
                             DataType::kF32, {weights.rows, weights.columns});
  const PackedMatrix packed = Pack(kernels, view);
  const OperandMatrix x =
      ToOperands(kernels, kernels.operand_type(packed.layout), a.values, a.columns, false);
  Matrix result = {a.rows, b.columns, std::vector<float>(static_cast<size_t>(a.rows * b.columns))};
  MatmulTask task;
  task.weights = &packed;
  task.panel_count = packed.panel_count();
  x.Describe(task);
  task.row_count = a.rows;
  task.y = result.values.data();
  task.y_stride = b.columns;
  kernels.matmul(task);
  return result;
}

class LinearAttentionTest : public testing::Test {
 protected:
  // Small integers: with n = 64 and d = 16 no sum here needs more than bf16's 8 bits on its way to
  // be multiplied again, and none float32's 24.
  Matrix Integers(int64_t rows, int64_t columns, int64_t largest) {
    Matrix matrix = {rows, columns, {}};
    for (int64_t i = 0; i < rows * columns; ++i) {
      matrix.values.push_back(static_cast<float>(random_.Integer(-largest, largest)));
    }
    return matrix;
  }
  std::vector<KernelTable> Tables() const {
    std::vector<KernelTable> tables = TablesHere(Arithmetic::kBF16);
    tables.push_back(BlasTable());
    return tables;
  }

  static constexpr int64_t kPositions = 64;
  static constexpr int64_t kDim = 16;
  Random random_{61};
  const Matrix q_ = Integers(kPositions, kDim, 2);
  const Matrix k_ = Integers(kPositions, kDim, 2);
  const Matrix v_ = Integers(kPositions, kDim, 2);
  ScopedFlushDenormals flush_;
};

TEST_F(LinearAttentionTest, ProductsAreAssociative) {
  for (const KernelTable& kernels : Tables()) {
    const Matrix scores_first = Product(kernels, Product(kernels, q_, k_.Transposed()), v_);
    const Matrix state_first = Product(kernels, q_, Product(kernels, k_.Transposed(), v_));
    EXPECT_EQ(scores_first.values, state_first.values) << kernels.name;
  }
}

// Of a sum over all earlier positions and its recurrence, by the definition, the mask applied to
// the scores.
TEST_F(LinearAttentionTest, UnderACausalMaskItIsARecurrence) {
  for (const KernelTable& kernels : Tables()) {
    Matrix scores = Product(kernels, q_, k_.Transposed());
    for (int64_t t = 0; t < kPositions; ++t) {
      for (int64_t later = t + 1; later < kPositions; ++later) scores.at(t, later) = 0;
    }
    const Matrix masked = Product(kernels, scores, v_);
    Matrix state = {kDim, kDim, std::vector<float>(kDim * kDim)};
    for (int64_t t = 0; t < kPositions; ++t) {
      for (int64_t i = 0; i < kDim; ++i) {
        kernels.multiply_add(&state.at(i, 0), &v_.values[static_cast<size_t>(t * kDim)],
                             k_.at(t, i), kDim);
      }
      const auto* row = &q_.values[static_cast<size_t>(t * kDim)];
      const Matrix out = Product(kernels, {1, kDim, {row, row + kDim}}, state);
      for (int64_t d = 0; d < kDim; ++d) {
        ASSERT_EQ(out.at(0, d), masked.at(t, d)) << kernels.name << ", position " << t;
      }
    }
  }
}

// With a softmax in between there is no such order: it is what makes attention quadratic.
TEST_F(LinearAttentionTest, SoftmaxStandsBetween) {
  const KernelTable& kernels = BlasTable();
  Matrix weights = Product(kernels, q_, k_.Transposed());
  for (int64_t t = 0; t < kPositions; ++t) kernels.softmax(&weights.at(t, 0), kPositions);
  const Matrix attention = Product(kernels, weights, v_);
  const Matrix linear = Product(kernels, q_, Product(kernels, k_.Transposed(), v_));
  EXPECT_NE(attention.values, linear.values);
  // Attention's rows are means of values and stay among them, which a plain product's do not.
  for (const float x : attention.values) EXPECT_LE(std::fabs(x), 2.00001F);
  bool leaves = false;
  for (const float x : linear.values) leaves = leaves || std::fabs(x) > 2;
  EXPECT_TRUE(leaves);
}

// In numbers that round, the two orders are equal within rounding and not to the bit: why a
// recurrence that is computed in chunks must be defined in one order (docs/ARCHITECTURE.md, law 3).
TEST_F(LinearAttentionTest, RoundingIsNotAssociative) {
  const KernelTable& kernels = BlasTable();
  Matrix q = q_;
  Matrix k = k_;
  Matrix v = v_;
  for (Matrix* matrix : {&q, &k, &v}) matrix->values = random_.Normals(kPositions * kDim);
  const Matrix scores_first = Product(kernels, Product(kernels, q, k.Transposed()), v);
  const Matrix state_first = Product(kernels, q, Product(kernels, k.Transposed(), v));
  EXPECT_NE(scores_first.values, state_first.values);
  for (size_t i = 0; i < state_first.values.size(); ++i) {
    EXPECT_NEAR(scores_first.values[i], state_first.values[i], 1e-3);
  }
}

}  // namespace
}  // namespace weft
