#include "server/api/chat/chat_answer.h"

#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "proto/sse.h"

namespace weft {
namespace {

void AppendTo(std::optional<std::string>& whole, const std::optional<std::string>& piece) {
  if (!piece) return;
  if (!whole) whole.emplace();
  *whole += *piece;
}

}  // namespace

ChatAnswer::ChatAnswer(ChatAnswerOptions options)
    : GenerationAnswer(options.choice_count), options_(std::move(options)) {
  for (int32_t i = 0; i < options_.choice_count; ++i) {
    choices_.push_back(std::make_unique<ChoiceState>(options_.reply));
  }
}

void ChatAnswer::Begin(std::string_view request_id, int64_t created) {
  request_id_ = request_id;
  response_.id = fmt::format("chatcmpl-{}", request_id);
  response_.created = created;
  response_.model = options_.model->id;
  response_.system_fingerprint = options_.model->fingerprint;
  if (options_.stream) return;
  response_.choices.resize(choices_.size());
  for (size_t i = 0; i < choices_.size(); ++i) {
    response_.choices[i].index = static_cast<int32_t>(i);
    if (options_.logprobs) response_.choices[i].logprobs.emplace();
  }
}

std::string ChatAnswer::TakeStreamText() {
  std::string events;
  ChatResponse chunk = response_;
  std::vector<Piece> pieces = std::exchange(pieces_, {});
  for (Piece& piece : pieces) {
    const bool is_last = finished() && !options_.include_usage && &piece == &pieces.back();
    if (is_last && options_.timings) chunk.timings = timings();
    chunk.progress = piece.progress;
    chunk.choices.clear();
    chunk.choices.push_back(std::move(piece.choice));
    events += SseEvent(
        ToChunkJson(chunk, {.present = options_.include_usage,
                            .so_far = options_.continuous_usage ? &piece.usage : nullptr}));
  }
  if (!finished()) return events;
  chunk.progress.reset();
  if (options_.include_usage) {
    if (options_.timings) chunk.timings = timings();
    chunk.choices.clear();
    events += SseEvent(ToChunkJson(chunk, {.present = true, .usage = &usage()}));
  }
  events += kSseDone;
  return events;
}

std::string ChatAnswer::WholeBody() {
  if (options_.timings) response_.timings = timings();
  return ToJson(response_, usage());
}

void ChatAnswer::OnPromptLogprobs(int32_t, const PromptLogprobs&) {}  // chats ask for none

// A stream's first chunk says who speaks.
ChatAnswer::ChoiceState& ChatAnswer::BegunChoice(int32_t choice) {
  ChoiceState& state = *choices_[static_cast<size_t>(choice)];
  if (state.begun) return state;
  state.begun = true;
  ChatChoice first;
  first.index = choice;
  first.message.has_role = true;
  if (options_.stream) AddPiece(std::move(first));
  return state;
}

// Beside what says who speaks.
void ChatAnswer::OnProgress(int32_t, const PromptProgress& progress) {
  BegunChoice(0);
  ChatChoice none;
  AddPiece(std::move(none));
  pieces_.back().progress = NumbersOf(progress);
}

void ChatAnswer::OnTokens(int32_t, const TokensEvent& event) {
  ChoiceState& state = BegunChoice(event.choice);
  for (const TokenLogprob& entry : event.logprobs) {
    state.logprobs.push_back(ChatLogprobOf(*options_.model->tokenizer, entry));
  }
  state.token_count += std::ssize(event.tokens);
  AddDeltas(event.choice, state.reply.Push(event, mutable_usage()));
}

void ChatAnswer::OnFinish(int32_t, const FinishEvent& event) {
  ChoiceState& state = BegunChoice(event.choice);
  state.token_count = event.completion_tokens;
  AddDeltas(event.choice, state.reply.Finish());
  ChatChoice last;
  last.index = event.choice;
  const bool calls = state.reply.call_count() > 0 && !options_.names_function;
  last.finish_reason = event.reason == FinishReason::kLength ? "length"
                       : calls                               ? "tool_calls"
                                                             : "stop";
  Emit(std::move(last));
}

void ChatAnswer::AddDeltas(int32_t choice, std::vector<ReplyDelta> deltas) {
  for (ReplyDelta& delta : deltas) {
    ChatChoice piece;
    piece.index = choice;
    switch (delta.kind) {
      case ReplyDeltaKind::kContent:
        piece.message.content = std::move(delta.text);
        break;
      case ReplyDeltaKind::kReasoning:
        piece.message.reasoning = std::move(delta.text);
        break;
      case ReplyDeltaKind::kCallBegun:
      case ReplyDeltaKind::kCallArguments:
        piece.message.tool_calls.push_back(MakeCall(choice, std::move(delta)));
        break;
    }
    Emit(std::move(piece));
  }
}

ChatToolCall ChatAnswer::MakeCall(int32_t choice, ReplyDelta delta) const {
  ChatToolCall call;
  call.index = delta.call_index;
  if (delta.kind == ReplyDeltaKind::kCallArguments) {
    call.arguments = std::move(delta.text);
    return call;
  }
  call.id = delta.call_id.empty() ? MakeCallId(request_id_, choice, delta.call_index,
                                               options_.reply.options.format.calls)
                                  : std::move(delta.call_id);
  call.name = std::move(delta.text);
  return call;
}

// A stream's chunk takes the log probabilities that have gathered along.
void ChatAnswer::Emit(ChatChoice piece) {
  std::vector<ChatLogprob>& logprobs = choices_[static_cast<size_t>(piece.index)]->logprobs;
  if (options_.stream) {
    if (!logprobs.empty()) piece.logprobs = std::exchange(logprobs, {});
    AddPiece(std::move(piece));
    return;
  }
  ChatChoice& whole = response_.choices[static_cast<size_t>(piece.index)];
  if (options_.logprobs) {
    whole.logprobs->insert(whole.logprobs->end(), std::make_move_iterator(logprobs.begin()),
                           std::make_move_iterator(logprobs.end()));
    logprobs.clear();
  }
  whole.finish_reason = std::move(piece.finish_reason);
  AddToWhole(whole, std::move(piece.message));
}

void ChatAnswer::AddPiece(ChatChoice piece) {
  const int64_t token_count = choices_[static_cast<size_t>(piece.index)]->token_count;
  pieces_.push_back(
      {.choice = std::move(piece),
       .usage = {.prompt_tokens = options_.prompt_tokens, .completion_tokens = token_count}});
}

void ChatAnswer::AddToWhole(ChatChoice& whole, ChatMessageDelta delta) const {
  AppendTo(whole.message.content, delta.content);
  AppendTo(whole.message.reasoning, delta.reasoning);
  for (ChatToolCall& call : delta.tool_calls) {
    if (!call.id.empty()) {
      whole.message.tool_calls.push_back(std::move(call));
    } else {
      whole.message.tool_calls.back().arguments += call.arguments;
    }
  }
  // A reply without any text is an empty one; with calls alone, there is none.
  if (!whole.finish_reason.empty() && !whole.message.content && whole.message.tool_calls.empty()) {
    whole.message.content = "";
  }
}

}  // namespace weft
