#include "server/api/rerank/rerank_job.h"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/rerank/rerank_request.h"
#include "server/api/pooling/model_kind.h"
#include "server/api/pooling/pooling_job.h"
#include "server/api/pooling/ranking_encoder.h"
#include "server/api/rerank/rerank_answer.h"

namespace weft {
namespace {

// The documents stay in the request.
ApiResult<int64_t> AddDocuments(const RerankRequest& request, GenerationJob& job) {
  const RankingLimits limits = {.truncation = request.truncation,
                                .max_document_tokens = request.max_tokens_per_doc};
  ApiResult<RankingEncoder> encoder =
      RankingEncoder::Create(*job.model, limits, request.instruction);
  if (!encoder) return tl::unexpected(std::move(encoder).error());
  WEFT_RETURN_IF_ERROR(encoder->SetQuery(request.query, "query"));
  int64_t dropped_count = 0;
  for (size_t i = 0; i < request.documents.size(); ++i) {
    ApiResult<EncodedText> text =
        encoder->Encode(request.documents[i], fmt::format("{}[{}]", request.documents_path, i));
    if (!text) return tl::unexpected(std::move(text).error());
    dropped_count += text->dropped_count;
    AddText(*std::move(text), job);
  }
  return dropped_count;
}

ApiResult<GenerationJob> PrepareParsed(ApiResult<RerankRequest> parsed,
                                       const PrepareContext& context) {
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  RerankRequest& request = *parsed;
  const ApiResult<const ServedModel*> model = FindModel(request.model, context.models);
  if (!model) return tl::unexpected(model.error());
  if (!(*model)->ranking) return tl::unexpected(NotServedBy(**model, "ranks no documents"));
  const uint64_t pair_bytes =
      PairBytes(FrameBytes(*(*model)->ranking, request.instruction) + request.query.size(),
                request.documents);
  if (pair_bytes > context.max_bytes) {
    GenerationJob excess;
    excess.excess_bytes = pair_bytes;
    return excess;
  }
  GenerationJob job = PoolingJob(**model, RankingParams(**model));
  job.unknown_field_count = request.unknown_field_count;
  const ApiResult<int64_t> dropped_count = AddDocuments(request, job);
  if (!dropped_count) return tl::unexpected(dropped_count.error());
  RerankAnswerOptions options = {.model = (*model)->id,
                                 .ranking = &*(*model)->ranking,
                                 .document_count = std::ssize(request.documents),
                                 .top_n = request.top_n,
                                 .raw_scores = request.raw_scores,
                                 .as_tei = request.as_tei};
  if (request.truncation.is_wanted || request.max_tokens_per_doc) {
    options.truncated_tokens = *dropped_count;
  }
  if (request.returns_documents) options.documents = std::move(request.documents);
  job.answer_bytes = RerankAnswerBytes(options);
  job.answer = std::make_unique<RerankAnswer>(std::move(options));
  return job;
}

}  // namespace

ApiResult<GenerationJob> PrepareRerank(std::string_view body, const PrepareContext& context) {
  return PrepareParsed(ParseRerankRequest(body), context);
}

ApiResult<GenerationJob> PrepareAnyRerank(std::string_view body, const PrepareContext& context) {
  return PrepareParsed(ParseAnyRerankRequest(body), context);
}

}  // namespace weft
