#include "server/api/llama_server/llama_job.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/embeddings/embedding_request.h"
#include "proto/llama_server/llama_request.h"
#include "server/api/completions/completion_job.h"
#include "server/api/completions/infill.h"
#include "server/api/embeddings/embedding_job.h"
#include "server/api/llama_server/llama_answer.h"
#include "server/api/prompt_tokens.h"
#include "server/api/sampling_mapping.h"
#include "server/api/structured/job_constraint.h"

namespace weft {
namespace {

constexpr EncodeOptions kPlainText{.add_special_tokens = false, .parse_special_tokens = false};

void Append(const std::vector<TokenId>& from, std::vector<TokenId>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

// The other files, as models that know repositories have seen them, or as snippets.
ApiResult<std::vector<TokenId>> FileTokens(const std::vector<InfillFile>& files,
                                           const InfillTokens& infill, const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens;
  const auto append = [&](std::string_view text) -> ApiResult<void> {
    WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> part,
                          EncodeText(tokenizer, text, kPlainText, "input_extra"));
    Append(part, tokens);
    return {};
  };
  if (infill.repository) {
    tokens.push_back(*infill.repository);
    WEFT_RETURN_IF_ERROR(append("myproject\n"));
  }
  for (const InfillFile& file : files) {
    if (infill.file) tokens.push_back(*infill.file);
    WEFT_RETURN_IF_ERROR(append(infill.file ? file.name + "\n" : "\n\n--- snippet ---\n\n"));
    WEFT_RETURN_IF_ERROR(append(file.text));
  }
  if (infill.file) {
    tokens.push_back(*infill.file);
    WEFT_RETURN_IF_ERROR(append("filename\n"));
  }
  return tokens;
}

ApiError NoInfillTokens(const ServedModel& model) {
  return HttpError(
      400, "not_offered",
      fmt::format("Infill is not supported by this model: '{}' has no tokens for it", model.id));
}

// What of other files does not fit beside the rest goes, from the beginning.
ApiResult<std::vector<TokenId>> LlamaInfillTokens(const LlamaRequest& request,
                                                  const ServedModel& model) {
  const Tokenizer& tokenizer = *model.tokenizer;
  const std::optional<InfillTokens> infill = FindInfillTokens(tokenizer);
  if (!infill) return tl::unexpected(NoInfillTokens(model));
  const InfillText& text = *request.infill;
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> before,
                        EncodeText(tokenizer, text.before, kPlainText, "input_prefix"));
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> begun,
                        EncodeText(tokenizer, std::get<std::string>(request.prompt.prompts.front()),
                                   {.add_special_tokens = false}, "prompt"));
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> after,
                        EncodeText(tokenizer, text.after, kPlainText, "input_suffix"));
  Append(begun, before);
  std::vector<TokenId> prompt = InfillPrompt(tokenizer, *infill, before, after);
  if (text.files.empty()) return prompt;
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> files, FileTokens(text.files, *infill, tokenizer));
  const int64_t room = model.engine->options().max_context - std::ssize(prompt) -
                       std::max(request.max_tokens.value_or(0), 1);
  const auto taken = std::clamp<int64_t>(room, 0, std::ssize(files));
  const auto begin =
      std::ranges::find(prompt, infill->prefix);  // behind the token that begins a text
  prompt.insert(begin, files.end() - taken, files.end());
  return prompt;
}

// Of ids and texts, each token once: what was said last of it.
ApiResult<std::map<TokenId, double>> BiasesOf(const LlamaRequest& request,
                                              const Tokenizer& tokenizer) {
  std::map<TokenId, double> biases(request.token_biases.begin(), request.token_biases.end());
  for (const auto& [text, bias] : request.text_biases) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> tokens,
                          EncodeText(tokenizer, text, kPlainText, "logit_bias"));
    for (const TokenId token : tokens) biases[token] = bias;
  }
  return biases;
}

// Tokens that are never to be chosen have no bias, which the text could outweigh: they are banned.
ApiResult<void> SetLlamaSampling(LlamaRequest& request, GenerationJob& job) {
  WEFT_ASSIGN_OR_RETURN(const auto biases, BiasesOf(request, *job.model->tokenizer));
  request.sampling.logit_bias.clear();
  std::vector<TokenId> never;
  for (const auto& [token, bias] : biases) {
    if (bias == kNeverBias) {
      never.push_back(token);
    } else {
      request.sampling.logit_bias.emplace_back(token, bias);
    }
  }
  if (std::ssize(never) > kMaxBadWords) {
    return tl::unexpected(
        InvalidField("logit_bias", fmt::format("'logit_bias' forbids {} tokens; forbid at most {}",
                                               never.size(), kMaxBadWords)));
  }
  WEFT_RETURN_IF_ERROR(CheckTokenIds(never, "logit_bias", job.model->tokenizer->vocab_size()));
  WEFT_RETURN_IF_ERROR(SetGeneration(request, job));
  for (const TokenId token : never) job.sampling.bad_words.push_back({token});
  if (request.n_probs == 0) return {};
  job.sampling.logprobs = request.n_probs;
  job.logprobs.bytes_each = kChatLogprobBytes;
  job.logprobs.path = "n_probs";
  job.logprobs.is_streamed = request.stream;
  return {};
}

// As llama-server says it: end tokens that are ignored are tokens that are never chosen, too.
std::string SettingsOf(const LlamaRequest& request, const GenerationJob& job) {
  LlamaSettings settings;
  settings.logit_bias = request.sampling.logit_bias;
  for (const std::vector<TokenId>& word : job.sampling.bad_words) {
    if (word.size() == 1) settings.logit_bias.emplace_back(word.front(), kNeverBias);
  }
  if (request.sampling.ignore_eos) {
    for (const TokenId token : job.model->engine->options().end_tokens) {
      settings.logit_bias.emplace_back(token, kNeverBias);
    }
  }
  return LlamaSettingsJson(request, settings);
}

ApiResult<void> SetLlamaPrompts(LlamaRequest& request, GenerationJob& job, LengthRequest& length) {
  std::vector<Prompt>& prompts = request.prompt.prompts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string path = request.prompt.is_list ? fmt::format("prompt[{}]", i) : "prompt";
    std::vector<TokenId> tokens;
    if (request.infill) {
      WEFT_ASSIGN_OR_RETURN(tokens, LlamaInfillTokens(request, *job.model));
    } else {
      WEFT_ASSIGN_OR_RETURN(tokens, TakeTokens(prompts[i], *job.model->tokenizer, {}, path));
    }
    if (tokens.empty()) return RefuseEmptyPrompt(path);
    if (std::ssize(tokens) > length.prompt_tokens) {
      length.prompt_tokens = std::ssize(tokens);
      length.prompt_path = path;
    }
    job.prompts.push_back(std::move(tokens));
  }
  return {};
}

ApiResult<GenerationJob> PrepareLlama(ApiResult<LlamaRequest> parsed,
                                      const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(LlamaRequest request, std::move(parsed));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        FindGenerator(request.model, context.models));
  GenerationJob job;
  job.model = model;
  WEFT_RETURN_IF_ERROR(SetOutputConstraint(request, context, job));
  if (job.excess_bytes > 0) return job;
  WEFT_RETURN_IF_ERROR(SetLlamaSampling(request, job));
  job.reports_progress = request.stream && request.returns_progress;
  LengthRequest length;
  WEFT_RETURN_IF_ERROR(SetLlamaPrompts(request, job, length));
  length.asked = request.max_tokens;
  // There is no way to read a prompt and nothing else: a token is generated, and dropped.
  const bool drops_output = request.max_tokens == 0;
  if (drops_output) length.asked = 1;
  length.max_tokens_path = "n_predict";
  length.min_tokens = request.sampling.min_tokens;
  length.default_tokens = std::numeric_limits<int32_t>::max();
  length.clamps = true;
  length.words = LlamaContextWords;
  WEFT_ASSIGN_OR_RETURN(job.sampling.max_tokens, FitMaxTokens(*model, length));
  WEFT_RETURN_IF_ERROR(SetFinish(request, length.max_tokens_path, job));
  LlamaAnswerOptions answer;
  answer.model = model;
  answer.settings = SettingsOf(request, job);
  // In the request's state, the answer's tree, its text and the body.
  constexpr size_t kCopies = 4;
  size_t text_bytes = 0;
  for (const std::vector<TokenId>& tokens : job.prompts) {
    text_bytes += answer.settings.size();
    for (const TokenId token : tokens) text_bytes += model->tokenizer->TokenBytes(token).size();
  }
  if (text_bytes > context.max_bytes) {
    job.excess_bytes = kCopies * text_bytes;
    return job;
  }
  job.answer_bytes += kCopies * text_bytes;
  for (const std::vector<TokenId>& tokens : job.prompts) {
    answer.prompts.push_back(model->tokenizer->Decode(tokens, true));
    answer.prompt_tokens.push_back(std::ssize(tokens));
  }
  answer.response_fields = std::move(request.response_fields);
  answer.stream = request.stream;
  answer.returns_tokens = request.returns_tokens;
  answer.timings_per_token = request.timings_per_token;
  answer.is_bounded = length.asked == job.sampling.max_tokens;
  answer.drops_output = drops_output;
  job.answer = std::make_unique<LlamaAnswer>(std::move(answer));
  return job;
}

}  // namespace

ApiResult<GenerationJob> PrepareLlamaCompletion(std::string_view body,
                                                const PrepareContext& context) {
  return PrepareLlama(ParseLlamaCompletion(body, context.rules), context);
}

ApiResult<GenerationJob> PrepareLlamaInfill(std::string_view body, const PrepareContext& context) {
  return PrepareLlama(ParseLlamaInfill(body, context.rules), context);
}

ApiResult<GenerationJob> PrepareLlamaEmbedding(std::string_view body,
                                               const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(EmbeddingRequest request, ParseLlamaEmbeddingRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  return PrepareParsedEmbedding(std::move(request), *model);
}

ApiResult<GenerationJob> PrepareAnyCompletion(std::string_view body,
                                              const PrepareContext& context) {
  return IsLlamaCompletion(body) ? PrepareLlamaCompletion(body, context)
                                 : PrepareCompletion(body, context);
}

ApiResult<GenerationJob> PrepareAnyEmbedding(std::string_view body, const PrepareContext& context) {
  return IsLlamaEmbedding(body) ? PrepareLlamaEmbedding(body, context)
                                : PrepareEmbedding(body, context);
}

}  // namespace weft
