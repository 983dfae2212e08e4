#include "server/api/rerank/rerank_answer.h"

#include <algorithm>

namespace weft {

uint64_t RerankAnswerBytes(const RerankAnswerOptions& options) {
  uint64_t document_bytes = 0;
  for (const std::string& document : options.documents) document_bytes += document.size();
  const auto count = static_cast<uint64_t>(options.document_count);
  return count * (sizeof(RankedDocument) + sizeof(std::string)) +
         RerankJsonBytes(options.document_count, 2 * document_bytes);  // quotes are escaped
}

RerankAnswer::RerankAnswer(RerankAnswerOptions options)
    : PoolingAnswer(options.document_count),
      options_(std::move(options)),
      results_(static_cast<size_t>(options_.document_count)) {}

void RerankAnswer::OnPooled(int32_t text_index, PooledResult&& result) {
  results_[static_cast<size_t>(text_index)] = {
      .index = text_index,
      .score = options_.raw_scores ? RankingLogit(result.values)
                                   : RankingScore(*options_.ranking, result.values)};
}

std::string RerankAnswer::WholeBody() {
  std::ranges::sort(results_, [](const RankedDocument& a, const RankedDocument& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
  const size_t count = options_.top_n ? static_cast<size_t>(*options_.top_n) : results_.size();
  if (count < results_.size()) results_.resize(count);
  const RerankResponse response = {.id = "rerank-" + request_id(),
                                   .model = options_.model,
                                   .results = std::exchange(results_, {}),
                                   .documents = std::exchange(options_.documents, {}),
                                   .prompt_tokens = usage().prompt_tokens,
                                   .truncated_tokens = options_.truncated_tokens};
  return options_.as_tei ? ToTeiJson(response) : ToJson(response);
}

}  // namespace weft
