#include "server/api/score/score_job.h"

#include <memory>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/score/score_request.h"
#include "server/api/label_scores/label_score_job.h"
#include "server/api/pooling/model_kind.h"
#include "server/api/pooling/pooling_job.h"
#include "server/api/pooling/ranking_encoder.h"
#include "server/api/score/score_answer.h"

namespace weft {
namespace {

std::string PathOf(const ScoredTexts& side, size_t index) {
  return side.is_list ? fmt::format("{}[{}]", side.name, index) : side.name;
}

size_t FirstOf(const ScoreRequest& request, size_t pair) {
  return request.first.texts.size() == 1 ? 0 : pair;
}

ScoreAnswerOptions AnswerOptions(const ScoreRequest& request, const ServedModel& model,
                                 int64_t dropped_count) {
  ScoreAnswerOptions options;
  options.model = model.id;
  options.score_count = std::ssize(request.second.texts);
  if (request.truncation.is_wanted) options.truncated_tokens = dropped_count;
  return options;
}

// The bytes of text of all pairs.
uint64_t PairTextBytes(const ScoreRequest& request, const Ranking& ranking) {
  const uint64_t frame_bytes = FrameBytes(ranking, request.instruction);
  const std::vector<std::string>& first = request.first.texts;
  if (first.size() == 1) return PairBytes(frame_bytes + first[0].size(), request.second.texts);
  return PairBytes(0, first) + PairBytes(frame_bytes, request.second.texts);
}

ApiResult<GenerationJob> PreparePairs(const ScoreRequest& request, const ServedModel& model,
                                      const PrepareContext& context) {
  GenerationJob job;
  const uint64_t text_bytes = PairTextBytes(request, *model.ranking);
  if (text_bytes > context.max_bytes) {
    job.excess_bytes = text_bytes;
    return job;
  }
  job = PoolingJob(model, RankingParams(model));
  WEFT_ASSIGN_OR_RETURN(
      RankingEncoder encoder,
      RankingEncoder::Create(model, {.truncation = request.truncation, .max_document_tokens = {}},
                             request.instruction));
  int64_t dropped_count = 0;
  for (size_t pair = 0; pair < request.second.texts.size(); ++pair) {
    const size_t first = FirstOf(request, pair);
    if (pair == 0 || first > 0) {
      WEFT_RETURN_IF_ERROR(
          encoder.SetQuery(request.first.texts[first], PathOf(request.first, first)));
    }
    WEFT_ASSIGN_OR_RETURN(EncodedText text,
                          encoder.Encode(request.second.texts[pair], PathOf(request.second, pair)));
    dropped_count += text.dropped_count;
    AddText(std::move(text), job);
  }
  job.answer_bytes = PairScoreAnswerBytes(std::ssize(job.prompts));
  job.answer = std::make_unique<PairScoreAnswer>(AnswerOptions(request, model, dropped_count),
                                                 *model.ranking, request.raw_scores);
  return job;
}

ApiResult<GenerationJob> PrepareSimilarities(const ScoreRequest& request,
                                             const ServedModel& model) {
  if (request.instruction) {
    return tl::unexpected(NotServedBy(model, "takes no instruction for a score"));
  }
  GenerationJob job = PoolingJob(model, {.pooling = model.pooling});
  int64_t dropped_count = 0;
  const auto add = [&](const ScoredTexts& side, size_t index) -> ApiResult<void> {
    Prompt prompt = side.texts[index];
    WEFT_ASSIGN_OR_RETURN(EncodedText text,
                          EncodeInput(prompt, model, request.truncation, PathOf(side, index)));
    dropped_count += text.dropped_count;
    AddText(std::move(text), job);
    return {};
  };
  for (size_t pair = 0; pair < request.second.texts.size(); ++pair) {
    const size_t first = FirstOf(request, pair);
    if (pair == 0 || first > 0) WEFT_RETURN_IF_ERROR(add(request.first, first));
    WEFT_RETURN_IF_ERROR(add(request.second, pair));
  }
  job.answer_bytes = SimilarityAnswerBytes(std::ssize(request.second.texts), model.embedding_size);
  job.answer = std::make_unique<SimilarityAnswer>(AnswerOptions(request, model, dropped_count),
                                                  request.first.texts.size() == 1);
  return job;
}

}  // namespace

ApiResult<GenerationJob> PrepareScore(std::string_view body, const PrepareContext& context) {
  WEFT_ASSIGN_OR_RETURN(AnyScoreRequest any, ParseAnyScoreRequest(body));
  if (auto* labels = std::get_if<LabelScoreRequest>(&any)) {
    return PrepareLabelScore(std::move(*labels), context);
  }
  const auto& request = std::get<ScoreRequest>(any);
  WEFT_ASSIGN_OR_RETURN(const ServedModel* const model, FindModel(request.model, context.models));
  const bool compares = !model->classifier && !model->engine->options().reads_sources;
  if (!model->ranking && !compares) {
    return tl::unexpected(NotServedBy(*model, "scores no pairs of texts"));
  }
  ApiResult<GenerationJob> job = model->ranking ? PreparePairs(request, *model, context)
                                                : PrepareSimilarities(request, *model);
  if (job) job->unknown_field_count = request.unknown_field_count;
  return job;
}

}  // namespace weft
