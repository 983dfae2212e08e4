#include "server/models/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "engine/block_pool.h"
#include "engine/transformer_runner.h"
#include "model/kv_cache.h"
#include "model/weights.h"

namespace weft {
namespace {

// The largest number, `most` at most, for which this is true, as for all smaller ones; 0: none.
template <typename Predicate>
int64_t LargestThat(int64_t most, const Predicate& is_true) {
  int64_t low = 0;
  int64_t end = most + 1;
  while (end - low > 1) {
    const int64_t middle = low + (end - low) / 2;
    (is_true(middle) ? low : end) = middle;
  }
  return low;
}

// The rows of the largest step of an encoder, before a decoder or alone, that serves texts of so
// many positions.
int64_t StepRows(const MemoryRequest& request, int64_t context) {
  return std::max<int64_t>(request.max_batch_tokens, context);
}

// How many KV blocks each group gets where sequences have at most `context` positions.
//
// A sequence takes as many blocks of a group that forgets as of others while it is short, and far
// fewer when it is long; and how long they will be, nobody knows. So half of the memory is shared
// out as short ones take it, equally many blocks a group, and half as whole contexts do. Whatever
// the length, about half as many sequences fit as with the shares that are best for it, or more.
//
// States do not grow with sequences. They get up to half of the memory, as far as a context leaves
// it, for two of each sequence that may run and as many again that the prefix cache keeps, if there
// is one; where they are small, more of them.
class BlockShares {
 public:
  BlockShares(const MemoryRequest& request, const std::vector<GroupMemory>& groups, int64_t context)
      : max_sequences_(request.max_sequences), keeps_states_(request.prefix_cache) {
    for (const GroupMemory& each : groups) {
      const uint64_t block_bytes =
          each.block_bytes + static_cast<uint64_t>(BlockPool::BytesPerBlock());
      if (each.group.is_recurrent) {
        state_bytes_ = block_bytes;
        continue;
      }
      const int64_t needed =
          each.group.is_scratch
              ? ScratchBlocks(request, context)
              : each.group.MostBlocks(context, request.max_batch_tokens, request.block_size);
      groups_.push_back({.block_bytes = block_bytes,
                         .needed = needed,
                         .most = each.group.is_scratch ? needed : needed * max_sequences_});
      row_bytes_ += block_bytes;
      context_bytes_ += block_bytes * static_cast<uint64_t>(needed);
      most_needed_ = std::max(most_needed_, needed);
    }
  }

  // Of one.
  uint64_t context_bytes() const { return context_bytes_ + kStatesNeeded * state_bytes_; }

  // Whether a context fits where no group has less than its share.
  bool HoldContext(uint64_t bytes) const {
    return BytesFor(most_needed_) + BytesOfStates(bytes) <= bytes;
  }

  // Gives each group its number of blocks, none less than a context needs; context_bytes() fit.
  void ShareOut(uint64_t bytes, int64_t context, std::vector<GroupMemory>& groups) const {
    uint64_t state_bytes = BytesOfStates(bytes);
    const int64_t count = LargestThat(most_needed_ * max_sequences_, [&](int64_t most) {
      return BytesFor(most) + state_bytes <= bytes;
    });
    // What the others have no use for.
    state_bytes =
        std::max(state_bytes, std::min(MostBytesOfStates(bytes), bytes - BytesFor(count)));
    const Group* next = groups_.data();
    for (GroupMemory& each : groups) {
      if (each.group.is_recurrent) {
        each.group.block_count = static_cast<int64_t>(state_bytes / state_bytes_);
        each.group.state_interval = IntervalOf(context, each.group.block_count);
      } else {
        each.group.block_count = CountOf(*next++, count);
      }
    }
  }

 private:
  struct Group {
    uint64_t block_bytes = 0;  // with their accounting
    int64_t needed = 0;        // blocks of a context
    int64_t most = 0;          // of all sequences that may run
  };

  static constexpr uint64_t kStatesNeeded = 2;  // StateGroup::MostBlocks

  uint64_t MostBytesOfStates(uint64_t bytes) const {
    if (state_bytes_ == 0) return 0;
    const uint64_t running = kStatesNeeded * static_cast<uint64_t>(max_sequences_);
    const uint64_t kept = std::max(running, bytes / 8 / state_bytes_);
    return (keeps_states_ ? running + kept : running) * state_bytes_;
  }

  uint64_t BytesOfStates(uint64_t bytes) const {
    if (state_bytes_ == 0) return 0;
    const uint64_t others_bytes = std::max(bytes / 2, BytesFor(most_needed_));
    const uint64_t left_bytes = bytes - std::min(bytes, groups_.empty() ? 0 : others_bytes);
    const uint64_t count = std::min(left_bytes, MostBytesOfStates(bytes)) / state_bytes_;
    return std::max(count, kStatesNeeded) * state_bytes_;
  }

  // So that a whole context leaves a quarter of them, and no more of them than is worth the copy.
  static int64_t IntervalOf(int64_t context, int64_t state_count) {
    constexpr int64_t kLeast = 512;
    return std::max(kLeast, CeilDivide(4 * context, state_count));
  }

  // Those of a step's texts, of which each may fill its last one in part, and the scheduler keeps
  // another free.
  static int64_t ScratchBlocks(const MemoryRequest& request, int64_t context) {
    return CeilDivide(StepRows(request, context), request.block_size) + 2 * request.max_sequences;
  }

  // The blocks that a group gets of two bytes, one shared out in each way.
  double BlocksOfTwoBytes(int64_t needed) const {
    return 1 / static_cast<double>(row_bytes_) +
           static_cast<double>(needed) / static_cast<double>(context_bytes_);
  }

  // Where the group that needs the most gets `most`: what a context needs all the same, and no more
  // than as many as may run.
  int64_t CountOf(const Group& group, int64_t most) const {
    const double share = BlocksOfTwoBytes(group.needed) / BlocksOfTwoBytes(most_needed_);
    return std::clamp(static_cast<int64_t>(static_cast<double>(most) * share), group.needed,
                      group.most);
  }

  uint64_t BytesFor(int64_t most) const {
    uint64_t bytes = 0;
    for (const Group& group : groups_) {
      bytes += group.block_bytes * static_cast<uint64_t>(CountOf(group, most));
    }
    return bytes;
  }

  const int64_t max_sequences_;
  const bool keeps_states_;
  std::vector<Group> groups_;
  uint64_t state_bytes_ = 0;  // of one; 0: there are none
  uint64_t row_bytes_ = 0;    // of a block in each group
  uint64_t context_bytes_ = 0;
  int64_t most_needed_ = 0;
};

std::string DescribeGroup(const GroupMemory& memory) {
  const StateGroup& group = memory.group;
  const std::string sees = group.is_source      ? " of sources"
                           : group.is_recurrent ? " of states"
                           : group.window > 0   ? fmt::format(" of windows of {}", group.window)
                           : group.chunk > 0    ? fmt::format(" of chunks of {}", group.chunk)
                                                : "";
  return fmt::format("{} in {} blocks{}", FormatBytes(memory.bytes()), group.block_count, sees);
}

}  // namespace

Result<MemoryPlan> PlanMemory(const Checkpoint& checkpoint, const KernelTable& kernels,
                              const MemoryRequest& request) {
  const ModelSpec& spec = checkpoint.spec;
  if (request.context > spec.context_length) {
    return Fail(ErrorCode::kInvalidArgument,
                "--context {} is more than the {} positions that the model was made for",
                request.context, spec.context_length);
  }
  TransformerRunnerOptions runner;
  runner.block_size = request.block_size;
  runner.thread_count = request.thread_count;
  runner.max_sequences = request.max_sequences;
  MemoryPlan plan;
  plan.limit_bytes = request.limit_bytes;
  plan.stored_bytes = request.stored_bytes;
  const MemoryReserve reserve = ReserveOf(request.limit_bytes, request.stored_bytes);
  plan.request_bytes = reserve.request_bytes;
  plan.constraint_bytes = reserve.constraint_bytes;
  plan.reserve_bytes = reserve.bytes();
  plan.weight_bytes = static_cast<uint64_t>(Weights::PackedBytes(checkpoint.tensors, kernels));
  const bool has_f16 = HasF16(checkpoint.tensors);
  const auto set_context = [&](int64_t positions) {
    plan.context = static_cast<int32_t>(positions);
    plan.step_rows = spec.is_encoder || spec.encoder != nullptr
                         ? static_cast<int32_t>(StepRows(request, positions))
                         : request.max_batch_tokens;
    runner.max_batch_tokens = plan.step_rows;
    plan.workspace_bytes =
        static_cast<uint64_t>(TransformerRunner::WorkspaceBytes(spec, kernels, has_f16, runner));
  };
  const int64_t wanted_context = request.context > 0 ? request.context : spec.context_length;
  for (StateGroup& group : StateGroupsOf(spec, wanted_context)) {
    const int64_t block_bytes = KvCache::BlockBytes(spec, group, kernels, request.block_size);
    plan.groups.push_back({std::move(group), static_cast<uint64_t>(block_bytes)});
  }

  const auto left_bytes = [&] {
    const uint64_t fixed_bytes =
        plan.reserve_bytes + plan.weight_bytes + plan.workspace_bytes + request.others_bytes;
    return request.limit_bytes - std::min(request.limit_bytes, fixed_bytes);
  };
  const auto shares_for = [&](int64_t positions) {
    return BlockShares(request, plan.groups, positions);
  };
  const int64_t context =
      request.context > 0 ? wanted_context : LargestThat(wanted_context, [&](int64_t positions) {
        set_context(positions);
        return shares_for(positions).HoldContext(left_bytes());
      });
  set_context(context > 0 ? context : wanted_context);
  if (context == 0 || shares_for(context).context_bytes() > left_bytes()) {
    const std::string others =
        request.others_bytes == 0
            ? ""
            : fmt::format(", {} for other models", FormatBytes(request.others_bytes));
    return Fail(ErrorCode::kResourceExhausted,
                "{} of memory do not hold weights ({}), workspace ({}), {} in reserve{} and the KV "
                "cache of one context of {} ({}); raise --memory or lower --context",
                FormatBytes(request.limit_bytes), FormatBytes(plan.weight_bytes),
                FormatBytes(plan.workspace_bytes), FormatBytes(plan.reserve_bytes), others,
                wanted_context, FormatBytes(shares_for(wanted_context).context_bytes()));
  }
  plan.least_bytes = plan.weight_bytes + plan.workspace_bytes + shares_for(context).context_bytes();
  shares_for(context).ShareOut(left_bytes(), context, plan.groups);
  return plan;
}

Result<std::vector<MemoryPlan>> PlanMemories(std::span<const PlannedModel> models,
                                             const MemoryRequest& request) {
  std::vector<uint64_t> weights;
  for (const PlannedModel& model : models) {
    weights.push_back(
        static_cast<uint64_t>(Weights::PackedBytes(model.checkpoint.tensors, model.kernels)));
  }
  uint64_t taken_bytes = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  const auto plan_with = [&](size_t i, uint64_t others_bytes) -> Result<MemoryPlan> {
    MemoryRequest own = request;
    own.context = models[i].context;
    own.others_bytes = others_bytes;
    Result<MemoryPlan> plan = PlanMemory(models[i].checkpoint, models[i].kernels, own);
    if (plan || models.size() == 1) return plan;
    return Fail(plan.error().code, "{}: {}", models[i].checkpoint.path, plan.error().message);
  };
  // Who wants the least comes first: what it leaves of its part is there for the others.
  std::vector<MemoryPlan> plans;
  std::vector<size_t> order;
  for (size_t i = 0; i < models.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(MemoryPlan alone, plan_with(i, taken_bytes - weights[i]));
    plans.push_back(std::move(alone));
    order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return plans[i].variable_bytes(); });
  const uint64_t reserve_bytes = plans.empty() ? 0 : plans.front().reserve_bytes;
  const size_t share_count = order.size() + static_cast<size_t>(request.later_shares);
  for (size_t place = 0; place < order.size(); ++place) {
    const size_t i = order[place];
    const uint64_t left_bytes =
        request.limit_bytes - std::min(request.limit_bytes, reserve_bytes + taken_bytes);
    const uint64_t kept_bytes = left_bytes - left_bytes / (share_count - place);
    WEFT_ASSIGN_OR_RETURN(plans[i], plan_with(i, taken_bytes - weights[i] + kept_bytes));
    taken_bytes += plans[i].variable_bytes();
  }
  return plans;
}

uint64_t MemoryPlan::accounting_bytes() const {
  return static_cast<uint64_t>(block_count() * BlockPool::BytesPerBlock());
}

uint64_t MemoryPlan::variable_bytes() const {
  return workspace_bytes + kv_bytes() + accounting_bytes();
}

uint64_t MemoryPlan::kv_bytes() const {
  uint64_t bytes = 0;
  for (const GroupMemory& each : groups) bytes += each.bytes();
  return bytes;
}

int64_t MemoryPlan::block_count() const {
  int64_t count = 0;
  for (const GroupMemory& each : groups) count += each.group.block_count;
  return count;
}

std::vector<StateGroup> MemoryPlan::state_groups() const {
  std::vector<StateGroup> all;
  for (const GroupMemory& each : groups) all.push_back(each.group);
  return all;
}

std::string Describe(const MemoryPlan& plan) {
  std::string blocks = fmt::format("{} blocks", plan.block_count());
  if (plan.groups.size() > 1 || plan.groups.front().group.forgets()) {
    blocks.clear();
    for (const GroupMemory& each : plan.groups) {
      blocks += fmt::format("{}{}", blocks.empty() ? "" : ", ", DescribeGroup(each));
    }
  }
  return fmt::format(
      "memory: weights {}, KV cache {} ({}), workspace {}, reserve {}, of {} allowed",
      FormatBytes(plan.weight_bytes), FormatBytes(plan.kv_bytes()), blocks,
      FormatBytes(plan.workspace_bytes), FormatBytes(plan.reserve_bytes),
      FormatBytes(plan.limit_bytes));
}

}  // namespace weft
