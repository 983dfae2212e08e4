#include "model/mlp.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// Panels of one task of an expert: small experts are one task, large ones many.
constexpr int64_t kExpertPanelsPerTask = 16;

// The columns that these panels made of activation(gate) * up, as operands for `down`. The product
// takes the place of `gate`.
void Activate(const Step& step, FloatRows gate, FloatRows up, Panels panels, int64_t row_count,
              const PackedMatrix& down, const Operands& out) {
  const int64_t first = panels.first * kPanelRows;
  const int64_t count = std::min(panels.count * kPanelRows, down.columns - first);
  for (int64_t row = 0; row < row_count; ++row) {
    float* product = gate[row] + first;
    step.kernels.gated_activation(product, up[row] + first, count, step.config.activation, product);
    WriteOperands(step.kernels, {&down}, product, count, out, row, first / kGroupColumns);
  }
}

// The experts of one row and their weights, in ascending order of the expert's index.
void Route(const Step& step, const LayerWeights& weights, int64_t row, const float* x) {
  const MoeConfig& moe = step.config.moe;
  Workspace& buffers = step.buffers;
  const int64_t chosen_count = moe.experts_per_token;
  float* logits = buffers.router_logits[row];
  int32_t* chosen = buffers.chosen_expert.data() + row * chosen_count;
  float* weight = buffers.chosen_weight.data() + row * chosen_count;

  step.kernels.dense_dot(x, weights.router.data(), moe.expert_count, step.config.hidden_size,
                         logits);
  TopK(logits, moe.expert_count, chosen_count, chosen);
  if (moe.softmax_before_choice) step.kernels.softmax(logits, moe.expert_count);
  for (int64_t i = 0; i < chosen_count; ++i) weight[i] = logits[chosen[i]];
  if (!moe.softmax_before_choice) step.kernels.softmax(weight, chosen_count);
  if (moe.renormalize) {
    const float sum = std::accumulate(weight, weight + chosen_count, 0.0F);
    for (int64_t i = 0; i < chosen_count; ++i) weight[i] /= sum;
  }
  for (int64_t i = 1; i < chosen_count; ++i) {  // a handful: insertion sort
    for (int64_t j = i; j > 0 && chosen[j] < chosen[j - 1]; --j) {
      std::swap(chosen[j], chosen[j - 1]);
      std::swap(weight[j], weight[j - 1]);
    }
  }
}

// Counting sort of all (row, chosen expert) pairs by expert.
void GroupByExpert(const Step& step) {
  Workspace& buffers = step.buffers;
  const int64_t chosen_count = step.config.moe.experts_per_token;
  const int64_t pair_count = step.row_count * chosen_count;
  std::vector<int32_t>& first_slot = buffers.first_slot;
  std::fill(first_slot.begin(), first_slot.end(), 0);
  for (int64_t pair = 0; pair < pair_count; ++pair) {
    ++first_slot[static_cast<size_t>(buffers.chosen_expert[static_cast<size_t>(pair)]) + 1];
  }
  buffers.active_experts.clear();
  for (size_t expert = 0; expert + 1 < first_slot.size(); ++expert) {
    if (first_slot[expert + 1] > 0) buffers.active_experts.push_back(static_cast<int32_t>(expert));
    first_slot[expert + 1] += first_slot[expert];
  }
  for (int64_t pair = 0; pair < pair_count; ++pair) {
    const auto expert = static_cast<size_t>(buffers.chosen_expert[static_cast<size_t>(pair)]);
    const int32_t slot = first_slot[expert]++;  // for now: the expert's next free slot
    buffers.slot_of_choice[static_cast<size_t>(pair)] = slot;
    buffers.row_of_slot[static_cast<size_t>(slot)] = static_cast<int32_t>(pair / chosen_count);
  }
  // Every entry has moved to its expert's end, which is the next one's beginning.
  std::copy_backward(first_slot.begin(), first_slot.end() - 1, first_slot.end());
  first_slot[0] = 0;
}

void CountExperts(const Step& step, int64_t layer) {
  Workspace& buffers = step.buffers;
  int64_t* const counts = buffers.expert_tokens.data() + layer * step.config.moe.expert_count;
  for (const int32_t expert : buffers.active_experts) {
    const auto e = static_cast<size_t>(expert);
    counts[e] += buffers.first_slot[e + 1] - buffers.first_slot[e];
  }
}

// Calls work(expert, its first slot, its slot count, panels) for every active expert and every
// piece of `panel_count` panels. Packing places all of an expert on one node.
template <typename Work>
void ParallelExperts(const Step& step, int64_t panel_count, const Work& work) {
  const Workspace& buffers = step.buffers;
  const std::vector<int32_t>& active = buffers.active_experts;
  const int64_t pieces = CeilDivide(panel_count, kExpertPanelsPerTask);
  const auto first_task = [&](int node) {
    const int64_t expert = step.threads.FirstOfNode(node, step.config.moe.expert_count);
    return pieces * (std::lower_bound(active.begin(), active.end(), expert) - active.begin());
  };
  step.threads.ParallelForByNode(first_task, [&](int64_t task, int) {
    const auto expert = static_cast<size_t>(active[static_cast<size_t>(task / pieces)]);
    const int64_t first = task % pieces * kExpertPanelsPerTask;
    const int64_t slot = buffers.first_slot[expert];
    work(expert, slot, buffers.first_slot[expert + 1] - slot,
         Panels{first, std::min(kExpertPanelsPerTask, panel_count - first)});
  });
}

}  // namespace

void DenseMlp(const Step& step, const LayerWeights& weights) {
  OperatorTimer timer(step.profile, Operator::kNorm);
  const KernelTable& kernels = step.kernels;
  const Workspace& b = step.buffers;
  const int64_t hidden = step.config.hidden_size;
  const Operands normed = b.normed.Rows(step.row_count);
  const Operands activated = b.activated.Rows(step.row_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int thread) {
    kernels.rms_norm(b.residual[row], weights.mlp_norm.data(), hidden, step.epsilon(),
                     b.normed_row[thread]);
    WriteOperands(kernels, {&weights.gate, &weights.up}, b.normed_row[thread], hidden, normed, row);
  });
  timer.Next(Operator::kGateUp);
  const int64_t panel_weights = 2 * kPanelRows * weights.gate.columns;
  ParallelPanels(step, weights.gate.panel_count(), panel_weights, step.row_count,
                 [&](Panels panels) {
                   Multiply(kernels, weights.gate, panels, normed, nullptr, step.row_count, b.gate);
                   Multiply(kernels, weights.up, panels, normed, nullptr, step.row_count, b.up);
                   Activate(step, b.gate, b.up, panels, step.row_count, weights.down, activated);
                 });
  timer.Next(Operator::kDown);
  ParallelMultiply(step, weights.down, activated, step.row_count, b.residual, /*accumulate=*/true);
}

void MixtureMlp(const Step& step, const LayerWeights& weights, int64_t layer) {
  OperatorTimer timer(step.profile, Operator::kRouter);
  const KernelTable& kernels = step.kernels;
  const Workspace& b = step.buffers;
  const int64_t hidden = step.config.hidden_size;
  const int64_t chosen_count = step.config.moe.experts_per_token;
  const Operands normed = b.normed.Rows(step.row_count);
  const Operands activated = b.activated.Rows(step.row_count * chosen_count);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int thread) {
    float* x = b.normed_row[thread];
    kernels.rms_norm(b.residual[row], weights.mlp_norm.data(), hidden, step.epsilon(), x);
    WriteOperands(kernels, {&weights.expert_gate.front(), &weights.expert_up.front()}, x, hidden,
                  normed, row);
    Route(step, weights, row, x);
  });
  GroupByExpert(step);
  CountExperts(step, layer);

  timer.Next(Operator::kGateUp);
  ParallelExperts(
      step, weights.expert_gate.front().panel_count(),
      [&](size_t expert, int64_t slot, int64_t slot_count, Panels panels) {
        const int32_t* rows = b.row_of_slot.data() + slot;
        const FloatRows gate = b.gate.From(slot);
        const FloatRows up = b.up.From(slot);
        Multiply(kernels, weights.expert_gate[expert], panels, normed, rows, slot_count, gate);
        Multiply(kernels, weights.expert_up[expert], panels, normed, rows, slot_count, up);
        Activate(step, gate, up, panels, slot_count, weights.expert_down[expert],
                 activated.From(slot));
      });
  timer.Next(Operator::kDown);
  ParallelExperts(step, weights.expert_down.front().panel_count(),
                  [&](size_t expert, int64_t slot, int64_t slot_count, Panels panels) {
                    Multiply(kernels, weights.expert_down[expert], panels, activated.From(slot),
                             nullptr, slot_count, b.expert_output.From(slot));
                  });

  timer.Next(Operator::kCombine);
  ParallelRows(step.threads, step.row_count, [&](int64_t row, int) {
    for (int64_t pair = row * chosen_count; pair < (row + 1) * chosen_count; ++pair) {
      const auto i = static_cast<size_t>(pair);
      kernels.multiply_add(b.residual[row], b.expert_output[b.slot_of_choice[i]],
                           b.chosen_weight[i], hidden);
    }
  });
}

}  // namespace weft
