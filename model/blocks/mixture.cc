#include "model/blocks/mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "model/blocks/mlp.h"

namespace weft {
namespace {

// Panels of one task of an expert: small experts are one task, large ones many.
constexpr int64_t kExpertPanelsPerTask = 16;

// Rows that read a few experts' weights in the router one after the other, while these are in L1.
constexpr int64_t kRoutedTogether = 8;
constexpr int64_t kExpertsTogether = 4;

// The logits of all experts for rows [first, end) of x.
void RouterLogits(const Step& step, const MixtureSpec& mixture, FloatRows x, int64_t first,
                  int64_t end) {
  const RouterSpec& router = mixture.router;
  const KernelTable& kernels = step.kernels;
  const int64_t hidden = step.spec.hidden_size;
  const float* const weights = step.weights.table(router.weight);
  const FloatRows scores = step.buffers.router_logits;
  for (int64_t expert = 0; expert < mixture.expert_count; expert += kExpertsTogether) {
    const int64_t count = std::min(kExpertsTogether, mixture.expert_count - expert);
    for (int64_t row = first; row < end; ++row) {
      kernels.dense_dot(x[row], weights + expert * hidden, count, hidden, scores[row] + expert);
    }
  }
  const float* const bias = step.weights.table(router.bias);
  for (int64_t row = first; bias != nullptr && row < end; ++row) {
    kernels.add(scores[row], bias, mixture.expert_count);
  }
}

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Leaves no chance to experts of groups that the row does not take.
void DropGroups(const ExpertGroups& groups, int64_t expert_count, float* scores) {
  const int64_t size = expert_count / groups.count;
  std::array<float, kMaxExpertGroups> of_group = {};
  std::array<int32_t, kMaxExpertGroups> order = {};
  for (int64_t group = 0; group < groups.count; ++group) {
    const float* in_group = scores + group * size;
    TopK(in_group, size, groups.best_two ? 2 : 1, order.data());
    float& score = of_group[static_cast<size_t>(group)];
    score = in_group[order[0]];
    if (groups.best_two) score += in_group[order[1]];
  }
  TopK(of_group.data(), groups.count, groups.count, order.data());
  for (int64_t i = groups.per_token; i < groups.count; ++i) {
    std::fill_n(scores + order[static_cast<size_t>(i)] * size, size, kNever);
  }
}

// Chooses by the scores, or by what the model puts in their place.
void Choose(const Step& step, const MixtureSpec& mixture, int64_t row, const float* scores,
            int32_t* chosen) {
  const RouterSpec& router = mixture.router;
  const int64_t expert_count = mixture.expert_count;
  const float* correction = step.weights.table(router.correction);
  if (correction == nullptr && router.groups.count == 1) {
    TopK(scores, expert_count, mixture.experts_per_token, chosen);
    return;
  }
  float* adjusted = step.buffers.router_corrected[row];
  std::copy_n(scores, expert_count, adjusted);
  if (correction != nullptr) step.kernels.add(adjusted, correction, expert_count);
  if (router.groups.count > 1) DropGroups(router.groups, expert_count, adjusted);
  TopK(adjusted, expert_count, mixture.experts_per_token, chosen);
}

// Experts one after the other, each with its share in the softmax of those that are left and near.
void MixSparsely(const Step& step, const MixtureSpec& mixture, int64_t row, float* scores,
                 int32_t* chosen, float* weight) {
  const int64_t expert_count = mixture.expert_count;
  TopK(scores, expert_count, mixture.experts_per_token, chosen);
  float* near = step.buffers.router_corrected[row];
  for (int64_t i = 0; i < mixture.experts_per_token; ++i) {
    const float best = scores[chosen[i]];
    for (int64_t expert = 0; expert < expert_count; ++expert) {
      const float score = scores[expert];
      const float distance = (best - score) / std::max(std::abs(score), best);
      near[expert] = distance > mixture.router.mixer_distance ? kNever : score;
    }
    for (int64_t before = 0; before < i; ++before) near[chosen[before]] = kNever;
    step.kernels.softmax(near, expert_count);
    weight[i] = near[chosen[i]];
  }
}

// From logits to scores, where these are not of the chosen alone.
void ScoreAll(const Step& step, const RouterSpec& router, float* scores, int64_t expert_count) {
  if (router.score == RouterScore::kSigmoid) {
    step.kernels.sigmoid(scores, expert_count);
  } else if (router.softmax_before_choice) {
    step.kernels.softmax(scores, expert_count);
  }
}

// The chosen experts' weights, from the scores of all.
void Weigh(const Step& step, const MixtureSpec& mixture, const int32_t* chosen, const float* scores,
           float* weight) {
  const RouterSpec& router = mixture.router;
  const int64_t chosen_count = mixture.experts_per_token;
  for (int64_t i = 0; i < chosen_count; ++i) weight[i] = scores[chosen[i]];
  if (router.score == RouterScore::kSoftmax && !router.softmax_before_choice) {
    step.kernels.softmax(weight, chosen_count);
  }
  if (router.renormalize) {
    const float sum = std::accumulate(weight, weight + chosen_count, 0.0F);
    for (int64_t i = 0; i < chosen_count; ++i) weight[i] /= sum;
  }
  if (router.scale != 1) {
    for (int64_t i = 0; i < chosen_count; ++i) weight[i] *= router.scale;
  }
}

// The experts of one row and their weights, by its logits, in ascending order of the expert's
// index.
void Route(const Step& step, const MixtureSpec& mixture, int64_t row) {
  const RouterSpec& router = mixture.router;
  Workspace& buffers = step.buffers;
  const int64_t expert_count = mixture.expert_count;
  const int64_t chosen_count = mixture.experts_per_token;
  float* scores = buffers.router_logits[row];
  int32_t* chosen = buffers.chosen_expert.data() + row * chosen_count;
  float* weight = buffers.chosen_weight.data() + row * chosen_count;

  if (router.score == RouterScore::kSparseMixer) {
    MixSparsely(step, mixture, row, scores, chosen, weight);
  } else {
    // The order of logits is that of scores, and finer; but not where something is added to these.
    const bool sums_scores =
        router.correction != TableId::kNone || (router.groups.count > 1 && router.groups.best_two);
    if (sums_scores) ScoreAll(step, router, scores, expert_count);
    Choose(step, mixture, row, scores, chosen);
    if (!sums_scores) ScoreAll(step, router, scores, expert_count);
    Weigh(step, mixture, chosen, scores, weight);
  }
  if (const float* of_expert = step.weights.table(router.expert_scale)) {
    for (int64_t i = 0; i < chosen_count; ++i) weight[i] *= of_expert[chosen[i]];
  }
  for (int64_t i = 1; i < chosen_count; ++i) {  // a handful: insertion sort
    for (int64_t j = i; j > 0 && chosen[j] < chosen[j - 1]; --j) {
      std::swap(chosen[j], chosen[j - 1]);
      std::swap(weight[j], weight[j - 1]);
    }
  }
}

// Counting sort of all (row, chosen expert) pairs by expert.
void GroupByExpert(const Step& step, const MixtureSpec& mixture) {
  Workspace& buffers = step.buffers;
  const int64_t chosen_count = mixture.experts_per_token;
  const int64_t pair_count = step.row_count * chosen_count;
  const std::span<int32_t> first_slot(buffers.first_slot.data(),
                                      static_cast<size_t>(mixture.expert_count) + 1);
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

void CountExperts(const Step& step, int64_t layer_index) {
  Workspace& buffers = step.buffers;
  int64_t* const counts = buffers.expert_tokens.data() + layer_index * step.spec.expert_count();
  for (const int32_t expert : buffers.active_experts) {
    const auto e = static_cast<size_t>(expert);
    counts[e] += buffers.first_slot[e + 1] - buffers.first_slot[e];
  }
}

// One that rows have chosen.
struct ActiveExpert {
  size_t index = 0;
  std::optional<size_t> next = {};  // the one that comes after it, unless it is the last
  int64_t slot = 0;                 // the first of its rows
  int64_t slot_count = 0;
};

ActiveExpert ActiveAt(const Workspace& buffers, size_t place) {
  const std::vector<int32_t>& active = buffers.active_experts;
  const auto index = static_cast<size_t>(active[place]);
  const int64_t slot = buffers.first_slot[index];
  ActiveExpert expert{
      .index = index, .slot = slot, .slot_count = buffers.first_slot[index + 1] - slot};
  if (place + 1 < active.size()) expert.next = static_cast<size_t>(active[place + 1]);
  return expert;
}

// Calls work(expert, panels) for every active expert and every piece of `panel_count` panels.
// Packing places all of an expert on one node.
template <typename Work>
void ParallelExperts(const Step& step, const MixtureSpec& mixture, int64_t panel_count,
                     const Work& work) {
  const Workspace& buffers = step.buffers;
  const std::vector<int32_t>& active = buffers.active_experts;
  const int64_t pieces = CeilDivide(panel_count, kExpertPanelsPerTask);
  const auto first_task = [&](int node) {
    const int64_t expert = step.threads.FirstOfNode(node, mixture.expert_count);
    return pieces * (std::lower_bound(active.begin(), active.end(), expert) - active.begin());
  };
  step.threads.ParallelForByNode(first_task, [&](int64_t task, int) {
    const int64_t first = task % pieces * kExpertPanelsPerTask;
    work(ActiveAt(buffers, static_cast<size_t>(task / pieces)),
         Panels{first, std::min(kExpertPanelsPerTask, panel_count - first)});
  });
}

// Panels of the products of an expert's rows with its matrix of the stack. Rows are those of x that
// x_rows names, or the first ones.
void MultiplyExpert(const Step& step, std::span<const PackedMatrix> stack,
                    const ActiveExpert& expert, Panels panels, const Operands& x,
                    const int32_t* x_rows, FloatRows y) {
  const PackedMatrix* next = expert.next ? &stack[*expert.next] : nullptr;
  Multiply(step.kernels, stack[expert.index], panels, x, x_rows, expert.slot_count, y, false, next);
}

// The row of an expert in a table of all of them; nullptr: there is no such table.
const float* RowOf(const Step& step, TableId table, size_t expert, int64_t columns) {
  const float* values = step.weights.table(table);
  return values == nullptr ? nullptr : values + static_cast<int64_t>(expert) * columns;
}

// The weights of these rows for this expert, on what gate and up made of the unweighted input: that
// is the same product.
void WeighInputs(const Step& step, const MixtureSpec& mixture, int32_t expert, const int32_t* rows,
                 Panels panels, int64_t slot_count, FloatRows gate, FloatRows up) {
  const Workspace& b = step.buffers;
  const int64_t first = panels.first * kPanelRows;
  const int64_t count = std::min(panels.count * kPanelRows, mixture.width - first);
  for (int64_t slot = 0; slot < slot_count; ++slot) {
    int64_t choice = rows[slot] * mixture.experts_per_token;
    while (b.chosen_expert[static_cast<size_t>(choice)] != expert) ++choice;
    const float weight = b.chosen_weight[static_cast<size_t>(choice)];
    step.kernels.scale(gate[slot] + first, weight, count);
    step.kernels.scale(up[slot] + first, weight, count);
  }
}

// Gate, up and activation of all slots.
void ActivateExperts(const Step& step, const MixtureSpec& mixture, const Operands& normed,
                     const Operands& activated) {
  const Workspace& b = step.buffers;
  const std::span<const PackedMatrix> up = step.weights.stack(mixture.up);
  const std::span<const PackedMatrix> gate =
      mixture.is_gated ? step.weights.stack(mixture.gate) : up;
  const std::span<const PackedMatrix> down = step.weights.stack(mixture.down);
  ParallelExperts(step, mixture, up.front().panel_count(),
                  [&](const ActiveExpert& expert, Panels panels) {
                    const int32_t* rows = b.row_of_slot.data() + expert.slot;
                    const FloatRows gate_rows = b.gate.From(expert.slot);
                    const FloatRows up_rows = b.up.From(expert.slot);
                    const Activation activation = {
                        .kind = mixture.activation,
                        .is_gated = mixture.is_gated,
                        .gate_bias = RowOf(step, mixture.gate_bias, expert.index, mixture.width),
                        .up_bias = RowOf(step, mixture.up_bias, expert.index, mixture.width)};
                    if (mixture.is_gated) {
                      MultiplyExpert(step, gate, expert, panels, normed, rows, gate_rows);
                    }
                    MultiplyExpert(step, up, expert, panels, normed, rows, up_rows);
                    if (mixture.router.weighs_input) {
                      WeighInputs(step, mixture, static_cast<int32_t>(expert.index), rows, panels,
                                  expert.slot_count, gate_rows, up_rows);
                    }
                    Activate(step, activation, gate_rows, up_rows, panels, expert.slot_count,
                             nullptr, down[expert.index], activated.From(expert.slot));
                  });
}

// What each slot's expert gives.
void MultiplyDown(const Step& step, const MixtureSpec& mixture, const Operands& activated) {
  const Workspace& b = step.buffers;
  const int64_t hidden = step.spec.hidden_size;
  const std::span<const PackedMatrix> down = step.weights.stack(mixture.down);
  ParallelExperts(
      step, mixture, down.front().panel_count(), [&](const ActiveExpert& expert, Panels panels) {
        const FloatRows out = b.expert_output.From(expert.slot);
        MultiplyExpert(step, down, expert, panels, activated.From(expert.slot), nullptr, out);
        const float* bias = RowOf(step, mixture.down_bias, expert.index, hidden);
        if (bias == nullptr) return;
        const int64_t first = panels.first * kPanelRows;
        const int64_t count = std::min(panels.count * kPanelRows, hidden - first);
        for (int64_t i = 0; i < expert.slot_count; ++i) {
          step.kernels.add(out[i] + first, bias + first, count);
        }
      });
}

// output += the shared MLP with norms of its own before and behind it.
void AddNormedShared(const Step& step, const NormSpec& norm, const MixtureSpec& mixture,
                     OperatorTimer& timer, BlockOutput& output) {
  const Workspace& b = step.buffers;
  const int64_t hidden = step.spec.hidden_size;
  const PackedMatrix& gate = step.weights.matrix(mixture.shared.gate.weights);
  const PackedMatrix& up = step.weights.matrix(mixture.shared.up.weights);
  timer.Next(Operator::kNorm);
  const Operands normed = NormedOperands(step, norm, {&gate, &up});
  BlockOutput shared(step, b.expert_output);
  DenseMlpOf(step, normed, mixture.shared, nullptr, timer, shared);
  output.AddRows([&](int64_t row, float* out) {
    float* x = b.expert_output[row];
    step.Norm(mixture.shared_output_norm, x, hidden, x);
    step.kernels.add(out, x, hidden);
  });
}

}  // namespace

void Mixture(const Step& step, const NormSpec& norm, const MixtureSpec& mixture,
             int64_t layer_index, BlockOutput& output) {
  OperatorTimer timer(step.profile, Operator::kRouter);
  const KernelTable& kernels = step.kernels;
  const Workspace& b = step.buffers;
  const int64_t hidden = step.spec.hidden_size;
  const int64_t chosen_count = mixture.experts_per_token;
  const PackedMatrix& up = step.weights.stack(mixture.up).front();
  const PackedMatrix& gate = mixture.is_gated ? step.weights.stack(mixture.gate).front() : up;
  const bool has_shared = mixture.shared.width > 0;
  const PackedMatrix& shared_up = has_shared ? step.weights.matrix(mixture.shared.up.weights) : up;
  const PackedMatrix& shared_gated = has_shared && mixture.shared.is_gated
                                         ? step.weights.matrix(mixture.shared.gate.weights)
                                         : shared_up;
  const float* shared_gate = step.weights.table(mixture.shared_gate);
  const float* bias = step.weights.table(mixture.bias);
  const Operands normed = b.normed.Rows(step.row_count);
  const Operands activated = b.activated.Rows(step.row_count * chosen_count);
  // What the router reads, until there is an output.
  const FloatRows x = b.expert_output;
  step.threads.ParallelFor(CeilDivide(step.row_count, kRoutedTogether), [&](int64_t task, int) {
    const int64_t first = task * kRoutedTogether;
    const int64_t end = std::min(step.row_count, first + kRoutedTogether);
    for (int64_t row = first; row < end; ++row) {
      step.Norm(mixture.experts_norm ? mixture.experts_norm : norm, b.residual[row], hidden,
                x[row]);
      WriteOperands(kernels, {&gate, &up, &shared_up, &shared_gated}, x[row], hidden, normed, row);
      if (mixture.router.norm) step.Norm(mixture.router.norm, b.residual[row], hidden, x[row]);
    }
    RouterLogits(step, mixture, x, first, end);
    for (int64_t row = first; row < end; ++row) {
      Route(step, mixture, row);
      float* factor = b.row_factors + row;
      *factor = mixture.shared_multiplier;
      if (shared_gate == nullptr) continue;
      kernels.dense_dot(x[row], shared_gate, 1, hidden, factor);
      kernels.sigmoid(factor, 1);
    }
  });
  GroupByExpert(step, mixture);
  CountExperts(step, layer_index);

  timer.Next(Operator::kGateUp);
  ActivateExperts(step, mixture, normed, activated);
  timer.Next(Operator::kDown);
  MultiplyDown(step, mixture, activated);
  timer.Next(Operator::kCombine);
  output.AddRows([&](int64_t row, float* out) {
    for (int64_t pair = row * chosen_count; pair < (row + 1) * chosen_count; ++pair) {
      const auto i = static_cast<size_t>(pair);
      const float weight = mixture.router.weighs_input ? 1.0F : b.chosen_weight[i];
      kernels.multiply_add(out, b.expert_output[b.slot_of_choice[i]], weight, hidden);
    }
    if (bias != nullptr) kernels.add(out, bias, hidden);
    if (mixture.experts_output_norm) step.Norm(mixture.experts_output_norm, out, hidden, out);
  });
  if (!has_shared) return;
  if (mixture.shared_output_norm) {
    AddNormedShared(step, norm, mixture, timer, output);
    return;
  }
  const bool has_factors = shared_gate != nullptr || mixture.shared_multiplier != 1;
  DenseMlpOf(step, normed, mixture.shared, has_factors ? b.row_factors : nullptr, timer, output);
}

}  // namespace weft
