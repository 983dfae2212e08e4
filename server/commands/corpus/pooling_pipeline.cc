#include "server/commands/corpus/pooling_pipeline.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace weft {
namespace {

constexpr size_t kPipelineTokens = size_t{1} << 20;

class PooledPromptSink : public TokenSink {
 public:
  std::future<Result<PooledPrompt>> result() { return promise_.get_future(); }

  void OnPromptLogprobs(std::vector<TokenLogprob>) override {}
  void OnTokens(TokensEvent) override {}
  void OnPooled(PooledResult result) override { pooled_ = std::move(result); }
  void OnFinish(FinishEvent event) override {
    switch (event.reason) {
      case FinishReason::kFailed:
        return promise_.set_value(tl::unexpected(std::move(event.error)));
      case FinishReason::kAborted:
        return promise_.set_value(Fail(ErrorCode::kUnavailable, "the engine gave it up"));
      case FinishReason::kStop:
      case FinishReason::kLength:
        return promise_.set_value(
            PooledPrompt{.result = std::move(pooled_), .token_count = event.prompt_tokens});
    }
  }

 private:
  PooledResult pooled_;
  std::promise<Result<PooledPrompt>> promise_;
};

}  // namespace

PoolingPipeline::PoolingPipeline(Engine& engine, PoolingParams params)
    : engine_(engine), params_(std::move(params)), job_id_(engine.NextId()) {}

PoolingPipeline::~PoolingPipeline() {
  for (const Waiting& each : waiting_) engine_.Abort(each.id);
}

bool PoolingPipeline::has_room() const {
  const EngineOptions& options = engine_.options();
  const auto most = static_cast<size_t>(
      std::clamp(options.max_waiting - options.max_sequences, 1, kPipelinePrompts));
  return waiting_.empty() || (waiting_.size() < most && waiting_tokens_ < kPipelineTokens);
}

Result<void> PoolingPipeline::Submit(EncodedText prompt) {
  WEFT_CHECK(has_room());
  const auto sink = std::make_shared<PooledPromptSink>();
  Waiting waiting = {
      .id = engine_.NextId(), .token_count = prompt.ids.size(), .result = sink->result()};
  Request request;
  request.id = waiting.id;
  request.job_id = job_id_;
  request.prompt = std::move(prompt.ids);
  request.second_text = prompt.second_text;
  request.sampling.max_tokens = 0;
  request.pooling = params_;
  request.sink = sink;
  WEFT_RETURN_IF_ERROR(engine_.Submit(std::move(request)));
  waiting_tokens_ += waiting.token_count;
  waiting_.push_back(std::move(waiting));
  return {};
}

Result<PooledPrompt> PoolingPipeline::Next() {
  WEFT_CHECK(!waiting_.empty());
  Waiting oldest = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_tokens_ -= oldest.token_count;
  return oldest.result.get();
}

}  // namespace weft
