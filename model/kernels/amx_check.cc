#include "model/kernels/amx_check.h"

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/float_env.h"
#include "model/kernels/panel_layout.h"

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

// Of scales that are exponents.
void SetNearExponents(PackedMatrix& weights, Numbers& numbers) {
  constexpr int64_t kGroups = kColumns / kGroupColumns;
  for (int64_t panel = 0; panel < weights.panel_count(); ++panel) {
    std::byte* const bytes = weights.storage.data() + panel * weights.panel_bytes;
    for (int64_t group = 0; group < kGroups; ++group) {
      std::byte* const exponents = bytes + FieldsOf(LayoutOf(weights.layout), group, kGroups).scale;
      for (int64_t lane = 0; lane < kPanelRows; ++lane) {
        exponents[lane] = static_cast<std::byte>(120 + numbers.Bits() % 8);
      }
    }
  }
}

// Random panels. Odd bytes are such that an f16, bf16 or float32 which ends in one is finite, and
// near enough to others that their sums round; even ones such that no code of e4m3 is NaN.
PackedMatrix RandomWeights(const KernelTable& kernels, PanelFormat layout, Numbers& numbers) {
  PackedMatrix weights;
  weights.layout = layout;
  weights.rows = kOutputs;
  weights.columns = kColumns;
  weights.panel_bytes = kernels.panel_bytes(layout, kColumns);
  weights.storage = AlignedBuffer(static_cast<size_t>(weights.panel_count() * weights.panel_bytes));
  bool odd = false;
  for (std::byte& byte : weights.storage.bytes()) {
    const uint32_t bits = numbers.Bits();
    const uint32_t finite = (bits & 0x7f) == 0x7f ? bits ^ 1 : bits;
    byte = static_cast<std::byte>(odd ? (bits & 0x87) | 0x38 : finite);
    odd = !odd;
  }
  if (IsQuantized(layout) && TraitsOf(layout).scale == PanelScale::kExponent) {
    SetNearExponents(weights, numbers);
  }
  return weights;
}

AlignedBuffer RandomOperands(const KernelTable& kernels, OperandType type, float magnitude,
                             Numbers& numbers) {
  const int64_t group_bytes = OperandGroupBytes(type);
  AlignedBuffer operands(static_cast<size_t>(kRows * OperandGroups(kColumns) * group_bytes));
  std::array<float, kColumns> x;
  for (int64_t row = 0; row < kRows; ++row) {
    for (float& value : x) value = numbers.Uniform() * magnitude;
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

bool SameForLayout(const KernelTable& a, const KernelTable& b, PanelFormat layout, float magnitude,
                   Numbers& numbers) {
  const OperandType type = b.operand_type(layout);
  const PackedMatrix weights = RandomWeights(b, layout, numbers);
  const AlignedBuffer operands = RandomOperands(b, type, magnitude, numbers);
  MatmulTask task;
  task.weights = &weights;
  task.panel_count = weights.panel_count();
  task.x = operands.data();
  task.x_row_bytes = OperandGroupBytes(type);
  task.x_group_bytes = kRows * task.x_row_bytes;
  for (const int64_t row_count : {int64_t{1}, int64_t{14}, kRows}) {
    task.row_count = row_count;
    if (!SameProduct(a, b, task)) return false;
  }
  std::array<int32_t, kRows> gathered;
  for (int32_t& row : gathered) row = static_cast<int32_t>(numbers.Bits() % kRows);
  task.x_rows = gathered.data();
  return SameProduct(a, b, task);
}

// Blocks that cut groups of 32 slots, and rows on both sides of a span's end.
constexpr int64_t kBlockSize = 48;
constexpr int64_t kKeyDim = 96;
constexpr int64_t kValueDim = 160;
constexpr int64_t kHeads = 3;
constexpr int64_t kQueries = 14;
constexpr int64_t kPositions = kAttentionSpan + kQueries / 2;
constexpr int64_t kBlocks = (kPositions + kBlockSize - 1) / kBlockSize;

AlignedBuffer RandomPages(const KernelTable& kernels, const KvLayout& layout, Numbers& numbers) {
  AlignedBuffer pages(static_cast<size_t>(kBlocks * layout.page_bytes));
  std::array<float, kKeyDim> key;
  std::array<float, kValueDim> value;
  for (int64_t position = 0; position < kPositions; ++position) {
    for (float& x : key) x = numbers.Uniform();
    for (float& x : value) x = numbers.Uniform();
    kernels.kv_write(layout, pages.data() + position / kBlockSize * layout.page_bytes,
                     position % kBlockSize, key.data(), value.data());
  }
  return pages;
}

std::vector<float> Attend(const KernelTable& kernels, AttentionTask task) {
  std::vector<float> out(static_cast<size_t>(task.row_count * task.out_stride));
  AlignedBuffer scratch(static_cast<size_t>(
      kernels.attention_scratch_bytes(task.layout, task.row_count * task.heads)));
  task.out = out.data();
  task.scratch = scratch.data();
  kernels.attention(task);
  return out;
}

}  // namespace

bool SameProducts(const KernelTable& a, const KernelTable& b, float magnitude) {
  const ScopedFlushDenormals flush;
  Numbers numbers;
  if (!SameForLayout(a, b, PanelFormat::kBF16, magnitude, numbers)) return false;
  for (int i = 0; i < kQuantizedPanels; ++i) {
    if (!SameForLayout(a, b, QuantizedPanel(i), magnitude, numbers)) return false;
  }
  return true;
}

bool SameAttention(const KernelTable& a, const KernelTable& b) {
  const ScopedFlushDenormals flush;
  Numbers numbers;
  AttentionTask task;
  task.layout = {.block_size = kBlockSize, .key_dim = kKeyDim, .value_dim = kValueDim};
  task.layout.page_bytes = b.kv_page_bytes(task.layout);
  const AlignedBuffer pages = RandomPages(b, task.layout, numbers);
  std::array<int32_t, kBlocks> table;
  std::iota(table.begin(), table.end(), 0);
  std::vector<float> query(static_cast<size_t>(kQueries * kHeads * kKeyDim));
  for (float& x : query) x = numbers.Uniform();
  task.pages = pages.data();
  task.page_stride_bytes = task.layout.page_bytes;
  task.block_table = table.data();
  task.row_count = kQueries;
  task.first_position = kPositions - kQueries;
  task.heads = kHeads;
  task.scale = 1;
  task.query = query.data();
  task.query_stride = kHeads * kKeyDim;
  task.out_stride = kHeads * kValueDim;
  for (const int64_t window : {int64_t{0}, kPositions / 2}) {
    task.sliding_window = window;
    const std::vector<float> out_a = Attend(a, task);
    const std::vector<float> out_b = Attend(b, task);
    if (std::memcmp(out_a.data(), out_b.data(), out_a.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace weft
