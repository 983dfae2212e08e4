#include "model/kernels/amx_check.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/float_env.h"

namespace weft {
namespace {

constexpr int64_t kOutputs = 5 * kPanelRows - 3;
constexpr int64_t kColumns = 512;
constexpr int64_t kRows = 40;

// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled",
// 2016).
class Numbers {
 public:
  uint32_t Bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>(state_ * 0x2545f4914f6cdd1d >> 32);
  }
  float Uniform() { return static_cast<float>(static_cast<int32_t>(Bits())) * 0x1p-31F; }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15;
};

// Random panels. Odd bytes are such that an f16 or bf16 which ends in one is finite, and near
// enough to others that their sums round.
PackedMatrix RandomWeights(const KernelTable& kernels, DataType layout, Numbers& numbers) {
  PackedMatrix weights;
  weights.layout = layout;
  weights.rows = kOutputs;
  weights.columns = kColumns;
  weights.panel_bytes = kernels.panel_bytes(layout, kColumns);
  weights.storage = AlignedBuffer(static_cast<size_t>(weights.panel_count() * weights.panel_bytes));
  bool odd = false;
  for (std::byte& byte : weights.storage.bytes()) {
    const uint32_t bits = numbers.Bits();
    byte = static_cast<std::byte>(odd ? (bits & 0x87) | 0x38 : bits);
    odd = !odd;
  }
  return weights;
}

AlignedBuffer RandomOperands(const KernelTable& kernels, OperandType type, Numbers& numbers) {
  const int64_t group_bytes = OperandGroupBytes(type);
  AlignedBuffer operands(static_cast<size_t>(kRows * OperandGroups(kColumns) * group_bytes));
  std::array<float, kColumns> x;
  for (int64_t row = 0; row < kRows; ++row) {
    for (float& value : x) value = numbers.Uniform();
    kernels.to_operand(type, x.data(), kColumns, operands.data() + row * group_bytes,
                       kRows * group_bytes);
  }
  return operands;
}

bool SameProduct(const KernelTable& a, const KernelTable& b, MatmulTask task) {
  const auto size = static_cast<size_t>(task.row_count * kOutputs);
  std::vector<float> y_a(size);
  std::vector<float> y_b(size);
  task.y_stride = kOutputs;
  task.y = y_a.data();
  a.matmul(task);
  task.y = y_b.data();
  b.matmul(task);
  return std::memcmp(y_a.data(), y_b.data(), size * sizeof(float)) == 0;
}

bool SameForLayout(const KernelTable& a, const KernelTable& b, DataType layout, Numbers& numbers) {
  const OperandType type = b.operand_type(layout);
  const PackedMatrix weights = RandomWeights(b, layout, numbers);
  const AlignedBuffer operands = RandomOperands(b, type, numbers);
  MatmulTask task;
  task.weights = &weights;
  task.panel_count = weights.panel_count();
  task.x = operands.data();
  task.x_row_bytes = OperandGroupBytes(type);
  task.x_group_bytes = kRows * task.x_row_bytes;
  for (const int64_t row_count : {int64_t{1}, int64_t{9}, kRows}) {
    task.row_count = row_count;
    if (!SameProduct(a, b, task)) return false;
  }
  std::array<int32_t, kRows> gathered;
  for (int32_t& row : gathered) row = static_cast<int32_t>(numbers.Bits() % kRows);
  task.x_rows = gathered.data();
  return SameProduct(a, b, task);
}

}  // namespace

bool SameProducts(const KernelTable& a, const KernelTable& b) {
  const ScopedFlushDenormals flush;
  Numbers numbers;
  for (const DataType layout :
       {DataType::kBF16, DataType::kQ8_0, DataType::kQ4_0, DataType::kQ4_1, DataType::kQ5_0,
        DataType::kQ5_1, DataType::kQ4_K, DataType::kQ5_K, DataType::kQ6_K}) {
    if (!SameForLayout(a, b, layout, numbers)) return false;
  }
  return true;
}

}  // namespace weft
