// What /classify and /predict answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ClassifyResponse {
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::vector<std::string> labels;
  std::vector<std::vector<double>> scores;  // a text: a finite number a label
  int64_t prompt_tokens = 0;
  std::optional<int64_t> truncated_tokens;  // where it was asked for
};

// The most that any function below makes of so many texts.
uint64_t ClassifyJsonBytes(int64_t text_count, const std::vector<std::string>& labels);

// vLLM's: of each text the likeliest label (of equal ones the first) and all scores. One line of
// JSON.
std::string ToJson(const ClassifyResponse& response);
// vLLM's /pooling: of each text all scores.
std::string ToPoolingJson(const ClassifyResponse& response);
// Text Embeddings Inference's: of a text all labels with their scores, the likeliest first; of
// `is_batch` a list of such lists.
std::string ToPredictJson(const ClassifyResponse& response, bool is_batch);

}  // namespace weft
