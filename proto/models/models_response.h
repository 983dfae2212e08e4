// What /v1/models and /v1/models/{id} answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct ModelCard {
  std::string id;
  int64_t created = 0;      // seconds since 1970
  int64_t max_context = 0;  // positions, prompt and output
};

std::string ToJson(const ModelCard& model);
std::string ToJson(const std::vector<ModelCard>& models);

// The same for Anthropic's clients. `models` is not empty.
std::string ToAnthropicJson(const ModelCard& model);
std::string ToAnthropicJson(const std::vector<ModelCard>& models);

}  // namespace weft
