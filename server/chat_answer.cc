#include "server/chat_answer.h"

#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "proto/sse.h"
#include "server/token_label.h"

namespace weft {
namespace {

// FNV-1a, 64 bits.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

// The same letters and figures for the same request, choice and call. Mistral's templates take ids
// of nine characters only.
std::string CallId(std::string_view request_id, int32_t choice, int32_t call, CallFormat format) {
  constexpr std::string_view kFigures = "0123456789abcdefghijklmnopqrstuvwxyz";
  const bool is_short = format == CallFormat::kMistral || format == CallFormat::kMistralNamed;
  std::string id = is_short ? "" : "call_";
  const size_t length = is_short ? 9 : id.size() + 24;
  for (int round = 0; id.size() < length; ++round) {
    uint64_t hash = HashOf(fmt::format("{} {} {} {}", request_id, choice, call, round));
    for (int i = 0; i < 8 && id.size() < length; ++i) {
      id += kFigures[hash % kFigures.size()];
      hash /= kFigures.size();
    }
  }
  return id;
}

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
  response_.system_fingerprint = fmt::format("fp_{:010x}", HashOf(options_.model->id) >> 24);
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
  const ChunkUsage none{.present = options_.include_usage, .usage = nullptr};
  for (ChatChoice& piece : std::exchange(pieces_, {})) {
    chunk.choices.clear();
    chunk.choices.push_back(std::move(piece));
    events += SseEvent(ToChunkJson(chunk, none));
  }
  if (!finished()) return events;
  if (options_.include_usage) {
    chunk.choices.clear();
    events += SseEvent(ToChunkJson(chunk, {.present = true, .usage = &usage()}));
  }
  events += kSseDone;
  return events;
}

std::string ChatAnswer::WholeBody() { return ToJson(response_, usage()); }

void ChatAnswer::OnPromptLogprobs(int32_t, const PromptLogprobs&) {}  // chats ask for none

// A stream's first chunk says who speaks; then comes what the prompt has begun.
ChatAnswer::ChoiceState& ChatAnswer::BegunChoice(int32_t choice) {
  ChoiceState& state = *choices_[static_cast<size_t>(choice)];
  if (state.begun) return state;
  state.begun = true;
  ChatChoice first;
  first.index = choice;
  first.message.has_role = true;
  first.message.content = "";
  if (options_.stream) pieces_.push_back(std::move(first));
  AddDeltas(choice, state.parser.Push(options_.reply_begin));
  return state;
}

void ChatAnswer::OnTokens(int32_t, const TokensEvent& event) {
  ChoiceState& state = BegunChoice(event.choice);
  for (const TokenLogprob& entry : event.logprobs) state.logprobs.push_back(LogprobOf(entry));
  bool reasons = state.parser.in_reasoning();
  std::vector<ReplyDelta> deltas = state.parser.Push(state.decoder.Append(event.text));
  reasons = reasons || state.parser.in_reasoning();
  if (reasons) mutable_usage().reasoning_tokens += static_cast<int64_t>(event.tokens.size());
  AddDeltas(event.choice, std::move(deltas));
}

void ChatAnswer::OnFinish(int32_t, const FinishEvent& event) {
  ChoiceState& state = BegunChoice(event.choice);
  AddDeltas(event.choice, state.parser.Push(state.decoder.Finish()));
  AddDeltas(event.choice, state.parser.Finish());
  ChatChoice last;
  last.index = event.choice;
  const bool calls = state.parser.call_count() > 0 && !options_.names_function;
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
  call.id = delta.call_id.empty()
                ? CallId(request_id_, choice, delta.call_index, options_.reply.format.calls)
                : std::move(delta.call_id);
  call.name = std::move(delta.text);
  return call;
}

// A stream's chunk takes the log probabilities that have gathered along.
void ChatAnswer::Emit(ChatChoice piece) {
  std::vector<ChatLogprob>& logprobs = choices_[static_cast<size_t>(piece.index)]->logprobs;
  if (options_.stream) {
    if (!logprobs.empty()) piece.logprobs = std::exchange(logprobs, {});
    pieces_.push_back(std::move(piece));
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

ChatLogprob ChatAnswer::LogprobOf(const TokenLogprob& entry) const {
  const Tokenizer& tokenizer = *options_.model->tokenizer;
  const auto named = [&](TokenId token, float logprob) {
    return ChatTokenLogprob{.token = LabelOf(tokenizer, token),
                            .bytes = std::string(tokenizer.TokenBytes(token)),
                            .logprob = logprob};
  };
  ChatLogprob result{.chosen = named(entry.token, entry.logprob), .top = {}};
  for (const auto& [token, logprob] : entry.top) result.top.push_back(named(token, logprob));
  return result;
}

}  // namespace weft
