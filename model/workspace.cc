#include "model/workspace.h"

#include <algorithm>
#include <vector>

#include "base/checked_math.h"
#include "model/kernels/int8_residual.h"
#include "model/kernels/kv_page.h"
#include "model/kv_cache.h"
#include "model/state.h"

namespace weft {

namespace {

// What the kernels of an arithmetic read, whichever the weights' types, but that f16's are said.
std::vector<OperandType> OperandTypesOf(Arithmetic arithmetic, bool has_f16) {
  if (arithmetic == Arithmetic::kF32) return {OperandType::kF32};
  std::vector<OperandType> types = {OperandType::kBF16};
  if (arithmetic == Arithmetic::kInt8 || arithmetic == Arithmetic::kInt8Pair) {
    types.push_back(OperandType::kInt8);
  }
  if (has_f16) types.push_back(OperandType::kF32);
  return types;
}

}  // namespace

Operands OperandBuffer::Rows(int64_t row_count) const {
  Operands rows;
  for (size_t i = 0; i < kOperandTypeCount; ++i) {
    const int64_t group_bytes = OperandGroupBytes(static_cast<OperandType>(i));
    rows.by_type[i] =
        whole_rows_ ? OperandRows{data_[i], OperandGroups(columns_) * group_bytes, group_bytes}
                    : OperandRows{data_[i], group_bytes, row_count * group_bytes};
  }
  OperandRows& int8 = rows.by_type[static_cast<size_t>(OperandType::kInt8)];
  int8.residuals = residuals_;
  int8.residual_row_bytes = ResidualBytes(columns_);
  return rows;
}

// Hands out aligned pieces of one buffer; without a buffer it only counts.
class Workspace::Arena {
 public:
  Arena(std::byte* base, Arithmetic arithmetic, bool has_f16)
      : base_(base),
        operand_types_(OperandTypesOf(arithmetic, has_f16)),
        whole_rows_(arithmetic == Arithmetic::kF32) {}

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
  // The same, an odd number of cache lines apart: of rows whose width is a power of two, or a few
  // times one, the same columns would lie in few of the cache's sets.
  FloatRows SpreadFloats(int64_t rows, int64_t columns) {
    constexpr int64_t kLineFloats = AlignedBuffer::kAlignment / sizeof(float);
    return Floats(rows, (CeilDivide(columns, kLineFloats) | 1) * kLineFloats);
  }
  OperandBuffer Operands(int64_t rows, int64_t columns, bool with_residuals = false) {
    std::array<std::byte*, kOperandTypeCount> data = {};
    std::byte* residuals = nullptr;
    for (const OperandType type : operand_types_) {
      data[static_cast<size_t>(type)] =
          Take(rows * OperandGroups(columns) * OperandGroupBytes(type));
      if (type == OperandType::kInt8 && with_residuals) {
        residuals = Take(rows * ResidualBytes(columns));
      }
    }
    return {data, columns, residuals, whole_rows_};
  }
  int64_t used_bytes() const { return used_bytes_; }

 private:
  std::byte* base_;
  const std::vector<OperandType> operand_types_;
  const bool whole_rows_;
  int64_t used_bytes_ = 0;
};

namespace {

// Enough for the partial results of all row blocks that may be cut at a time (see
// PrepareAttention), but of very long contexts only what fits the limit: the rest is not cut.
int64_t PartialFloats(const AttentionSpec& attention, int64_t context_length,
                      const WorkspaceOptions& options) {
  constexpr int64_t kMaxFloats = int64_t{4} << 20;
  const int64_t wanted_tasks = Workspace::kAttentionTasksPerThread * options.thread_count;
  const int64_t cut_blocks = (wanted_tasks - 1) / attention.group_count();
  const int64_t rows = std::min(options.max_rows, cut_blocks * Workspace::kRowsPerAttentionTask);
  const int64_t spans = CeilDivide(context_length, kAttentionSpan) + 1;
  const int64_t row_floats =
      attention.head_count * AttentionPartialFloats(attention.value_dim) * spans;
  return row_floats > kMaxFloats ? std::min(rows, int64_t{1}) * kMaxFloats
                                 : std::min(kMaxFloats, rows * row_floats);
}

// The most that any layer needs of each buffer that they share.
struct Widths {
  int64_t query = 0;
  int64_t key = 0;
  int64_t value = 0;
  int64_t attended = 0;
  int64_t attention_scratch_bytes = 0;
  int64_t attention_partial_floats = 0;
  int64_t slots_per_row = 1;  // (row, chosen expert) pairs, or the row itself
  int64_t mlp = 0;
  int64_t experts = 0;
  bool has_block_output = false;
  // Latent attention.
  int64_t query_latent = 0;
  int64_t head_rows = 0;
  int64_t heads = 0;
  int64_t head_operands = 0;
};

void Raise(int64_t& most, int64_t value) { most = std::max(most, value); }

void RaiseForAttention(const ModelSpec& spec, const AttentionSpec& attention,
                       const KernelTable& kernels, const WorkspaceOptions& options,
                       Widths& widths) {
  Raise(widths.query,
        attention.query_size() + (attention.output_gate ? attention.attended_size() : int64_t{0}));
  Raise(widths.key, attention.key_size());
  Raise(widths.value, attention.value_size());
  Raise(widths.attended, attention.attended_size());
  Raise(widths.attention_scratch_bytes,
        kernels.attention_scratch_bytes(
            KvCache::LayoutOf(attention, kernels, options.block_size),
            Workspace::kRowsPerAttentionTask * attention.heads_per_group()));
  if (kernels.attend_spans == nullptr || options.thread_count == 1) return;
  Raise(widths.attention_partial_floats, PartialFloats(attention, spec.context_length, options));
}

void RaiseForLayers(const ModelSpec& spec, Widths& widths) {
  for (const LayerSpec& layer : spec.layers) {
    if (const std::optional<LatentSpec>& latent = layer.latent) {
      const int64_t heads = layer.attention.head_count;
      Raise(widths.query_latent, latent->query_rank);
      Raise(widths.head_rows, heads * std::max(latent->head_query_dim(), latent->value_dim));
      Raise(widths.heads, heads);
      Raise(widths.head_operands, std::max(latent->plain_dim, latent->rank));
      Raise(widths.attended, heads * latent->value_dim);
    }
    if (layer.short_conv) {
      Raise(widths.query, 3 * spec.hidden_size);
      Raise(widths.attended, spec.hidden_size);
    }
    if (const std::optional<DeltaNetSpec>& net = layer.delta_net) {
      Raise(widths.query, net->channels());
      Raise(widths.key, net->channels());
      Raise(widths.value, net->values() + 2 * net->value_head_count);
      Raise(widths.attended, net->values());
    }
    if (const std::optional<StateSpaceSpec>& space = layer.state_space) {
      Raise(widths.query, space->projected());
      Raise(widths.attended, space->channels());
      Raise(widths.value, space->values());
    }
    widths.has_block_output |= layer.mixer_count() > 1 || layer.attention_output_norm ||
                               layer.mlp_output_norm || layer.is_parallel ||
                               layer.residual_multiplier != 1 || layer.per_layer_input;
    if (const MixtureSpec* mixture = layer.mixture()) {
      Raise(widths.slots_per_row, mixture->experts_per_token);
      Raise(widths.mlp, std::max(mixture->width, mixture->shared.width));
      Raise(widths.experts, mixture->expert_count);
    } else {
      Raise(widths.mlp, std::get<DenseMlpSpec>(layer.mlp).width);
    }
  }
}

Widths WidthsOf(const ModelSpec& spec, const KernelTable& kernels,
                const WorkspaceOptions& options) {
  Widths widths;
  widths.mlp = spec.embedding.per_layer.size;
  widths.has_block_output = static_cast<bool>(spec.head.projection);
  for (int64_t layer = 0; layer < CachedLayerCount(spec); ++layer) {
    if (!CachedLayer(spec, layer)) continue;
    RaiseForAttention(spec, CachedLayer(spec, layer), kernels, options, widths);
  }
  RaiseForLayers(spec, widths);
  if (spec.encoder) RaiseForLayers(*spec.encoder, widths);
  return widths;
}

}  // namespace

void Workspace::Lay(const ModelSpec& spec, const KernelTable& kernels, Arena& arena) {
  const int64_t rows = options_.max_rows;
  const Widths widths = WidthsOf(spec, kernels, options_);
  const int64_t slots = rows * widths.slots_per_row;

  residual = arena.Floats(rows, spec.hidden_size);
  normed_row = arena.Floats(options_.thread_count, spec.hidden_size);
  ordered_row = arena.Floats(options_.thread_count, std::max(spec.hidden_size, widths.attended));
  normed = arena.Operands(rows, spec.hidden_size, /*with_residuals=*/true);
  query = arena.Floats(rows, widths.query);
  key = arena.Floats(rows, widths.key);
  value = arena.Floats(rows, widths.value);
  rotations.clear();
  for (const RopeSpec& rope : spec.ropes) {
    RotationRows& rotation = rotations.emplace_back();
    rotation.cos = arena.Floats(rows, rope.rotary_dim / 2);
    rotation.sin = arena.Floats(rows, rope.rotary_dim / 2);
  }
  attended = arena.Floats(rows, widths.attended);
  attention = arena.Operands(rows, widths.attended);
  gate = arena.SpreadFloats(slots, widths.mlp);
  up = arena.SpreadFloats(slots, widths.mlp);
  activated = arena.Operands(slots, widths.mlp);
  if (const int64_t size = spec.embedding.per_layer.size; size > 0) {
    per_layer_inputs = arena.Floats(rows, spec.layer_count() * size);
    per_layer_row = arena.Floats(options_.thread_count, spec.layer_count() * size);
  }
  const int64_t logit_rows = spec.has_head() ? std::min(rows, kLogitRowsPerPiece) : 0;
  logits = {reinterpret_cast<float*>(
                arena.Take(logit_rows * spec.vocab_size * static_cast<int64_t>(sizeof(float)))),
            spec.vocab_size};
  attention_scratch_bytes_ =
      RoundUp(widths.attention_scratch_bytes, static_cast<int64_t>(AlignedBuffer::kAlignment));
  attention_scratch_ = arena.Take(options_.thread_count * attention_scratch_bytes_);
  attention_partial_floats = widths.attention_partial_floats;
  attention_partials = reinterpret_cast<float*>(
      arena.Take(attention_partial_floats * static_cast<int64_t>(sizeof(float))));
  if (widths.heads > 0) {
    query_latent = arena.Floats(rows, widths.query_latent);
    query_latent_operands = arena.Operands(rows, widths.query_latent,
                                           /*with_residuals=*/true);
    head_rows = arena.Floats(rows, widths.head_rows);
    head_operands = arena.Operands(widths.heads * rows, widths.head_operands);
  }
  if (widths.has_block_output) block_output = arena.Floats(rows, spec.hidden_size);
  if (widths.experts == 0) return;
  router_logits = arena.Floats(rows, widths.experts);
  router_corrected = arena.Floats(rows, widths.experts);
  row_factors = arena.Floats(1, rows).data;
  expert_output = arena.Floats(slots, spec.hidden_size);
}

const AttentionPlan& Workspace::PlanFor(const AttentionSpec& layer) const {
  const auto is_for = [&](const AttentionPlan& plan) { return plan.IsFor(layer); };
  return *std::ranges::find_if(attention_plans, is_for);
}

int64_t Workspace::Bytes(const ModelSpec& spec, const KernelTable& kernels,
                         const WorkspaceOptions& options) {
  Arena counting(nullptr, kernels.arithmetic, options.has_f16);
  const Workspace unused(options, counting, spec, kernels);
  return counting.used_bytes();
}

Workspace::Workspace(const WorkspaceOptions& options, Arena& arena, const ModelSpec& spec,
                     const KernelTable& kernels)
    : options_(options) {
  Lay(spec, kernels, arena);
}

Workspace::Workspace(const ModelSpec& spec, const KernelTable& kernels,
                     const WorkspaceOptions& options)
    : options_(options), storage_(static_cast<size_t>(Bytes(spec, kernels, options))) {
  Arena arena(storage_.data(), kernels.arithmetic, options.has_f16);
  Lay(spec, kernels, arena);
  const auto rows = static_cast<size_t>(options.max_rows);
  row_sequence.resize(rows);
  const auto pieces = static_cast<size_t>(kAttentionTasksPerThread * options.thread_count);
  for (int64_t layer = 0; layer < CachedLayerCount(spec); ++layer) {
    const AttentionSpec& of_layer = CachedLayer(spec, layer);
    if (!of_layer) continue;
    const auto is_for = [&](const AttentionPlan& plan) { return plan.IsFor(of_layer); };
    if (std::ranges::any_of(attention_plans, is_for)) continue;
    AttentionPlan& plan = attention_plans.emplace_back(of_layer);
    plan.tasks.reserve(rows + pieces);
    plan.cut.reserve(pieces);
  }
  const Widths widths = WidthsOf(spec, kernels, options);
  if (widths.experts == 0) return;
  const size_t slots = rows * static_cast<size_t>(widths.slots_per_row);
  const auto experts = static_cast<size_t>(widths.experts);
  chosen_expert.resize(slots);
  chosen_weight.resize(slots);
  slot_of_choice.resize(slots);
  row_of_slot.resize(slots);
  first_slot.resize(experts + 1);
  active_experts.reserve(experts);
  expert_tokens.resize(spec.layers.size() * experts);
}

}  // namespace weft
