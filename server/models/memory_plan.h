// Where the memory goes, decided before the port opens (law 4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/format_bytes.h"
#include "base/result.h"
#include "model/checkpoint.h"
#include "model/kernels/kernels.h"
#include "model/state.h"
#include "server/models/memory_reserve.h"

namespace weft {

struct MemoryRequest {
  uint64_t limit_bytes = 0;  // for the whole process
  int32_t context = 0;       // positions a sequence; 0: the model's, or fewer if they do not fit
  int32_t max_batch_tokens = 512;  // rows of one step
  int32_t max_sequences = 64;      // running at once
  int64_t block_size = 32;         // positions a KV block
  int32_t thread_count = 1;
  bool prefix_cache = true;   // keeps states for others
  uint64_t stored_bytes = 0;  // of responses that the server keeps
  uint64_t others_bytes = 0;  // of the limit, what is for other models
  // Of what the weights of several models leave, so many equal shares more than there are models
  // are left for those that come later.
  int32_t later_shares = 0;
};

// A group of layers, with the number of its KV blocks, and what one takes in all of them.
struct GroupMemory {
  StateGroup group;
  uint64_t block_bytes = 0;
  uint64_t bytes() const { return block_bytes * static_cast<uint64_t>(group.block_count); }
};

struct MemoryPlan {
  uint64_t limit_bytes = 0;
  uint64_t stored_bytes = 0;   // part of the reserve
  uint64_t request_bytes = 0;  // part of the reserve
  // Part of the reserve: what is known about texts that requests constrain; see MatcherPool.
  uint64_t constraint_bytes = 0;
  // For the program, its sockets, the requests in them, what it keeps: for all models together.
  uint64_t reserve_bytes = 0;
  uint64_t weight_bytes = 0;
  uint64_t workspace_bytes = 0;
  std::vector<GroupMemory> groups;
  int32_t context = 0;
  int32_t step_rows = 0;  // that the workspace holds; what encoders read is computed whole
  // Weights, workspace and the KV cache of one such context: with less there is no plan.
  uint64_t least_bytes = 0;

  uint64_t kv_bytes() const;
  int64_t block_count() const;        // of all groups
  uint64_t accounting_bytes() const;  // of the KV blocks
  uint64_t variable_bytes() const;    // of KV blocks, with their accounting, and workspace
  std::vector<StateGroup> state_groups() const;
};

// As many KV blocks as the limit allows, but no more than max_sequences whole contexts need; always
// enough for one whole context. Where groups of layers forget, they and those that keep all have
// shares that suit short sequences and long ones; a context that was asked for comes before that.
// Errors name what does not fit and the option to change.
Result<MemoryPlan> PlanMemory(const Checkpoint& checkpoint, const KernelTable& kernels,
                              const MemoryRequest& request);

// One of several models. What it refers to outlives it.
struct PlannedModel {
  const Checkpoint& checkpoint;
  const KernelTable& kernels;
  int32_t context = 0;  // as MemoryRequest::context, which does not count
};

// The same for models that share a limit, in their order. What the reserve and the weights of all
// leave is shared out equally; of what one has no use for, the others get equal parts. Errors name
// the model, too.
Result<std::vector<MemoryPlan>> PlanMemories(std::span<const PlannedModel> models,
                                             const MemoryRequest& request);

// "weights 7.2 MiB, KV cache 64.0 MiB (...), ...": one line for people.
std::string Describe(const MemoryPlan& plan);

}  // namespace weft
