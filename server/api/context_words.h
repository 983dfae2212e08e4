// How the APIs say that a request does not fit into the context. Clients match these sentences and
// read the numbers in them, so each endpoint speaks as the one that it is.
#pragma once

#include <cstdint>
#include <string>

#include "proto/api_error.h"

namespace weft {

// All in tokens.
struct ContextExcess {
  int64_t context = 0;
  int64_t prompt_tokens = 0;
  int64_t max_tokens = 0;  // that are asked for besides; 0: the prompt alone is too long
  std::string param;       // the field to blame, by its path
  std::string prompt;      // the field of the prompt: "messages", "prompt[1]"
};

// Each is 400 "context_length_exceeded". What an endpoint's LengthRequest has.
using ContextWords = ApiError (*)(const ContextExcess& excess);
ApiError OpenAiContextWords(const ContextExcess& excess);
ApiError AnthropicContextWords(const ContextExcess& excess);
ApiError LlamaContextWords(const ContextExcess& excess);

}  // namespace weft
