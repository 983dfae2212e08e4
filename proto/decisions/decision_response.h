// What /v1/decisions answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/decisions/decision_request.h"

namespace weft {

struct DecisionResponse {
  std::string model;
  std::vector<DecisionQuestion> questions;
  // A question: a probability for each option, in their order; of a predicate, that of yes and no.
  std::vector<std::vector<double>> probabilities;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of the prompts
};

// One line of JSON.
std::string ToJson(const DecisionResponse& response);

}  // namespace weft
