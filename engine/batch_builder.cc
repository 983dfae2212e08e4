#include "engine/batch_builder.h"

#include "base/check.h"

namespace weft {

void BatchBuilder::Rows::Reserve(size_t row_count) {
  token_ids.reserve(row_count);
  positions.reserve(row_count);
  phases.reserve(row_count);
  sequences.reserve(row_count);
}

void BatchBuilder::Rows::Clear() {
  token_ids.clear();
  positions.clear();
  phases.clear();
  sequences.clear();
}

void BatchBuilder::Rows::Add(TokenId token, int32_t position, TokenPhase phase) {
  token_ids.push_back(token);
  positions.push_back(position);
  phases.push_back(phase);
}

BatchBuilder::BatchBuilder(int32_t max_rows, const BlockPools& pools) : group_count_(pools.size()) {
  const auto row_count = static_cast<size_t>(max_rows);
  rows_.Reserve(row_count);
  if (pools.has_source_group()) source_rows_.Reserve(row_count);
  block_tables_.reserve(row_count * group_count_);
  logit_rows_.reserve(row_count);
  logit_targets_.reserve(row_count);
  hidden_rows_.reserve(row_count);
  hidden_targets_.reserve(row_count);
}

ForwardBatch BatchBuilder::Build(const StepPlan& plan) {
  rows_.Clear();
  source_rows_.Clear();
  block_tables_.clear();
  logit_rows_.clear();
  logit_targets_.clear();
  hidden_rows_.clear();
  hidden_targets_.clear();
  for (const PlannedSequence& planned : plan.sequences) Append(planned);
  sources_ = {.token_ids = source_rows_.token_ids,
              .positions = source_rows_.positions,
              .phases = source_rows_.phases,
              .sequences = source_rows_.sequences,
              .logit_rows = {},
              .hidden_rows = {}};
  return {.token_ids = rows_.token_ids,
          .positions = rows_.positions,
          .phases = rows_.phases,
          .sequences = rows_.sequences,
          .logit_rows = logit_rows_,
          .hidden_rows = hidden_rows_,
          .sources = source_rows_.count() > 0 ? &sources_ : nullptr};
}

void BatchBuilder::Append(const PlannedSequence& planned) {
  Sequence& sequence = *planned.sequence;
  const int32_t end = planned.first_position + planned.row_count;
  WEFT_CHECK(planned.row_count > 0 && end <= sequence.token_count());
  WEFT_CHECK(end <= sequence.blocks.covered_count());
  WEFT_CHECK(!sequence.needs_source());
  for (size_t group = 0; group < group_count_; ++group) {
    block_tables_.push_back(sequence.blocks.of(group).blocks());
  }
  const auto tables = std::span(block_tables_).last(group_count_);
  rows_.sequences.push_back({.first_row = rows_.count(),
                             .row_count = planned.row_count,
                             .first_position = planned.first_position,
                             .second_text = sequence.second_text,
                             .source_count = sequence.source_count(),
                             .block_tables = tables});
  if (planned.computes_source) AppendSource(sequence, tables);
  for (int32_t position = planned.first_position; position < end; ++position) {
    const bool in_prompt = position < sequence.prompt_count;
    const bool for_prompt =
        position >= sequence.next_prompt_logprob && position + 1 < sequence.prompt_count;
    const bool is_last = position + 1 == sequence.token_count();
    const bool is_wanted = sequence.wanted_logits == WantedLogits::kAll ||
                           (sequence.wanted_logits == WantedLogits::kLast && is_last);
    if (for_prompt || is_wanted) {
      logit_rows_.push_back(rows_.count());
      logit_targets_.push_back({.sequence = &sequence, .position = position});
    }
    if (position >= sequence.next_pooled && position < sequence.pooled_end) {
      hidden_rows_.push_back(rows_.count());
      hidden_targets_.push_back(&sequence);
    }
    rows_.Add(sequence.tokens[static_cast<size_t>(position)], position,
              in_prompt ? TokenPhase::kPrompt : TokenPhase::kGenerated);
  }
}

void BatchBuilder::AppendSource(const Sequence& sequence,
                                std::span<const std::span<const int32_t>> tables) {
  source_rows_.sequences.push_back({.first_row = source_rows_.count(),
                                    .row_count = sequence.source_count(),
                                    .block_tables = tables});
  for (int32_t position = 0; position < sequence.source_count(); ++position) {
    source_rows_.Add(sequence.source[static_cast<size_t>(position)], position, TokenPhase::kPrompt);
  }
}

}  // namespace weft
