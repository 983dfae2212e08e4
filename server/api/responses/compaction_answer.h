// The answer of /v1/responses/compact: the summary that the model has written, and what is kept.
// Include from .cc files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/responses/compaction.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_answer.h"

namespace weft {

class CompactionAnswer : public GenerationAnswer {
 public:
  // `compacted` lacks the time, the summary and the usage.
  CompactionAnswer(const ReplySetup& reply, CompactedConversation compacted)
      : GenerationAnswer(1), reply_(reply), compacted_(std::move(compacted)) {}

  void Begin(std::string_view, int64_t created) override { compacted_.created_at = created; }
  std::string TakeStreamText() override { return {}; }  // never streamed
  std::string WholeBody() override { return ToJson(compacted_); }

 private:
  void OnPromptLogprobs(int32_t, const PromptLogprobs&) override {}
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;
  void Add(const std::vector<ReplyDelta>& deltas);

  ReplyStream reply_;
  CompactedConversation compacted_;
};

}  // namespace weft
