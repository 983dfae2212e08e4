// What one step will compute: plain data from the scheduler to the batch builder.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/block_pool.h"
#include "engine/sequence.h"
#include "engine/step_cost.h"

namespace weft {

// The next `row_count` positions of a sequence. Its table holds their blocks, and the ones written
// are its own.
struct PlannedSequence {
  Sequence* sequence = nullptr;
  int32_t first_position = 0;
  int32_t row_count = 0;
  bool computes_source = false;  // whole, before these
};

struct StepPlan {
  std::vector<PlannedSequence> sequences;
  std::vector<BlockCopy> copies;  // to be done in this order before the step
  int32_t row_count = 0;
  int32_t source_row_count = 0;  // besides
  int32_t preemptions = 0;
  StepShape shape;
  // Sequences that get their next token, not their first; those in the background do not count.
  int32_t stream_count = 0;
  // What the step is expected to take, if chunks were cut to the time; otherwise 0.
  double predicted_seconds = 0;
};

}  // namespace weft
