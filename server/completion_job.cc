#include "server/completion_job.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/engine.h"
#include "server/sampling_mapping.h"

namespace weft {
namespace {

constexpr int32_t kDefaultMaxTokens = 16;  // OpenAI's
// In one answer: each is some 100 bytes while it is put together.
constexpr int64_t kMaxLogprobEntries = 2 << 20;

ApiResult<const ServedModel*> FindModel(const CompletionRequest& request,
                                        const std::vector<ServedModel>& models) {
  if (!request.model) return &models.front();
  const auto found = std::ranges::find(models, *request.model, &ServedModel::id);
  if (found == models.end()) return tl::unexpected(ModelNotFound(*request.model, models));
  return &*found;
}

ApiResult<TokenizedPrompt> Tokenize(Prompt& prompt, const std::string& path, bool echo,
                                    const Tokenizer& tokenizer) {
  TokenizedPrompt result;
  if (auto* text = std::get_if<std::string>(&prompt)) {
    result.tokens = tokenizer.Encode(*text, EncodeOptions{});
    if (echo) result.text = std::move(*text);
  } else {
    auto& ids = std::get<std::vector<int32_t>>(prompt);
    const ApiResult<void> checked = CheckTokenIds(ids, path, tokenizer.vocab_size());
    if (!checked) return tl::unexpected(checked.error());
    result.tokens = std::move(ids);
    if (echo) result.text = tokenizer.Decode(result.tokens);
  }
  if (result.tokens.empty()) {
    return tl::unexpected(InvalidField(
        path, fmt::format("'{}' is empty and this model has no token that begins a text; send at "
                          "least one character",
                          path)));
  }
  return result;
}

ApiError TooLong(std::string param, std::string message) {
  ApiError error = InvalidField(std::move(param), std::move(message));
  error.code = "context_length_exceeded";
  return error;
}

// The longest prompt decides: it and the tokens to come share the context.
ApiResult<int32_t> FitMaxTokens(const CompletionJob& job, const std::string& longest_path,
                                int64_t longest_tokens) {
  const int64_t context = job.model->engine->options().max_context;
  const std::optional<int32_t> asked = job.request.max_tokens;
  const int64_t room = context - longest_tokens;
  if (room < 0 || (room == 0 && asked != 0)) {
    return tl::unexpected(
        TooLong(longest_path, fmt::format("'{}' has {} tokens, but prompt and completion share a "
                                          "context of {}; shorten the prompt",
                                          longest_path, longest_tokens, context)));
  }
  const int32_t default_tokens = std::max(kDefaultMaxTokens, job.request.sampling.min_tokens);
  if (!asked) return static_cast<int32_t>(std::min<int64_t>(default_tokens, room));
  if (*asked > room) {
    return tl::unexpected(TooLong(
        "max_tokens", fmt::format("'max_tokens' is {}, but a prompt of {} tokens leaves {} of the "
                                  "context of {}; ask for at most {}",
                                  *asked, longest_tokens, room, context, room)));
  }
  return *asked;
}

// Log probabilities are what can make an answer large out of all proportion.
ApiResult<void> CheckLogprobCount(const CompletionJob& job, int32_t max_tokens) {
  if (!job.request.logprobs) return {};
  int64_t position_count = 0;
  for (const TokenizedPrompt& prompt : job.prompts) {
    position_count += max_tokens;
    if (job.request.echo) position_count += static_cast<int64_t>(prompt.tokens.size());
  }
  const int64_t entry_count = position_count * job.request.n * (1 + *job.request.logprobs);
  if (entry_count <= kMaxLogprobEntries) return {};
  return tl::unexpected(InvalidField(
      "logprobs", fmt::format("the answer could have {} log probabilities, but at most {} are "
                              "given at once; lower 'logprobs', 'n' or 'max_tokens'",
                              entry_count, kMaxLogprobEntries)));
}

}  // namespace

ApiError ModelNotFound(std::string_view id, const std::vector<ServedModel>& models) {
  std::string served;
  for (const ServedModel& model : models) {
    served += fmt::format("{}'{}'", served.empty() ? "" : ", ", model.id);
  }
  ApiError error;
  error.status = 404;
  error.code = "model_not_found";
  error.param = "model";
  error.message =
      fmt::format("the model '{}' does not exist; this server has {}", id.substr(0, 200), served);
  return error;
}

ApiResult<CompletionJob> PrepareCompletion(std::string_view body,
                                           const std::vector<ServedModel>& models) {
  ApiResult<CompletionRequest> parsed = ParseCompletionRequest(body);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  CompletionJob job;
  job.request = *std::move(parsed);
  const ApiResult<const ServedModel*> model = FindModel(job.request, models);
  if (!model) return tl::unexpected(model.error());
  job.model = *model;
  const Tokenizer& tokenizer = *job.model->tokenizer;
  if (const int32_t limit = job.model->engine->options().max_sequences; job.request.n > limit) {
    return tl::unexpected(InvalidField(
        "n", fmt::format("'n' is {}, but this server computes at most {} sequences at once",
                         job.request.n, limit)));
  }
  ApiResult<SamplingParams> sampling = SamplingOf(job.request.sampling, tokenizer);
  if (!sampling) return tl::unexpected(std::move(sampling).error());
  job.sampling = *std::move(sampling);

  int64_t longest_tokens = 0;
  std::string longest_path;
  for (size_t i = 0; i < job.request.prompts.size(); ++i) {
    const std::string path = job.request.prompt_is_list ? fmt::format("prompt[{}]", i) : "prompt";
    ApiResult<TokenizedPrompt> prompt =
        Tokenize(job.request.prompts[i], path, job.request.echo, tokenizer);
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    if (const auto count = static_cast<int64_t>(prompt->tokens.size()); count > longest_tokens) {
      longest_tokens = count;
      longest_path = path;
    }
    job.prompts.push_back(*std::move(prompt));
  }
  job.request.prompts.clear();
  const ApiResult<int32_t> max_tokens = FitMaxTokens(job, longest_path, longest_tokens);
  if (!max_tokens) return tl::unexpected(max_tokens.error());
  if (job.request.sampling.min_tokens > *max_tokens) {
    return tl::unexpected(TooLong(
        "min_tokens", fmt::format("'min_tokens' is {}, but the prompt leaves room for {} tokens",
                                  job.request.sampling.min_tokens, *max_tokens)));
  }
  WEFT_RETURN_IF_ERROR(CheckLogprobCount(job, *max_tokens));
  job.sampling.max_tokens = *max_tokens;
  job.sampling.logprobs = job.request.logprobs.value_or(-1);
  // The engine accepts 0 tokens only where the prompt itself is looked at.
  job.sampling.prompt_logprobs = job.request.echo && (job.request.logprobs || *max_tokens == 0);
  return job;
}

}  // namespace weft
