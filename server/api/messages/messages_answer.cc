#include "server/api/messages/messages_answer.h"

#include <utility>

#include <fmt/core.h>

#include "proto/sse.h"

namespace weft {
namespace {

MessagesBlockKind BlockKindOf(ReplyDeltaKind kind) {
  switch (kind) {
    case ReplyDeltaKind::kContent:
      return MessagesBlockKind::kText;
    case ReplyDeltaKind::kReasoning:
      return MessagesBlockKind::kThinking;
    default:
      return MessagesBlockKind::kToolUse;
  }
}

}  // namespace

MessagesAnswer::MessagesAnswer(MessagesAnswerOptions options)
    : GenerationAnswer(1), options_(std::move(options)), reply_(options_.reply) {}

void MessagesAnswer::Begin(std::string_view request_id, int64_t) {
  request_id_ = request_id;
  response_.id = fmt::format("msg_{}", request_id);
  response_.model = options_.model->id;
  response_.context_management = options_.context_management;
}

void MessagesAnswer::BeginStream(int32_t cached_tokens) {
  if (!options_.stream || std::exchange(stream_begun_, true)) return;
  const Usage known{.prompt_tokens = options_.prompt_tokens, .cached_tokens = cached_tokens};
  AddEvent("message_start", MessageStartJson(response_, known));
  AddEvent("ping", PingJson());
}

std::string MessagesAnswer::TakeStreamText() {
  if (finished()) {
    AddEvent("message_delta", MessageDeltaJson(response_, usage()));
    AddEvent("message_stop", MessageStopJson());
  }
  return std::exchange(events_, {});
}

std::string MessagesAnswer::WholeBody() { return ToJson(response_, usage()); }

std::string MessagesAnswer::StreamError(const ApiError& error) const {
  return SseEvent("error", ToAnthropicJson(error, ""));
}

void MessagesAnswer::OnPromptLogprobs(int32_t, const PromptLogprobs&) {}  // nobody asks for them

void MessagesAnswer::OnTokens(int32_t, const TokensEvent& event) {
  BeginStream(event.cached_tokens);
  for (ReplyDelta& delta : reply_.Push(event, mutable_usage())) AddDelta(std::move(delta));
}

void MessagesAnswer::OnFinish(int32_t, const FinishEvent& event) {
  BeginStream(event.cached_tokens);
  for (ReplyDelta& delta : reply_.Finish()) AddDelta(std::move(delta));
  CloseBlock();
  response_.stop_sequence = event.stop_string;
  response_.stop_reason = event.reason == FinishReason::kLength ? "max_tokens"
                          : !event.stop_string.empty()          ? "stop_sequence"
                          : reply_.call_count() > 0             ? "tool_use"
                                                                : "end_turn";
}

// Pieces of one kind make a block, but every call is its own.
void MessagesAnswer::AddDelta(ReplyDelta delta) {
  if (delta.kind == ReplyDeltaKind::kCallBegun) {
    std::string id = delta.call_id.empty() ? MakeCallId(request_id_, 0, delta.call_index,
                                                        options_.reply.options.format.calls)
                                           : std::move(delta.call_id);
    OpenBlock({.kind = MessagesBlockKind::kToolUse,
               .text = {},
               .id = std::move(id),
               .name = std::move(delta.text)});
    return;
  }
  const MessagesBlockKind kind = BlockKindOf(delta.kind);
  if (!block_open_ || response_.content.back().kind != kind) {
    OpenBlock({.kind = kind, .text = {}, .id = {}, .name = {}});
  }
  if (options_.omits_thinking && kind == MessagesBlockKind::kThinking) return;
  if (options_.stream) {
    AddEvent("content_block_delta", ContentBlockDeltaJson(block_count_, kind, delta.text));
  } else {
    response_.content.back().text += delta.text;
  }
}

void MessagesAnswer::OpenBlock(MessagesBlock block) {
  CloseBlock();
  if (options_.stream) {
    response_.content.clear();
    AddEvent("content_block_start", ContentBlockStartJson(block_count_, block));
  }
  response_.content.push_back(std::move(block));
  block_open_ = true;
}

void MessagesAnswer::CloseBlock() {
  if (!std::exchange(block_open_, false)) return;
  if (options_.stream) {
    if (response_.content.back().kind == MessagesBlockKind::kThinking) {
      AddEvent("content_block_delta", SignatureDeltaJson(block_count_));
    }
    AddEvent("content_block_stop", ContentBlockStopJson(block_count_));
  }
  ++block_count_;
}

void MessagesAnswer::AddEvent(std::string_view name, std::string_view json) {
  events_ += SseEvent(name, json);
}

}  // namespace weft
