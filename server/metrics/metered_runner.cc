#include "server/metrics/metered_runner.h"

namespace weft {

Result<void> MeteredRunner::Run(const ForwardBatch& batch, const LogitsVisitor& visit) {
  shapes_.clear();
  for (const SequenceSpan& span : batch.sequences) {
    shapes_.push_back({.first_position = span.first_position,
                       .row_count = span.row_count,
                       .source_count = span.source_count});
  }
  source_lengths_.clear();
  if (batch.sources != nullptr) {
    for (const SequenceSpan& span : batch.sources->sequences) {
      source_lengths_.push_back(span.row_count);
    }
  }
  meter_->AddWork(CountWork(cost_, shapes_, std::ssize(batch.logit_rows), source_lengths_));
  WEFT_RETURN_IF_ERROR(runner_->Run(batch, visit));
  meter_->SetExpertCounts(runner_->expert_tokens(), runner_->expert_count(), batch.row_count());
  return {};
}

}  // namespace weft
