#include "server/api/ollama/ollama_answer.h"

#include <utility>

namespace weft {

OllamaAnswer::OllamaAnswer(OllamaAnswerOptions options)
    : GenerationAnswer(options.load_reason.empty() ? 1 : 0),
      options_(std::move(options)),
      reply_(options_.reply),
      end_reason_(options_.load_reason) {}

void OllamaAnswer::Begin(std::string_view request_id, int64_t created) {
  request_id_ = request_id;
  part_.model = options_.model->id;
  part_.created = created;
  part_.is_generate = options_.is_generate;
}

std::string OllamaAnswer::TakeStreamText() {
  if (finished()) lines_ += LastLine() + '\n';
  return std::exchange(lines_, {});
}

std::string OllamaAnswer::WholeBody() { return LastLine(); }

std::string OllamaAnswer::StreamError(const ApiError& error) const {
  return ToOllamaJson(error) + '\n';
}

void OllamaAnswer::OnPromptLogprobs(int32_t, const PromptLogprobs&) {}  // nobody asks for them

void OllamaAnswer::OnTokens(int32_t, const TokensEvent& event) {
  if (options_.logprobs) {
    for (const TokenLogprob& entry : event.logprobs) {
      part_.logprobs.push_back(ChatLogprobOf(*options_.model->tokenizer, entry));
    }
  }
  if (options_.is_raw) {
    part_.content += raw_decoder_.Append(event.text);
  } else {
    for (ReplyDelta& delta : reply_.Push(event, mutable_usage())) AddDelta(std::move(delta));
  }
  AddLine();
}

void OllamaAnswer::OnFinish(int32_t, const FinishEvent& event) {
  if (options_.is_raw) {
    part_.content += raw_decoder_.Finish();
  } else {
    for (ReplyDelta& delta : reply_.Finish()) AddDelta(std::move(delta));
    CloseCall();
  }
  AddLine();
  end_reason_ = event.reason == FinishReason::kLength ? "length" : "stop";
}

void OllamaAnswer::AddDelta(ReplyDelta delta) {
  if (delta.kind == ReplyDeltaKind::kCallArguments) {
    open_call_->arguments += delta.text;
    return;
  }
  CloseCall();
  switch (delta.kind) {
    case ReplyDeltaKind::kContent:
      part_.content += delta.text;
      break;
    case ReplyDeltaKind::kReasoning:
      part_.thinking += delta.text;
      break;
    default:
      open_call_.emplace();
      open_call_->index = delta.call_index;
      open_call_->id = delta.call_id.empty() ? MakeCallId(request_id_, 0, delta.call_index,
                                                          options_.reply.options.format.calls)
                                             : std::move(delta.call_id);
      open_call_->name = std::move(delta.text);
  }
}

void OllamaAnswer::CloseCall() {
  if (!open_call_) return;
  part_.tool_calls.push_back(*std::exchange(open_call_, std::nullopt));
}

void OllamaAnswer::AddLine() {
  if (!options_.stream) return;
  if (part_.content.empty() && part_.thinking.empty() && part_.tool_calls.empty() &&
      part_.logprobs.empty()) {
    return;
  }
  lines_ += ToJson(part_, nullptr) + '\n';
  part_.content.clear();
  part_.thinking.clear();
  part_.tool_calls.clear();
  part_.logprobs.clear();
}

std::string OllamaAnswer::LastLine() {
  OllamaEnd end{.reason = end_reason_, .cost = {}};
  if (options_.load_reason.empty()) {
    const RequestDurations spent = durations();
    end.cost = {.total_ns = spent.total_ns,
                .load_ns = spent.waited_ns,
                .prompt_tokens = usage().prompt_tokens,
                .prompt_ns = spent.prompt_ns,
                .output_tokens = usage().completion_tokens,
                .output_ns = spent.output_ns};
  }
  return ToJson(part_, &end);
}

}  // namespace weft
