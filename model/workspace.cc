#include "model/workspace.h"

#include <algorithm>
#include <span>

#include "base/checked_math.h"
#include "model/kernels/kv_page.h"

namespace weft {

namespace {

// What the kernels of an arithmetic read, whichever the weights' types.
std::span<const OperandType> OperandTypesOf(Arithmetic arithmetic) {
  static constexpr OperandType kTypes[] = {OperandType::kF32, OperandType::kBF16,
                                           OperandType::kInt8};
  const std::span<const OperandType> types = kTypes;
  switch (arithmetic) {
    case Arithmetic::kF32:
      return types.subspan(0, 1);
    case Arithmetic::kBF16:
      return types.subspan(1, 1);
    case Arithmetic::kInt8:
      return types.subspan(1, 2);
  }
  return types;
}

}  // namespace

Operands OperandBuffer::Rows(int64_t row_count) const {
  Operands rows;
  for (size_t i = 0; i < kOperandTypeCount; ++i) {
    const int64_t group_bytes = OperandGroupBytes(static_cast<OperandType>(i));
    rows.by_type[i] = {data_[i], group_bytes, row_count * group_bytes};
  }
  const int64_t group_bytes = OperandGroupBytes(OperandType::kF32);
  rows.by_type[static_cast<size_t>(OperandType::kF32)] = {
      data_[static_cast<size_t>(OperandType::kF32)], OperandGroups(columns_) * group_bytes,
      group_bytes};
  return rows;
}

// Hands out aligned pieces of one buffer; without a buffer it only counts.
class Workspace::Arena {
 public:
  explicit Arena(std::byte* base) : base_(base) {}

  std::byte* Take(int64_t size_bytes) {
    std::byte* piece = base_ == nullptr ? nullptr : base_ + used_bytes_;
    used_bytes_ += RoundUp(size_bytes, static_cast<int64_t>(AlignedBuffer::kAlignment));
    return piece;
  }
  FloatRows Floats(int64_t rows, int64_t columns) {
    constexpr int64_t kFloatBytes = sizeof(float);
    const int64_t stride = RoundUp(columns, AlignedBuffer::kAlignment / kFloatBytes);
    return {reinterpret_cast<float*>(Take(rows * stride * kFloatBytes)), stride};
  }
  OperandBuffer Operands(int64_t rows, int64_t columns, Arithmetic arithmetic) {
    std::array<std::byte*, kOperandTypeCount> data = {};
    for (const OperandType type : OperandTypesOf(arithmetic)) {
      data[static_cast<size_t>(type)] =
          Take(rows * OperandGroups(columns) * OperandGroupBytes(type));
    }
    return {data, columns};
  }
  int64_t used_bytes() const { return used_bytes_; }

 private:
  std::byte* base_;
  int64_t used_bytes_ = 0;
};

namespace {

// Enough for the partial results of all row blocks that may be cut at a time (see
// PrepareAttention), but of very long contexts only what fits the limit: the rest is not cut.
int64_t PartialFloats(const ModelConfig& config, const KernelTable& kernels,
                      const WorkspaceOptions& options) {
  constexpr int64_t kMaxFloats = int64_t{4} << 20;
  if (kernels.attend_spans == nullptr || options.thread_count == 1) return 0;
  const int64_t wanted_tasks = Workspace::kAttentionTasksPerThread * options.thread_count;
  const int64_t cut_blocks = (wanted_tasks - 1) / config.kv_head_count;
  const int64_t rows = std::min(options.max_rows, cut_blocks * Workspace::kRowsPerAttentionTask);
  const int64_t spans = CeilDivide(config.context_length, kAttentionSpan) + 1;
  const int64_t row_floats = config.head_count * AttentionPartialFloats(config.head_dim) * spans;
  return row_floats > kMaxFloats ? std::min(rows, int64_t{1}) * kMaxFloats
                                 : std::min(kMaxFloats, rows * row_floats);
}

}  // namespace

void Workspace::Lay(const ModelConfig& config, const KernelTable& kernels, Arena& arena) {
  const int64_t rows = options_.max_rows;
  const bool moe = config.is_moe();
  const int64_t slots = moe ? rows * config.moe.experts_per_token : rows;
  const int64_t width = moe ? config.moe.feed_forward_length : config.feed_forward_length;

  residual = arena.Floats(rows, config.hidden_size);
  normed_row = arena.Floats(options_.thread_count, config.hidden_size);
  normed = arena.Operands(rows, config.hidden_size, kernels.arithmetic);
  query = arena.Floats(rows, config.query_size());
  key = arena.Floats(rows, config.kv_size());
  value = arena.Floats(rows, config.kv_size());
  cos = arena.Floats(rows, config.rope.rotary_dim / 2);
  sin = arena.Floats(rows, config.rope.rotary_dim / 2);
  attended = arena.Floats(rows, config.query_size());
  attention = arena.Operands(rows, config.query_size(), kernels.arithmetic);
  gate = arena.Floats(slots, width);
  up = arena.Floats(slots, width);
  activated = arena.Operands(slots, width, kernels.arithmetic);
  logits = {
      reinterpret_cast<float*>(arena.Take(std::min(rows, kLogitRowsPerPiece) * config.vocab_size *
                                          static_cast<int64_t>(sizeof(float)))),
      config.vocab_size};
  const KvLayout layout = {options_.block_size, config.head_dim,
                           kernels.kv_page_bytes(options_.block_size, config.head_dim)};
  attention_scratch_bytes_ =
      RoundUp(kernels.attention_scratch_bytes(
                  layout, kRowsPerAttentionTask * (config.head_count / config.kv_head_count)),
              static_cast<int64_t>(AlignedBuffer::kAlignment));
  attention_scratch_ = arena.Take(options_.thread_count * attention_scratch_bytes_);
  attention_partial_floats = PartialFloats(config, kernels, options_);
  attention_partials = reinterpret_cast<float*>(
      arena.Take(attention_partial_floats * static_cast<int64_t>(sizeof(float))));
  if (!moe) return;
  router_logits = arena.Floats(rows, config.moe.expert_count);
  expert_output = arena.Floats(slots, config.hidden_size);
}

int64_t Workspace::Bytes(const ModelConfig& config, const KernelTable& kernels,
                         const WorkspaceOptions& options) {
  Arena counting(nullptr);
  const Workspace unused(options, counting, config, kernels);
  return counting.used_bytes();
}

Workspace::Workspace(const WorkspaceOptions& options, Arena& arena, const ModelConfig& config,
                     const KernelTable& kernels)
    : options_(options) {
  Lay(config, kernels, arena);
}

Workspace::Workspace(const ModelConfig& config, const KernelTable& kernels,
                     const WorkspaceOptions& options)
    : options_(options), storage_(static_cast<size_t>(Bytes(config, kernels, options))) {
  Arena arena(storage_.data());
  Lay(config, kernels, arena);
  const auto rows = static_cast<size_t>(options.max_rows);
  row_sequence.resize(rows);
  const auto pieces = static_cast<size_t>(kAttentionTasksPerThread * options.thread_count);
  attention_tasks.reserve(rows + pieces);
  cut_attention.reserve(pieces);
  if (!config.is_moe()) return;
  const size_t slots = rows * static_cast<size_t>(config.moe.experts_per_token);
  const auto experts = static_cast<size_t>(config.moe.expert_count);
  chosen_expert.resize(slots);
  chosen_weight.resize(slots);
  slot_of_choice.resize(slots);
  row_of_slot.resize(slots);
  first_slot.resize(experts + 1);
  active_experts.reserve(experts);
  expert_tokens.resize(static_cast<size_t>(config.layer_count) * experts);
}

}  // namespace weft
