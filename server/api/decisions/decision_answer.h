// The answer of /v1/decisions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/decisions/decision_request.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

// What the answer takes, with its JSON.
uint64_t DecisionAnswerBytes(const std::vector<DecisionQuestion>& questions);

// A text a question.
class DecisionAnswer : public PoolingAnswer {
 public:
  // `places`: of each question, where the logits of its possible answers stand.
  DecisionAnswer(std::string model, std::vector<DecisionQuestion> questions,
                 std::vector<std::vector<size_t>> places)
      : PoolingAnswer(std::ssize(questions)),
        model_(std::move(model)),
        questions_(std::move(questions)),
        places_(std::move(places)),
        probabilities_(questions_.size()) {}

  std::string WholeBody() override;

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;

  const std::string model_;
  std::vector<DecisionQuestion> questions_;
  const std::vector<std::vector<size_t>> places_;
  std::vector<std::vector<double>> probabilities_;
};

}  // namespace weft
