#include "server/completion_assembler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "model/tokenizer/utf8.h"

namespace weft {
namespace {

// How a token appears in logprobs: its bytes as they are if they are UTF-8 by themselves, otherwise
// "bytes:\xe2\x80"; a control token by its name.
std::string LabelOf(const Tokenizer& tokenizer, TokenId token) {
  const std::string_view bytes = tokenizer.TokenBytes(token);
  if (bytes.empty()) return std::string(tokenizer.TokenText(token));
  if (ValidUtf8Prefix(bytes) == bytes.size()) return std::string(bytes);
  std::string label = "bytes:";
  for (const char byte : bytes) {
    label += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return label;
}

// Characters that begin in these bytes: all that are not continuation bytes.
int64_t CountCharacterStarts(std::string_view bytes) {
  return std::ranges::count_if(
      bytes, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

ApiError FailureOf(const FinishEvent& event) {
  ApiError error;
  error.type = "server_error";
  if (event.reason == FinishReason::kAborted) {
    error.status = 503;
    error.code = "request_aborted";
    error.message = "the server stopped this request before it was done; send it again";
  } else {
    error.status = 500;
    error.code = "generation_failed";
    error.message = event.error.empty() ? "the generation failed" : event.error;
  }
  return error;
}

template <typename T>
void AppendAll(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

CompletionAssembler::CompletionAssembler(const CompletionJob& job)
    : job_(job),
      choices_(job.prompts.size() * static_cast<size_t>(job.request.n)),
      unfinished_choices_(static_cast<int32_t>(choices_.size())) {}

int32_t CompletionAssembler::IndexOf(int32_t prompt_index, int32_t choice) const {
  return prompt_index * job_.request.n + choice;
}

void CompletionAssembler::Consume(EngineEvent event, std::vector<CompletionChoice>& pieces) {
  if (const auto* logprobs = std::get_if<PromptLogprobs>(&event.event)) {
    OnPromptLogprobs(event.prompt_index, *logprobs, pieces);
  } else if (const auto* tokens = std::get_if<TokensEvent>(&event.event)) {
    OnTokens(event.prompt_index, *tokens, pieces);
  } else {
    OnFinish(event.prompt_index, std::get<FinishEvent>(event.event), pieces);
  }
}

// A piece of this choice; the first one begins with the echoed prompt.
CompletionChoice CompletionAssembler::Begin(int32_t prompt_index, int32_t choice) {
  CompletionChoice piece;
  piece.index = IndexOf(prompt_index, choice);
  if (job_.request.logprobs) piece.logprobs.emplace();
  ChoiceState& state = choices_[static_cast<size_t>(piece.index)];
  if (!state.begun) {
    state.begun = true;
    piece.text = job_.prompts[static_cast<size_t>(prompt_index)].text;
  }
  return piece;
}

void CompletionAssembler::AddLogprobs(const std::vector<TokenLogprob>& entries, bool of_prompt,
                                      ChoiceState& state, CompletionLogprobs& logprobs) const {
  const Tokenizer& tokenizer = *job_.model->tokenizer;
  for (const TokenLogprob& entry : entries) {
    const bool is_first_of_prompt = of_prompt && &entry == &entries.front();
    logprobs.tokens.push_back(LabelOf(tokenizer, entry.token));
    logprobs.token_logprobs.push_back(is_first_of_prompt ? std::nullopt
                                                         : std::optional(entry.logprob));
    auto& candidates = logprobs.top_logprobs.emplace_back();
    for (const auto& [token, logprob] : entry.top) {
      candidates.emplace_back(LabelOf(tokenizer, token), logprob);
    }
    logprobs.text_offset.push_back(state.text_offset);
    state.text_offset += CountCharacterStarts(tokenizer.TokenBytes(entry.token));
  }
}

void CompletionAssembler::OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries,
                                           std::vector<CompletionChoice>& pieces) {
  if (!job_.request.logprobs) return;  // asked of the engine only so that it takes 0 tokens
  for (int32_t choice = 0; choice < job_.request.n; ++choice) {
    CompletionChoice piece = Begin(prompt_index, choice);
    AddLogprobs(entries, true, choices_[static_cast<size_t>(piece.index)], *piece.logprobs);
    pieces.push_back(std::move(piece));
  }
}

void CompletionAssembler::OnTokens(int32_t prompt_index, const TokensEvent& event,
                                   std::vector<CompletionChoice>& pieces) {
  CompletionChoice piece = Begin(prompt_index, event.choice);
  ChoiceState& state = choices_[static_cast<size_t>(piece.index)];
  piece.text += state.decoder.Append(event.text);
  if (piece.logprobs) AddLogprobs(event.logprobs, false, state, *piece.logprobs);
  if (!piece.text.empty() || !event.logprobs.empty()) pieces.push_back(std::move(piece));
}

void CompletionAssembler::OnFinish(int32_t prompt_index, const FinishEvent& event,
                                   std::vector<CompletionChoice>& pieces) {
  --unfinished_choices_;
  usage_.completion_tokens += event.completion_tokens;
  if (event.choice == 0) {  // the choices of a prompt share it
    usage_.prompt_tokens += event.prompt_tokens;
    usage_.cached_tokens += event.cached_tokens;
  }
  if (event.reason == FinishReason::kAborted || event.reason == FinishReason::kFailed) {
    if (!failure_) failure_ = FailureOf(event);
    return;
  }
  CompletionChoice piece = Begin(prompt_index, event.choice);
  piece.text += choices_[static_cast<size_t>(piece.index)].decoder.Finish();
  piece.finish_reason = event.reason == FinishReason::kStop ? "stop" : "length";
  pieces.push_back(std::move(piece));
}

void AppendPiece(CompletionChoice piece, CompletionChoice& whole) {
  whole.index = piece.index;
  whole.text += piece.text;
  if (!piece.finish_reason.empty()) whole.finish_reason = std::move(piece.finish_reason);
  if (!piece.logprobs) return;
  if (!whole.logprobs) whole.logprobs.emplace();
  AppendAll(piece.logprobs->tokens, whole.logprobs->tokens);
  AppendAll(piece.logprobs->token_logprobs, whole.logprobs->token_logprobs);
  AppendAll(piece.logprobs->top_logprobs, whole.logprobs->top_logprobs);
  AppendAll(piece.logprobs->text_offset, whole.logprobs->text_offset);
}

}  // namespace weft
