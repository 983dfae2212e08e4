// Which matrices keep the order of their columns.
#include "model/column_order.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "model/formats/block_format.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

constexpr int64_t kSize = 32;

// A matrix of which each row holds its number, and whose columns have this order, too; none: not.
BoundMatrix Matrix(const std::vector<int32_t>& order) {
  static const std::vector<std::byte> bytes(kSize * kSize * sizeof(float));
  const auto of_type = [&](DataType type) {
    AssembledTensor tensor;
    tensor.view = TensorView::Contiguous(bytes.data(), type, {kSize, kSize});
    tensor.read_row = [](int64_t row, std::byte* out) {
      const auto number = static_cast<uint8_t>(row);
      std::memcpy(out, &number, sizeof(number));
    };
    return tensor;
  };
  AssembledTensor plain = of_type(DataType::kF32);
  if (!order.empty()) {
    AssembledTensor ordered = of_type(DataType::kQ4_0);
    ordered.column_order = order;
    plain.ordered = std::make_shared<const AssembledTensor>(std::move(ordered));
  }
  return {.view = plain.view, .assembled = std::make_shared<const AssembledTensor>(plain)};
}

int RowOf(const BoundMatrix& matrix, int64_t row) {
  std::vector<std::byte> out(kSize * sizeof(float));
  matrix.assembled->read_row(matrix.rows(row), out.data());
  return static_cast<int>(out.front());
}

// Query, key, value, output; gate, up, down.
class ColumnOrderTest : public testing::Test {
 protected:
  enum Place { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

  ColumnOrderTest() {
    std::ranges::reverse(other_);
    AttentionSpec& attention = layer_.attention;
    attention.head_count = attention.kv_head_count = 1;
    attention.query = Linear(kQuery);
    attention.key = Linear(kKey);
    attention.value = Linear(kValue);
    attention.output = Linear(kOutput);
    mlp_ = {.width = kSize, .gate = Linear(kGate), .up = Linear(kUp), .down = Linear(kDown)};
    for (int i = 0; i < 7; ++i) tensors_.matrices.push_back(Matrix(order_));
  }

  static LinearSpec Linear(Place place) { return {.weights = static_cast<MatrixId>(place)}; }

  void Keep(int layer_count = 1) {
    ModelSpec spec;
    layer_.mlp = mlp_;
    spec.layers.assign(static_cast<size_t>(layer_count), layer_);
    KeepColumnOrders(spec, tensors_);
  }
  const BoundMatrix& matrix(Place place) const {
    return tensors_.matrices[static_cast<size_t>(place)];
  }
  // Those that are read in few bits.
  std::vector<int> Kept() const {
    std::vector<int> kept;
    for (int i = 0; i < 7; ++i) {
      if (matrix(static_cast<Place>(i)).type() == DataType::kQ4_0) kept.push_back(i);
    }
    return kept;
  }

  std::vector<int32_t> order_ = [] {
    std::vector<int32_t> order(kSize);
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + 5, order.end());
    return order;
  }();
  std::vector<int32_t> other_ = order_;
  LayerSpec layer_;
  DenseMlpSpec mlp_;
  ModelTensors tensors_;
};

TEST_F(ColumnOrderTest, IsThatOfAllThatReadTheSameRows) {
  tensors_.matrices[kDown] = Matrix(other_);
  Keep();
  EXPECT_EQ(Kept(), (std::vector<int>{kQuery, kKey, kValue, kOutput, kGate, kUp, kDown}));
  for (const Place place : {kQuery, kKey, kValue, kOutput, kGate, kUp}) {
    EXPECT_EQ(matrix(place).assembled->column_order, order_) << place;
  }
  // What writes for `down` writes in its order.
  EXPECT_TRUE(matrix(kDown).assembled->column_order.empty());
  for (int64_t row = 0; row < kSize; ++row) {
    EXPECT_EQ(RowOf(matrix(kGate), row), other_[static_cast<size_t>(row)]);
    EXPECT_EQ(RowOf(matrix(kUp), row), other_[static_cast<size_t>(row)]);
    EXPECT_EQ(RowOf(matrix(kDown), row), row);
    EXPECT_EQ(RowOf(matrix(kQuery), row), row);
  }
}

TEST_F(ColumnOrderTest, OneThatHasAnotherOrNoneLeavesItsNeighboursAlone) {
  tensors_.matrices[kKey] = Matrix(other_);
  tensors_.matrices[kGate] = Matrix({});
  Keep();
  EXPECT_EQ(Kept(), (std::vector<int>{kOutput, kDown}));
  EXPECT_EQ(RowOf(matrix(kGate), 0), order_[0]);
}

TEST_F(ColumnOrderTest, RowsThatABiasBelongsToStayWhereTheyAre) {
  mlp_.up.bias = TableId{0};
  Keep();
  EXPECT_EQ(Kept(), (std::vector<int>{kQuery, kKey, kValue, kOutput, kGate, kUp}));
  EXPECT_EQ(RowOf(matrix(kUp), 0), 0);
}

TEST_F(ColumnOrderTest, WhatTwoLayersReadStaysWhatItIs) {
  Keep(2);
  EXPECT_TRUE(Kept().empty());
  EXPECT_EQ(RowOf(matrix(kGate), 0), 0);
}

TEST_F(ColumnOrderTest, LatentAttentionHasNone) {
  layer_.latent.emplace();
  Keep();
  EXPECT_EQ(Kept(), (std::vector<int>{kGate, kUp, kDown}));
}

// quantized_test.cc has what they compute.
TEST(ColumnOrderModelTest, CheckpointsKeepTheirFewBits) {
  for (const std::string fixture : {"gptq_act_order", "ct_w4a16_act_order"}) {
    const Checkpoint checkpoint =
        LoadOrThrow(SourcePath("tests/model/fixtures/quantized/") + fixture + "/");
    int64_t ordered = 0;
    for (const BoundMatrix& matrix : checkpoint.tensors.matrices) {
      if (!matrix.assembled) continue;
      EXPECT_TRUE(HasIntegerCodes(matrix.type())) << fixture;
      ordered += matrix.assembled->column_order.empty() ? 0 : 1;
    }
    EXPECT_GT(ordered, 0) << fixture;
  }
}

}  // namespace
}  // namespace weft
