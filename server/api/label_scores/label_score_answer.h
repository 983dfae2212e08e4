// The answers to /v1/score with labels and /generative_scoring.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/label_scores/label_score_request.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

struct LabelScoreOptions {
  std::string model;
  int64_t item_count = 0;
  int64_t label_count = 0;
  bool apply_softmax = false;
  LabelScoreShape shape = LabelScoreShape::kSglang;
};

// What the answer takes, with its JSON.
uint64_t LabelScoreAnswerBytes(const LabelScoreOptions& options);

class LabelScoreAnswer : public PoolingAnswer {
 public:
  explicit LabelScoreAnswer(LabelScoreOptions options)
      : PoolingAnswer(options.item_count),
        options_(std::move(options)),
        scores_(static_cast<size_t>(options_.item_count)) {}

  std::string WholeBody() override;

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;

  const LabelScoreOptions options_;
  std::vector<std::vector<double>> scores_;
};

}  // namespace weft
