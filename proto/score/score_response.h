// What /v1/score answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ScoreResponse {
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::vector<double> scores;  // finite
  int64_t prompt_tokens = 0;
  std::optional<int64_t> truncated_tokens;  // where it was asked for
};

// The most that ToJson makes of so many scores.
uint64_t ScoreJsonBytes(int64_t count);

// One line of JSON.
std::string ToJson(const ScoreResponse& response);

}  // namespace weft
