#include "server/api/embeddings/embedding_job.h"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/classify/classify_request.h"
#include "proto/embeddings/embedding_request.h"
#include "server/api/classify/classify_job.h"
#include "server/api/embeddings/embedding_answer.h"
#include "server/api/pooling/model_kind.h"
#include "server/api/pooling/pooling_job.h"

namespace weft {
namespace {

constexpr int64_t kMaxNumbers = 4 << 20;  // in one answer: some 40 MiB as JSON

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
        request.input_name,
        fmt::format("{} inputs with {} dimensions make {} numbers; at most {} a request", count,
                    dimensions, count * dimensions, kMaxNumbers)));
  }
  return dimensions;
}

Pooling PoolingOf(const EmbeddingRequest& request, const ServedModel& model) {
  switch (request.pooling) {
    case EmbeddingPooling::kLast:
      return Pooling::kLast;
    case EmbeddingPooling::kMean:
      return Pooling::kMean;
    case EmbeddingPooling::kDefault:
      break;
  }
  return model.pooling;
}

// What says how a vector is made cannot be done with a classifier's scores.
ApiResult<void> CheckMakesNoVector(const EmbeddingRequest& request) {
  const auto refused = [](const char* name) {
    return tl::unexpected(InvalidField(
        name, fmt::format("'{}' is for embeddings, and the task is 'classify'; leave it out, or "
                          "send \"task\": \"embed\"",
                          name)));
  };
  if (request.format != EmbeddingFormat::kFloat) return refused("encoding_format");
  if (request.dimensions) return refused("dimensions");
  if (request.pooling != EmbeddingPooling::kDefault) return refused("pooling");
  if (!request.normalizes) return refused("normalize");
  if (!request.prompt_name.empty()) return refused("prompt_name");
  return {};
}

}  // namespace

ApiResult<GenerationJob> PrepareParsedEmbedding(EmbeddingRequest request,
                                                const ServedModel& model) {
  if (model.engine->options().reads_sources) {
    return tl::unexpected(NotServedBy(model, "makes no embeddings"));
  }
  WEFT_ASSIGN_OR_RETURN(const int64_t dimensions, DimensionsOf(request, model));
  GenerationJob job = PoolingJob(model, {.pooling = PoolingOf(request, model)});
  job.unknown_field_count = request.unknown_field_count;
  WEFT_RETURN_IF_ERROR(AddModelPrompt(request.prompt_name, model, request.input));
  WEFT_ASSIGN_OR_RETURN(const int64_t dropped_count,
                        AddInputs(request.input, request.input_name, request.truncation, job));
  EmbeddingAnswerOptions options = {.model = model.id,
                                    .input_count = std::ssize(job.prompts),
                                    .dimensions = dimensions,
                                    .format = request.format,
                                    .normalizes = request.normalizes,
                                    .shape = request.shape};
  if (request.truncation.is_wanted) options.truncated_tokens = dropped_count;
  job.answer_bytes = EmbeddingAnswerBytes(options, model.embedding_size, kMaxPooledInFlight);
  job.answer = std::make_unique<EmbeddingAnswer>(std::move(options));
  return job;
}

ApiResult<GenerationJob> PrepareEmbedding(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(EmbeddingRequest request, ParseEmbeddingRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  return PrepareParsedEmbedding(std::move(request), *model);
}

ApiResult<GenerationJob> PrepareTeiEmbed(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(EmbeddingRequest request, ParseTeiEmbedRequest(body));
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  return PrepareParsedEmbedding(std::move(request), *model);
}

ApiResult<GenerationJob> PreparePooling(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(PoolingRequest request, ParsePoolingRequest(body));
  EmbeddingRequest& embedding = request.embedding;
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(embedding.model, context.models));
  const PoolingTask task =
      request.task.value_or(model->classifier ? PoolingTask::kClassify : PoolingTask::kEmbed);
  if (task == PoolingTask::kEmbed) return PrepareParsedEmbedding(std::move(embedding), *model);
  WEFT_RETURN_IF_ERROR(CheckMakesNoVector(embedding));
  return PrepareClassifyTask({.model = std::move(embedding.model),
                              .input = std::move(embedding.input),
                              .truncation = embedding.truncation,
                              .raw_scores = request.raw_scores,
                              .unknown_field_count = embedding.unknown_field_count},
                             context);
}

}  // namespace weft
