#include "server/api/llama_server/llama_answer.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "proto/sse.h"

namespace weft {
namespace {

LlamaProb LlamaProbOf(const Tokenizer& tokenizer, TokenId token, float logprob) {
  std::string_view bytes = tokenizer.TokenBytes(token);
  if (bytes.empty()) bytes = tokenizer.TokenText(token);
  return {
      .id = token, .token = std::string(bytes), .bytes = std::string(bytes), .logprob = logprob};
}

std::string_view StopTypeOf(const FinishEvent& event) {
  if (event.reason == FinishReason::kLength) return "limit";
  return event.stop_string.empty() ? "eos" : "word";
}

}  // namespace

LlamaAnswer::LlamaAnswer(LlamaAnswerOptions options)
    : GenerationAnswer(static_cast<int32_t>(options.prompts.size())),
      options_(std::move(options)),
      states_(options_.prompts.size()) {}

void LlamaAnswer::Begin(std::string_view, int64_t) {}

std::string LlamaAnswer::TakeStreamText() { return std::exchange(events_, {}); }

std::string LlamaAnswer::WholeBody() {
  std::string body;
  for (const State& state : states_) {
    if (!body.empty()) body += ',';
    body += ToJson(state.whole, state.end, options_.response_fields);
  }
  return states_.size() > 1 ? '[' + body + ']' : body;
}

std::string LlamaAnswer::StreamError(const ApiError& error) const {
  return SseEvent(ToLlamaJson(error));
}

void LlamaAnswer::OnPromptLogprobs(int32_t, const PromptLogprobs&) {}  // nobody asks for them

LlamaPiece LlamaAnswer::BeginPiece(int32_t prompt_index) const {
  const State& state = states_[static_cast<size_t>(prompt_index)];
  LlamaPiece piece;
  piece.index = prompt_index;
  piece.predicted_tokens = state.predicted_tokens;
  piece.prompt_tokens = options_.prompt_tokens[static_cast<size_t>(prompt_index)];
  return piece;
}

void LlamaAnswer::OnProgress(int32_t prompt_index, const PromptProgress& progress) {
  if (!options_.stream) return;
  LlamaPiece piece = BeginPiece(prompt_index);
  piece.prompt_tokens = progress.prompt_tokens;
  piece.progress = NumbersOf(progress);
  if (options_.timings_per_token) {
    piece.timings = {.cached_tokens = progress.cached_tokens,
                     .prompt_tokens = progress.processed_tokens - progress.cached_tokens,
                     .prompt_ms = piece.progress->time_ms};
  }
  events_ += SseEvent(ToJson(piece));
}

std::vector<LlamaProbs> LlamaAnswer::ProbsOf(const TokensEvent& event) const {
  const Tokenizer& tokenizer = *options_.model->tokenizer;
  std::vector<LlamaProbs> probs;
  for (const TokenLogprob& entry : event.logprobs) {
    LlamaProbs& chosen = probs.emplace_back();
    static_cast<LlamaProb&>(chosen) = LlamaProbOf(tokenizer, entry.token, entry.logprob);
    for (const auto& [token, logprob] : entry.top) {
      chosen.top.push_back(LlamaProbOf(tokenizer, token, logprob));
    }
  }
  return probs;
}

void LlamaAnswer::OnTokens(int32_t prompt_index, const TokensEvent& event) {
  if (options_.drops_output) return;
  State& state = states_[static_cast<size_t>(prompt_index)];
  std::string text = state.decoder.Append(event.text);
  std::vector<LlamaProbs> probs = ProbsOf(event);
  state.predicted_tokens += std::ssize(event.tokens);
  state.end.has_new_line |= text.find('\n') != std::string::npos;
  if (!options_.stream) {
    state.whole.content += text;
    if (options_.returns_tokens) {
      state.whole.tokens.insert(state.whole.tokens.end(), event.tokens.begin(), event.tokens.end());
    }
    std::ranges::move(probs, std::back_inserter(state.whole.probs));
    return;
  }
  LlamaPiece piece = BeginPiece(prompt_index);
  piece.content = std::move(text);
  piece.tokens = event.tokens;
  piece.probs = std::move(probs);
  if (options_.timings_per_token) {
    RequestTimes times = event.times;
    times.finished = std::chrono::steady_clock::now();
    piece.timings = TimingsOf({.prompt_tokens = piece.prompt_tokens,
                               .completion_tokens = state.predicted_tokens,
                               .cached_tokens = event.cached_tokens},
                              times);
  }
  events_ += SseEvent(ToJson(piece));
}

void LlamaAnswer::OnFinish(int32_t prompt_index, const FinishEvent& event) {
  State& state = states_[static_cast<size_t>(prompt_index)];
  LlamaPiece& whole = state.whole;
  whole.index = prompt_index;
  if (!options_.drops_output) {
    whole.content += state.decoder.Finish();
    whole.predicted_tokens = event.completion_tokens;
  }
  whole.prompt_tokens = event.prompt_tokens;
  whole.timings = TimingsOf({.prompt_tokens = event.prompt_tokens,
                             .completion_tokens = whole.predicted_tokens,
                             .cached_tokens = event.cached_tokens},
                            event.times);
  LlamaEnd& end = state.end;
  end.model = options_.model->id;
  end.settings = options_.settings;
  end.prompt = options_.prompts[static_cast<size_t>(prompt_index)];
  end.is_truncated = event.reason == FinishReason::kLength && !options_.is_bounded;
  end.stop_type = StopTypeOf(event);
  end.stopping_word = event.stop_string;
  if (options_.stream) events_ += SseEvent(ToJson(whole, end, options_.response_fields));
}

}  // namespace weft
