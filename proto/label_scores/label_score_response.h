// What /v1/score answers to a request with labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct LabelScoreResponse {
  std::string model;
  std::vector<std::vector<double>> scores;  // an item: a finite number a label
  int64_t prompt_tokens = 0;
};

// The most that ToJson makes of so many.
uint64_t LabelScoreJsonBytes(int64_t item_count, int64_t label_count);

// SGLang's. One line of JSON.
std::string ToJson(const LabelScoreResponse& response);

}  // namespace weft
