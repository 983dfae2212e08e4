// The bodies of llama-server's POST /completion and /infill, validated: every value is in its
// range, every default filled in. Include from .cc files only.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/api_error.h"
#include "proto/generation_request.h"
#include "proto/prompt.h"
#include "proto/request_rules.h"

namespace weft {

inline constexpr size_t kMaxLlamaPrompts = 256;
inline constexpr int32_t kMaxLlamaProbs = 20;
inline constexpr size_t kMaxInfillFiles = 1024;
inline constexpr size_t kMaxResponseFields = 64;
// What a bias of false is: the token is never chosen.
inline constexpr double kNeverBias = -std::numeric_limits<double>::infinity();

// A file that is not the one to be filled in.
struct InfillFile {
  std::string name;
  std::string text;
};

struct InfillText {
  std::string before;
  std::string after;
  std::vector<InfillFile> files;  // those that matter most last
};

// `max_tokens` is n_predict; absent: what the context leaves.
struct LlamaRequest : GenerationRequest {
  PromptList prompt;                 // of /infill: one, a text, maybe empty
  std::optional<InfillText> infill;  // of /infill
  int32_t n_probs = 0;               // so many of the likeliest tokens a token
  bool returns_tokens = false;
  bool timings_per_token = false;
  bool returns_progress = false;
  std::vector<std::string> response_fields;  // paths, "timings/prompt_n"; empty: all
  // -100 to 100, or kNeverBias: of token ids, and of all tokens that texts have. There are none
  // among the sampling fields.
  std::vector<std::pair<int32_t, double>> token_biases;
  std::vector<std::pair<std::string, double>> text_biases;
};

// Errors name the field by its JSON path. A known option that Weft does not have is refused by name
// (code "unsupported_parameter") unless its value changes nothing.
ApiResult<LlamaRequest> ParseLlamaCompletion(std::string_view body, const RequestRules& rules = {});
ApiResult<LlamaRequest> ParseLlamaInfill(std::string_view body, const RequestRules& rules = {});

// Whether a body that came to a path that both APIs have is llama-server's, and not OpenAI's: it
// has a field that is its alone, or neither a model nor anything else that is OpenAI's alone. False
// of what is no object.
bool IsLlamaCompletion(std::string_view body);
bool IsLlamaEmbedding(std::string_view body);

}  // namespace weft
