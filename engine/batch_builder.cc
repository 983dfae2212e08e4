#include "engine/batch_builder.h"

#include "base/check.h"

namespace weft {

BatchBuilder::BatchBuilder(int32_t max_batch_tokens, size_t group_count)
    : group_count_(group_count) {
  const auto row_count = static_cast<size_t>(max_batch_tokens);
  token_ids_.reserve(row_count);
  positions_.reserve(row_count);
  phases_.reserve(row_count);
  sequences_.reserve(row_count);
  block_tables_.reserve(row_count * group_count);
  logit_rows_.reserve(row_count);
  logit_targets_.reserve(row_count);
  hidden_rows_.reserve(row_count);
  hidden_targets_.reserve(row_count);
}

ForwardBatch BatchBuilder::Build(const StepPlan& plan) {
  token_ids_.clear();
  positions_.clear();
  phases_.clear();
  sequences_.clear();
  block_tables_.clear();
  logit_rows_.clear();
  logit_targets_.clear();
  hidden_rows_.clear();
  hidden_targets_.clear();
  for (const PlannedSequence& planned : plan.sequences) Append(planned);
  return {.token_ids = token_ids_,
          .positions = positions_,
          .phases = phases_,
          .sequences = sequences_,
          .logit_rows = logit_rows_,
          .hidden_rows = hidden_rows_};
}

void BatchBuilder::Append(const PlannedSequence& planned) {
  Sequence& sequence = *planned.sequence;
  const int32_t end = planned.first_position + planned.row_count;
  WEFT_CHECK(planned.row_count > 0 && end <= sequence.token_count());
  WEFT_CHECK(end <= sequence.blocks.covered_count());
  for (size_t group = 0; group < group_count_; ++group) {
    block_tables_.push_back(sequence.blocks.of(group).blocks());
  }
  sequences_.push_back({.first_row = static_cast<int32_t>(token_ids_.size()),
                        .row_count = planned.row_count,
                        .first_position = planned.first_position,
                        .second_text = sequence.second_text,
                        .block_tables = std::span(block_tables_).last(group_count_)});
  for (int32_t position = planned.first_position; position < end; ++position) {
    const bool in_prompt = position < sequence.prompt_count;
    const bool for_prompt =
        position >= sequence.next_prompt_logprob && position + 1 < sequence.prompt_count;
    const bool for_sample = sequence.samples && position + 1 == sequence.token_count();
    if (for_prompt || for_sample) {
      logit_rows_.push_back(static_cast<int32_t>(token_ids_.size()));
      logit_targets_.push_back({.sequence = &sequence, .position = position});
    }
    if (position >= sequence.next_pooled && position < sequence.pooled_end) {
      hidden_rows_.push_back(static_cast<int32_t>(token_ids_.size()));
      hidden_targets_.push_back(&sequence);
    }
    token_ids_.push_back(sequence.tokens[static_cast<size_t>(position)]);
    positions_.push_back(position);
    phases_.push_back(in_prompt ? TokenPhase::kPrompt : TokenPhase::kGenerated);
  }
}

}  // namespace weft
