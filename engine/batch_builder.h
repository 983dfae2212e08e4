// StepPlan -> ForwardBatch: gathers the planned rows into flat arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/step_plan.h"
#include "model/forward_batch.h"

namespace weft {

// Which position a row of logits belongs to.
struct LogitTarget {
  Sequence* sequence = nullptr;
  int32_t position = 0;
};

// Owns the storage of one batch at a time, reused from step to step.
class BatchBuilder {
 public:
  // `max_rows`: of a step, and of the sources beside it.
  BatchBuilder(int32_t max_rows, const BlockPools& pools);

  // Logits are wanted of Sequence::wanted_logits, and of prompt positions whose logprobs are asked
  // for; hidden states of positions that are to be pooled. Valid until the next call, and while the
  // planned sequences do not change.
  ForwardBatch Build(const StepPlan& plan);
  // One for every entry of ForwardBatch::hidden_rows.
  const std::vector<Sequence*>& hidden_targets() const { return hidden_targets_; }
  // One for every entry of ForwardBatch::logit_rows.
  const std::vector<LogitTarget>& logit_targets() const { return logit_targets_; }

 private:
  struct Rows {
    std::vector<TokenId> token_ids;
    std::vector<int32_t> positions;
    std::vector<TokenPhase> phases;
    std::vector<SequenceSpan> sequences;

    void Reserve(size_t row_count);
    void Clear();
    int32_t count() const { return static_cast<int32_t>(token_ids.size()); }
    void Add(TokenId token, int32_t position, TokenPhase phase);
  };

  void Append(const PlannedSequence& planned);
  void AppendSource(const Sequence& sequence, std::span<const std::span<const int32_t>> tables);

  const size_t group_count_;
  Rows rows_;
  Rows source_rows_;
  std::vector<std::span<const int32_t>> block_tables_;  // of all sequences, group_count_ each
  std::vector<int32_t> logit_rows_;
  std::vector<LogitTarget> logit_targets_;
  std::vector<int32_t> hidden_rows_;
  std::vector<Sequence*> hidden_targets_;
  ForwardBatch sources_;
};

}  // namespace weft
