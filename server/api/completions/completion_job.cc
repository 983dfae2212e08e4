#include "server/api/completions/completion_job.h"

#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "model/source_task.h"
#include "proto/completions/completion_request.h"
#include "proto/field_reader.h"
#include "server/api/completions/completion_answer.h"
#include "server/api/completions/infill.h"
#include "server/api/prompt_tokens.h"
#include "server/api/sampling_mapping.h"
#include "server/api/structured/job_constraint.h"

namespace weft {
namespace {

constexpr int32_t kDefaultMaxTokens = 16;  // OpenAI's
struct TokenizedPrompt {
  std::vector<TokenId> tokens;
  std::string text;  // what echo gives back; empty without echo
};

ApiError NoInfill() {
  return UnsupportedParameter(
      "suffix", "'suffix' needs a model with tokens for filling in, and this one has none");
}

ApiResult<TokenizedPrompt> Tokenize(Prompt& prompt, const std::string& path,
                                    const CompletionRequest& request, const SourceTask& task,
                                    const Tokenizer& tokenizer) {
  TokenizedPrompt result;
  const bool fills_in = !request.suffix.empty();
  const auto* source = std::get_if<std::string>(&prompt);
  if (source != nullptr && !task.target_prefix.empty()) {
    WEFT_ASSIGN_OR_RETURN(result.tokens, EncodedAt(path, EncodeSource(tokenizer, task, *source)));
  } else {
    WEFT_ASSIGN_OR_RETURN(result.tokens,
                          TakeTokens(prompt, tokenizer, {.add_special_tokens = !fills_in}, path));
  }
  if (request.echo) {
    auto* text = std::get_if<std::string>(&prompt);
    result.text = text != nullptr ? std::move(*text) : tokenizer.Decode(result.tokens);
  }
  if (fills_in) {
    const std::optional<InfillTokens> infill = FindInfillTokens(tokenizer);
    if (!infill) return tl::unexpected(NoInfill());
    const EncodeOptions plain{.add_special_tokens = false, .parse_special_tokens = false};
    WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> after,
                          EncodeText(tokenizer, request.suffix, plain, "suffix"));
    result.tokens = InfillPrompt(tokenizer, *infill, result.tokens, after);
  }
  if (result.tokens.empty()) return RefuseEmptyPrompt(path);
  return result;
}

// The prompts' tokens go to the job, their texts to the answer; the longest one decides how many
// tokens may follow.
ApiResult<void> TokenizePrompts(CompletionRequest& request, const SourceTask& task,
                                const Tokenizer& tokenizer, GenerationJob& job,
                                std::vector<std::string>& echoes, LengthRequest& length) {
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    const std::string path = request.prompt_is_list ? fmt::format("prompt[{}]", i) : "prompt";
    ApiResult<TokenizedPrompt> prompt =
        Tokenize(request.prompts[i], path, request, task, tokenizer);
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    if (const auto count = static_cast<int64_t>(prompt->tokens.size());
        count > length.prompt_tokens) {
      length.prompt_tokens = count;
      length.prompt_path = path;
    }
    job.prompts.push_back(std::move(prompt->tokens));
    echoes.push_back(std::move(prompt->text));
  }
  return {};
}

// What an encoder-decoder is to do with the prompts, which it reads, but does not write again.
ApiResult<SourceTask> TaskOf(const CompletionRequest& request, const ServedModel& model) {
  if (!model.engine->options().reads_sources) {
    if (request.task.empty()) return SourceTask();
    return tl::unexpected(InvalidField("task", fmt::format("'task': {}", kNoTasks)));
  }
  constexpr std::string_view kNoPrompt =
      "the model is an encoder-decoder, whose prompts are no "
      "part of the text that it generates";
  const auto refuse = [&](const char* field) {
    return tl::unexpected(
        UnsupportedParameter(field, fmt::format("'{}' cannot be had: {}", field, kNoPrompt)));
  };
  if (request.echo) return refuse("echo");
  if (request.prompt_logprobs) return refuse("prompt_logprobs");
  if (!request.suffix.empty()) return refuse("suffix");
  if (request.task.empty()) return model.task;
  Result<SourceTask> task = FindSourceTask(model.target, *model.tokenizer, request.task);
  if (!task) return tl::unexpected(InvalidField("task", task.error().message));
  return *std::move(task);
}

ApiResult<void> FitSources(const SourceTask& task, const ServedModel& model, GenerationJob& job,
                           LengthRequest& length) {
  if (!model.engine->options().reads_sources) return {};
  const int32_t context = model.engine->options().max_context;
  if (length.prompt_tokens > context) {
    return tl::unexpected(length.words({.context = context,
                                        .prompt_tokens = length.prompt_tokens,
                                        .param = length.prompt_path,
                                        .prompt = length.prompt_path}));
  }
  job.target_prefix = task.target_prefix;
  length.prompt_tokens = std::ssize(job.target_prefix);
  return {};
}

// What the answer will hold of its prompts, and may hold of what is generated.
void CountLogprobs(const CompletionRequest& request, GenerationJob& job) {
  if (!request.logprobs && !request.prompt_logprobs) return;
  int64_t positions = 0;
  for (const std::vector<TokenId>& prompt : job.prompts)
    positions += static_cast<int64_t>(prompt.size()) * request.best_of;
  LogprobUse& use = job.logprobs;
  use.bytes_each = kCompletionLogprobBytes;
  use.is_streamed = request.stream;
  if (request.logprobs) {
    use.path = "logprobs";
    const int64_t entries = 1 + *request.logprobs;
    if (request.echo) use.count += positions * entries;
    if (!request.stream && request.max_tokens) {
      use.asked_count =
          std::ssize(job.prompts) * request.best_of * job.sampling.max_tokens * entries;
    }
  }
  if (request.prompt_logprobs) {
    use.path = "prompt_logprobs";
    use.count += positions * (1 + *request.prompt_logprobs);
  }
  use.asked_count += use.count;
}

}  // namespace

ApiResult<GenerationJob> PrepareCompletion(std::string_view body, const PrepareContext& context) {
  ApiResult<CompletionRequest> parsed = ParseCompletionRequest(body, context.rules);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  CompletionRequest& request = *parsed;
  const ApiResult<const ServedModel*> model =
      FindGenerator(request.model, context.models, TakesSources::kYes);
  if (!model) return tl::unexpected(model.error());
  const Tokenizer& tokenizer = *(*model)->tokenizer;
  WEFT_RETURN_IF_ERROR(
      CheckChoiceCount(**model, request.best_of, request.best_of > request.n ? "best_of" : "n"));
  const ApiResult<SourceTask> task = TaskOf(request, **model);
  if (!task) return tl::unexpected(task.error());
  GenerationJob job;
  job.model = *model;
  job.choice_count = request.use_beam_search ? request.n : request.best_of;
  WEFT_RETURN_IF_ERROR(SetOutputConstraint(request, context, job));
  if (job.excess_bytes > 0) return job;
  WEFT_RETURN_IF_ERROR(SetGeneration(request, job));
  CompletionAnswerOptions answer{.model = job.model,
                                 .choice_count = job.choice_count,
                                 .returned_count = request.n,
                                 .echoes = {},
                                 .prompt_tokens = {},
                                 .echo = request.echo,
                                 .leading_spaces = {},
                                 .logprobs = request.logprobs,
                                 .prompt_logprobs = request.prompt_logprobs,
                                 .stream = request.stream,
                                 .include_usage = request.include_usage,
                                 .continuous_usage = request.continuous_usage,
                                 .timings = request.timings};
  LengthRequest length;
  length.asked = request.max_tokens;
  length.min_tokens = request.sampling.min_tokens;
  length.default_tokens = request.has_no_limit ? kMaxInt32 : kDefaultMaxTokens;
  length.clamps = context.rules.clamps_max_tokens;
  if ((*model)->engine->options().reads_sources) answer.leading_spaces = tokenizer.leading_spaces();
  WEFT_RETURN_IF_ERROR(TokenizePrompts(request, *task, tokenizer, job, answer.echoes, length));
  for (const auto& prompt : job.prompts) answer.prompt_tokens.push_back(std::ssize(prompt));
  WEFT_RETURN_IF_ERROR(FitSources(*task, **model, job, length));
  const ApiResult<int32_t> max_tokens = FitMaxTokens(*job.model, length);
  if (!max_tokens) return tl::unexpected(max_tokens.error());
  job.sampling.max_tokens = *max_tokens;
  WEFT_RETURN_IF_ERROR(SetFinish(request, length.max_tokens_path, job));
  if (request.use_beam_search) {
    job.sampling.beam_width = request.best_of;
    job.sampling.length_penalty = request.length_penalty;
    job.sampling.early_stopping = request.early_stopping;
  }
  // The best choices are found by their log probabilities.
  job.sampling.logprobs = request.logprobs.value_or(job.choice_count > request.n ? 0 : -1);
  // The engine accepts 0 tokens only where the prompt itself is looked at.
  job.sampling.prompt_logprobs =
      request.prompt_logprobs || (request.echo && (request.logprobs || *max_tokens == 0));
  job.sampling.prompt_logprob_count = request.prompt_logprobs.value_or(0);
  CountLogprobs(request, job);
  job.answer = std::make_unique<CompletionAnswer>(std::move(answer));
  return job;
}

}  // namespace weft
