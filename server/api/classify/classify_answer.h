// The answers of /classify and /predict, and of /pooling by a classifier.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/spec.h"
#include "server/api/pooling/pooling_answer.h"

namespace weft {

enum class ClassifyShape { kVllm, kPooling, kTei, kTeiBatch };

struct ClassifyAnswerOptions {
  std::string model;
  std::vector<std::string> labels;
  LabelActivation activation = LabelActivation::kSoftmax;
  int64_t text_count = 0;
  std::optional<int64_t> truncated_tokens;  // where it was asked for
  ClassifyShape shape = ClassifyShape::kVllm;
};

// What the answer takes, with its JSON.
uint64_t ClassifyAnswerBytes(const ClassifyAnswerOptions& options);

class ClassifyAnswer : public PoolingAnswer {
 public:
  explicit ClassifyAnswer(ClassifyAnswerOptions options)
      : PoolingAnswer(options.text_count),
        options_(std::move(options)),
        scores_(static_cast<size_t>(options_.text_count)) {}

  std::string WholeBody() override;

 private:
  void OnPooled(int32_t text_index, PooledResult&& result) override;

  const ClassifyAnswerOptions options_;
  std::vector<std::vector<double>> scores_;
};

}  // namespace weft
