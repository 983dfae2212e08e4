// The body of POST /v1/completions, validated: every value is in its range, every default filled
// in. Include from .cc files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/generation_request.h"
#include "proto/prompt.h"
#include "proto/request_rules.h"

namespace weft {

inline constexpr int32_t kMaxPrompts = 256;        // in one request
inline constexpr int32_t kMaxTotalChoices = 1024;  // prompts times n
inline constexpr int32_t kMaxLogprobs = 20;

// Without max_tokens: 16, or what the context leaves if that is less or there is to be no limit.
struct CompletionRequest : GenerationRequest {
  std::vector<Prompt> prompts;   // not empty
  bool has_no_limit = false;     // "max_tokens" is there and sets none
  bool prompt_is_list = false;   // errors then name prompt[i]
  int32_t best_of = 1;           // >= n: so many are generated, the n likeliest returned
  bool use_beam_search = false;  // best_of beams instead of sampling
  double length_penalty = 1.0;
  bool early_stopping = false;
  bool echo = false;
  std::optional<int32_t> logprobs;
  std::optional<int32_t> prompt_logprobs;
  std::string task;    // of an encoder-decoder; empty: what the server was started with
  std::string suffix;  // what follows the text to come; empty: nothing
};

// Errors name the field by its JSON path. A known option that Weft does not have yet is refused by
// name (code "unsupported_parameter") unless its value changes nothing.
ApiResult<CompletionRequest> ParseCompletionRequest(std::string_view body,
                                                    const RequestRules& rules = {});

}  // namespace weft
