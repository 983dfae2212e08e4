// The JSON of /v1/completions from a client's side. Lenient where OpenAI-compatible servers differ:
// only what a load test measures is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct CompletionCall {
  std::string model;
  std::string prompt;
  int32_t max_tokens = 16;
  double temperature = 0.0;
  bool stream = true;
  bool ignore_eos = false;
};

// The body of the request. A stream is asked to end with its usage.
std::string RequestBody(const CompletionCall& call);

// A whole response, or one chunk of a stream.
struct CompletionPart {
  std::string text;                      // of the first choice
  std::string finish_reason;             // of the first choice; empty: not finished
  std::optional<int64_t> prompt_tokens;  // of its usage, if it has one
  std::optional<int64_t> completion_tokens;
};

// An error object in place of a completion is an error with its message.
Result<CompletionPart> ParseCompletion(std::string_view json);

// What an error response says: its error object's message, otherwise the beginning of the body.
std::string ErrorMessage(std::string_view body);

// The id of the first model of /v1/models.
Result<std::string> FirstModelId(std::string_view json);

}  // namespace weft
