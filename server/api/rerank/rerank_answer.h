// The answer of /v1/rerank and its sisters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/ranking.h"
#include "proto/rerank/rerank_response.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

struct RerankAnswerOptions {
  std::string model;
  const Ranking* ranking = nullptr;  // outlives the answer
  int64_t document_count = 0;
  std::optional<int32_t> top_n = {};             // nullopt: all
  std::vector<std::string> documents = {};       // if they are returned; otherwise empty
  std::optional<int64_t> truncated_tokens = {};  // where it was asked for
  bool raw_scores = false;                       // logits
  bool as_tei = false;
};

// What the answer takes, with its JSON.
uint64_t RerankAnswerBytes(const RerankAnswerOptions& options);

class RerankAnswer : public PoolingAnswer {
 public:
  explicit RerankAnswer(RerankAnswerOptions options);

  // By falling score; equal ones: lower index first.
  std::string WholeBody() override;

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;

  RerankAnswerOptions options_;
  std::vector<RankedDocument> results_;
};

}  // namespace weft
