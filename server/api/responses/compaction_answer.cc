#include "server/api/responses/compaction_answer.h"

namespace weft {

// What the model thinks about it is not part of it.
void CompactionAnswer::Add(const std::vector<ReplyDelta>& deltas) {
  for (const ReplyDelta& delta : deltas) {
    if (delta.kind == ReplyDeltaKind::kContent) compacted_.summary += delta.text;
  }
}

void CompactionAnswer::OnTokens(int32_t, const TokensEvent& event) {
  Add(reply_.Push(event, mutable_usage()));
}

void CompactionAnswer::OnFinish(int32_t, const FinishEvent&) {
  Add(reply_.Finish());
  compacted_.usage = usage();
}

}  // namespace weft
