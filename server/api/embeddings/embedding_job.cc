#include "server/api/embeddings/embedding_job.h"

#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/embeddings/embedding_request.h"
#include "server/api/embeddings/embedding_answer.h"
#include "server/api/prompt_tokens.h"

namespace weft {
namespace {

constexpr int64_t kMaxNumbers = 4 << 20;  // in one answer: some 40 MiB as JSON
// Prompts that one request has in the engine at a time: it leaves room for others in the queue.
constexpr int32_t kMaxInFlight = 32;

ApiResult<std::vector<TokenId>> Tokenize(Prompt& input, const std::string& path,
                                         const ServedModel& model) {
  ApiResult<std::vector<TokenId>> tokens = TakeTokens(input, *model.tokenizer, {}, path);
  if (!tokens) return tokens;
  if (tokens->empty()) return RefuseEmptyPrompt(path);
  const int32_t context = model.engine->options().max_context;
  if (std::ssize(*tokens) > context) {
    ApiError error = InvalidField(
        path, fmt::format("'{}' has {} tokens, but the model's context has {} positions", path,
                          tokens->size(), context));
    error.code = "context_length_exceeded";
    return tl::unexpected(std::move(error));
  }
  return tokens;
}

ApiResult<int64_t> DimensionsOf(const EmbeddingRequest& request, const ServedModel& model) {
  const int64_t size = model.embedding_size;
  const int64_t dimensions = request.dimensions.value_or(size);
  if (dimensions > size) {
    return tl::unexpected(InvalidField(
        "dimensions",
        fmt::format("'dimensions' is {}, but this model's embeddings have {}", dimensions, size)));
  }
  const int64_t count = std::ssize(request.input.prompts);
  if (count * dimensions > kMaxNumbers) {
    return tl::unexpected(InvalidField(
        "input", fmt::format("{} inputs with {} dimensions make {} numbers; at most {} a request",
                             count, dimensions, count * dimensions, kMaxNumbers)));
  }
  return dimensions;
}

}  // namespace

ApiResult<GenerationJob> PrepareEmbedding(std::string_view body, const PrepareContext& context) {
  ApiResult<EmbeddingRequest> parsed = ParseEmbeddingRequest(body);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  EmbeddingRequest& request = *parsed;
  const ApiResult<const ServedModel*> model = FindModel(request.model, context.models);
  if (!model) return tl::unexpected(model.error());
  const ApiResult<int64_t> dimensions = DimensionsOf(request, **model);
  if (!dimensions) return tl::unexpected(dimensions.error());

  GenerationJob job;
  job.model = *model;
  job.unknown_field_count = request.unknown_field_count;
  job.has_seed = true;  // nothing is drawn
  job.sampling.max_tokens = 0;
  job.max_in_flight = kMaxInFlight;
  job.pooling = {.pooling = request.pooling == EmbeddingPooling::kLast   ? Pooling::kLast
                            : request.pooling == EmbeddingPooling::kMean ? Pooling::kMean
                                                                         : (*model)->pooling};
  for (size_t i = 0; i < request.input.prompts.size(); ++i) {
    const std::string path = request.input.is_list ? fmt::format("input[{}]", i) : "input";
    ApiResult<std::vector<TokenId>> tokens = Tokenize(request.input.prompts[i], path, **model);
    if (!tokens) return tl::unexpected(std::move(tokens).error());
    job.prompts.push_back(*std::move(tokens));
  }
  job.answer_bytes = EmbeddingAnswerBytes(std::ssize(job.prompts), *dimensions, request.base64,
                                          (*model)->embedding_size, kMaxInFlight);
  job.answer = std::make_unique<EmbeddingAnswer>(
      EmbeddingAnswerOptions{.model = (*model)->id,
                             .input_count = std::ssize(job.prompts),
                             .dimensions = *dimensions,
                             .base64 = request.base64});
  return job;
}

}  // namespace weft
