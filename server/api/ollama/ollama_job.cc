#include "server/api/ollama/ollama_job.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/ollama/ollama_request.h"
#include "server/api/completions/infill.h"
#include "server/api/conversation/reply_job.h"
#include "server/api/embeddings/embedding_job.h"
#include "server/api/ollama/ollama_answer.h"
#include "server/api/ollama/ollama_models.h"
#include "server/api/prompt_tokens.h"
#include "server/api/sampling_mapping.h"
#include "server/api/structured/job_constraint.h"

namespace weft {
namespace {

// A client that counts on more than there is would lose the beginning of what it says.
ApiResult<void> CheckNumCtx(const std::optional<int32_t>& num_ctx, const ServedModel& model) {
  const int32_t context = model.engine->options().max_context;
  if (!num_ctx || *num_ctx <= context) return {};
  return tl::unexpected(InvalidField(
      "options.num_ctx",
      fmt::format("'options.num_ctx' is {}, but '{}' is served with a context of {}; send that or "
                  "less, or leave it out",
                  *num_ctx, model.id, context)));
}

ApiResult<void> CheckThinking(const OllamaRequest& request, const ServedModel& model) {
  if (!request.wants_thinking || request.is_raw || Thinks(model)) return {};
  return tl::unexpected(UnsupportedParameter(
      "think", fmt::format("'think': the model '{}' does not support thinking; send false or "
                           "leave it out",
                           model.id)));
}

// The prompt as it is, or with what follows the gap that is to be filled.
ApiResult<std::vector<TokenId>> RawTokens(const OllamaRequest& request,
                                          const Tokenizer& tokenizer) {
  const bool fills_in = !request.suffix.empty();
  WEFT_ASSIGN_OR_RETURN(
      std::vector<TokenId> tokens,
      EncodeText(tokenizer, request.prompt, {.add_special_tokens = !fills_in}, "prompt"));
  if (fills_in) {
    const std::optional<InfillTokens> infill = FindInfillTokens(tokenizer);
    if (!infill) {
      return tl::unexpected(UnsupportedParameter(
          "suffix", "'suffix': the model does not support insert; it has no tokens for it"));
    }
    const EncodeOptions plain{.add_special_tokens = false, .parse_special_tokens = false};
    WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> after,
                          EncodeText(tokenizer, request.suffix, plain, "suffix"));
    tokens = InfillPrompt(tokenizer, *infill, tokens, after);
  }
  if (tokens.empty()) return RefuseEmptyPrompt("prompt");
  return tokens;
}

ApiResult<GenerationJob> PrepareRaw(const OllamaRequest& request, const ServedModel& model,
                                    const PrepareContext& context) {
  const ChatRequest& chat = request.chat;
  GenerationJob job;
  job.model = &model;
  WEFT_RETURN_IF_ERROR(SetOutputConstraint(chat, context, job));
  if (job.excess_bytes > 0) return job;
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> tokens, RawTokens(request, *model.tokenizer));
  LengthRequest length;
  length.prompt_tokens = std::ssize(tokens);
  length.prompt_path = "prompt";
  length.asked = chat.max_tokens;
  length.max_tokens_path = chat.max_tokens_path;
  length.clamps = chat.max_tokens_is_bound;
  length.min_tokens = chat.sampling.min_tokens;
  length.default_tokens = std::numeric_limits<int32_t>::max();
  job.prompts.push_back(std::move(tokens));
  WEFT_RETURN_IF_ERROR(SetGeneration(chat, job));
  WEFT_ASSIGN_OR_RETURN(job.sampling.max_tokens, FitMaxTokens(model, length));
  SetReplyLogprobs(chat, job);
  return job;
}

ApiResult<GenerationJob> PrepareOllama(ApiResult<OllamaRequest> parsed,
                                       const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(OllamaRequest request, std::move(parsed));
  request.chat.model = OllamaModelId(request.chat.model, context.models);
  const bool generates = request.load == OllamaLoad::kNone;
  const bool unloads = request.load == OllamaLoad::kUnload;
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model,
                        generates ? FindGenerator(request.chat.model, context.models)
                        : unloads ? context.models.FindIdle(request.chat.model)
                                  : FindModel(request.chat.model, context.models));
  if (!unloads) {
    WEFT_RETURN_IF_ERROR(CheckNumCtx(request.num_ctx, *model));
    WEFT_RETURN_IF_ERROR(CheckThinking(request, *model));
  }
  if (request.keep_alive) context.models.SetKeepAlive(*request.keep_alive);
  OllamaAnswerOptions answer;
  answer.model = model;
  answer.is_generate = request.is_generate;
  answer.stream = request.chat.stream;
  answer.logprobs = request.chat.logprobs;
  answer.is_raw = request.is_raw;
  GenerationJob job;
  if (!generates) {
    answer.load_reason = request.load == OllamaLoad::kLoad ? "load" : "unload";
    job.model = model;
  } else if (request.is_raw) {
    WEFT_ASSIGN_OR_RETURN(job, PrepareRaw(request, *model, context));
  } else {
    WEFT_ASSIGN_OR_RETURN(job, PrepareReply(request.chat, context, answer.reply));
  }
  if (job.excess_bytes > 0) return job;
  job.logprobs.is_streamed = job.stream;
  job.unknown_field_count = request.chat.unknown_field_count;
  job.answer = std::make_unique<OllamaAnswer>(std::move(answer));
  return job;
}

ApiResult<GenerationJob> PrepareOllamaVectors(ApiResult<OllamaEmbedRequest> parsed,
                                              const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(OllamaEmbedRequest request, std::move(parsed));
  const std::optional<std::string> id = OllamaModelId(request.embedding.model, context.models);
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(id, context.models));
  WEFT_RETURN_IF_ERROR(CheckNumCtx(request.num_ctx, *model));
  if (request.keep_alive) context.models.SetKeepAlive(*request.keep_alive);
  return PrepareParsedEmbedding(std::move(request.embedding), *model);
}

}  // namespace

ApiResult<GenerationJob> PrepareOllamaChat(std::string_view body, const PrepareContext& context) {
  return PrepareOllama(ParseOllamaChatRequest(body, context.rules), context);
}

ApiResult<GenerationJob> PrepareOllamaGenerate(std::string_view body,
                                               const PrepareContext& context) {
  return PrepareOllama(ParseOllamaGenerateRequest(body, context.rules), context);
}

ApiResult<GenerationJob> PrepareOllamaEmbed(std::string_view body, const PrepareContext& context) {
  return PrepareOllamaVectors(ParseOllamaEmbedRequest(body), context);
}

ApiResult<GenerationJob> PrepareOllamaEmbeddings(std::string_view body,
                                                 const PrepareContext& context) {
  return PrepareOllamaVectors(ParseOllamaEmbeddingsRequest(body), context);
}

}  // namespace weft
