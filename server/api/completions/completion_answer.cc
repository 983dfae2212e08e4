#include "server/api/completions/completion_answer.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "proto/sse.h"
#include "server/api/token_label.h"

namespace weft {
namespace {

// Characters that begin in these bytes: all that are not continuation bytes.
int64_t CountCharacterStarts(std::string_view bytes) {
  return std::ranges::count_if(
      bytes, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

template <typename T>
void AppendAll(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Adds a piece to the end of a whole choice.
void AppendPiece(CompletionChoice piece, CompletionChoice& whole) {
  whole.index = piece.index;
  whole.text += piece.text;
  if (piece.prompt_logprobs) whole.prompt_logprobs = std::move(piece.prompt_logprobs);
  if (!piece.finish_reason.empty()) whole.finish_reason = std::move(piece.finish_reason);
  if (!piece.logprobs) return;
  if (!whole.logprobs) whole.logprobs.emplace();
  AppendAll(piece.logprobs->tokens, whole.logprobs->tokens);
  AppendAll(piece.logprobs->token_logprobs, whole.logprobs->token_logprobs);
  AppendAll(piece.logprobs->top_logprobs, whole.logprobs->top_logprobs);
  AppendAll(piece.logprobs->text_offset, whole.logprobs->text_offset);
}

}  // namespace

CompletionAnswer::CompletionAnswer(CompletionAnswerOptions options)
    : GenerationAnswer(static_cast<int32_t>(options.echoes.size()) * options.choice_count),
      options_(std::move(options)),
      choices_(options_.echoes.size() * static_cast<size_t>(options_.choice_count),
               {.decoder = IncrementalDecoder(options_.leading_spaces),
                .token_spaces = options_.leading_spaces}) {}

void CompletionAnswer::Begin(std::string_view request_id, int64_t created) {
  response_.id = fmt::format("cmpl-{}", request_id);
  response_.created = created;
  response_.model = options_.model->id;
  response_.system_fingerprint = options_.model->fingerprint;
  if (!options_.stream) response_.choices.resize(choices_.size());
}

std::string CompletionAnswer::TakeStreamText() {
  std::string events;
  CompletionResponse chunk = response_;
  chunk.usage_field = options_.include_usage ? UsageField::kNull : UsageField::kAbsent;
  if (options_.continuous_usage) chunk.usage_field = UsageField::kSoFar;
  std::vector<Piece> pieces = std::exchange(pieces_, {});
  for (Piece& piece : pieces) {
    const bool is_last = finished() && !options_.include_usage && &piece == &pieces.back();
    if (is_last && options_.timings) chunk.timings = timings();
    chunk.choices.clear();
    chunk.choices.push_back(std::move(piece.choice));
    chunk.usage_so_far = piece.usage;
    events += SseEvent(ToJson(chunk));
  }
  if (!finished()) return events;
  if (options_.include_usage) {
    if (options_.timings) chunk.timings = timings();
    chunk.choices.clear();
    chunk.usage_field = UsageField::kPresent;
    chunk.usage = usage();
    events += SseEvent(ToJson(chunk));
  }
  events += kSseDone;
  return events;
}

void CompletionAnswer::Emit(CompletionChoice piece) {
  const auto index = static_cast<size_t>(piece.index);
  if (options_.stream) {
    const size_t prompt = index / static_cast<size_t>(options_.choice_count);
    pieces_.push_back({.choice = std::move(piece),
                       .usage = {.prompt_tokens = options_.prompt_tokens[prompt],
                                 .completion_tokens = choices_[index].token_count}});
  } else {
    AppendPiece(std::move(piece), response_.choices[index]);
  }
}

void CompletionAnswer::KeepBest() {
  std::vector<CompletionChoice> kept;
  for (size_t prompt = 0; prompt < options_.echoes.size(); ++prompt) {
    std::vector<size_t> order(static_cast<size_t>(options_.choice_count));
    std::iota(order.begin(), order.end(), prompt * order.size());
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](size_t i) { return choices_[i].mean_logprob; });
    order.resize(static_cast<size_t>(options_.returned_count));
    for (const size_t i : order) {
      kept.push_back(std::move(response_.choices[i]));
      kept.back().index = static_cast<int32_t>(kept.size()) - 1;
    }
  }
  response_.choices = std::move(kept);
}

std::string CompletionAnswer::WholeBody() {
  if (options_.returned_count < options_.choice_count) KeepBest();
  response_.usage_field = UsageField::kPresent;
  response_.usage = usage();
  if (options_.timings) response_.timings = timings();
  return ToJson(response_);
}

int32_t CompletionAnswer::IndexOf(int32_t prompt_index, int32_t choice) const {
  return prompt_index * options_.choice_count + choice;
}

// A piece of this choice; the first one begins with the echoed prompt.
CompletionChoice CompletionAnswer::BeginPiece(int32_t prompt_index, int32_t choice) {
  CompletionChoice piece;
  piece.index = IndexOf(prompt_index, choice);
  if (options_.logprobs) piece.logprobs.emplace();
  ChoiceState& state = choices_[static_cast<size_t>(piece.index)];
  if (!state.begun) {
    state.begun = true;
    piece.text = options_.echoes[static_cast<size_t>(prompt_index)];
  }
  return piece;
}

void CompletionAnswer::AddLogprobs(const std::vector<TokenLogprob>& entries, bool of_prompt,
                                   ChoiceState& state, CompletionLogprobs& logprobs) const {
  const Tokenizer& tokenizer = *options_.model->tokenizer;
  for (const TokenLogprob& entry : entries) {
    const bool is_first_of_prompt = of_prompt && &entry == &entries.front();
    logprobs.tokens.push_back(LabelOf(tokenizer, entry.token));
    logprobs.token_logprobs.push_back(is_first_of_prompt ? std::nullopt
                                                         : std::optional(entry.logprob));
    auto& candidates = logprobs.top_logprobs.emplace_back();
    for (const auto& [token, logprob] : entry.top) {
      if (std::ssize(candidates) == *options_.logprobs) break;
      candidates.emplace_back(LabelOf(tokenizer, token), logprob);
    }
    logprobs.text_offset.push_back(state.text_offset);
    const std::string_view bytes = state.token_spaces.Strip(tokenizer.TokenBytes(entry.token));
    state.text_offset += CountCharacterStarts(bytes);
  }
}

void CompletionAnswer::OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) {
  for (int32_t choice = 0; choice < options_.choice_count; ++choice) {
    CompletionChoice piece = BeginPiece(prompt_index, choice);
    if (piece.logprobs && options_.echo)
      AddLogprobs(entries, true, choices_[static_cast<size_t>(piece.index)], *piece.logprobs);
    if (options_.prompt_logprobs) piece.prompt_logprobs = PromptLogprobsOf(entries);
    Emit(std::move(piece));
  }
}

std::vector<std::vector<PromptLogprob>> CompletionAnswer::PromptLogprobsOf(
    const PromptLogprobs& entries) const {
  const Tokenizer& tokenizer = *options_.model->tokenizer;
  std::vector<std::vector<PromptLogprob>> result(entries.size());
  for (size_t i = 1; i < entries.size(); ++i) {
    const TokenLogprob& entry = entries[i];
    const auto add = [&](TokenId token, float logprob, int32_t rank) {
      result[i].push_back({.token = token,
                           .logprob = logprob,
                           .rank = rank,
                           .decoded_token = LabelOf(tokenizer, token)});
    };
    add(entry.token, entry.logprob, entry.rank);
    for (int32_t rank = 1;
         rank <= std::min(*options_.prompt_logprobs, static_cast<int32_t>(entry.top.size()));
         ++rank) {
      const auto& [token, logprob] = entry.top[static_cast<size_t>(rank) - 1];
      if (token != entry.token) add(token, logprob, rank);
    }
  }
  return result;
}

void CompletionAnswer::OnTokens(int32_t prompt_index, const TokensEvent& event) {
  CompletionChoice piece = BeginPiece(prompt_index, event.choice);
  ChoiceState& state = choices_[static_cast<size_t>(piece.index)];
  piece.text += state.decoder.Append(event.text);
  state.token_count += std::ssize(event.tokens);
  if (piece.logprobs) AddLogprobs(event.logprobs, false, state, *piece.logprobs);
  if (!piece.text.empty() || !event.logprobs.empty()) Emit(std::move(piece));
}

void CompletionAnswer::OnFinish(int32_t prompt_index, const FinishEvent& event) {
  CompletionChoice piece = BeginPiece(prompt_index, event.choice);
  ChoiceState& state = choices_[static_cast<size_t>(piece.index)];
  piece.text += state.decoder.Finish();
  state.mean_logprob = event.logprob_sum / std::max(event.completion_tokens, 1);
  state.token_count = event.completion_tokens;
  piece.finish_reason = event.reason == FinishReason::kStop ? "stop" : "length";
  Emit(std::move(piece));
}

}  // namespace weft
