// What /v1/completions answers: the whole, or one chunk of a stream; both have one shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/timings.h"
#include "proto/usage.h"

namespace weft {

// One entry a token in every list, as OpenAI's completions have it.
struct CompletionLogprobs {
  std::vector<std::string> tokens;
  std::vector<std::optional<float>> token_logprobs;  // absent for the first prompt token
  std::vector<std::vector<std::pair<std::string, float>>> top_logprobs;  // empty entry: null
  std::vector<int64_t> text_offset;  // in Unicode characters, from the start of the choice's text
};

// One of the tokens that could have stood at a place of the prompt, as vLLM tells it.
struct PromptLogprob {
  int32_t token = 0;
  float logprob = 0;
  int32_t rank = 1;  // in the vocabulary, from 1
  std::string decoded_token;
};

struct CompletionChoice {
  int32_t index = 0;
  std::string text;
  std::optional<CompletionLogprobs> logprobs;
  std::string finish_reason;  // "stop", "length"; empty: null, not finished
  // A prompt token each: itself and the likeliest ones. The first entry is empty: null.
  std::optional<std::vector<std::vector<PromptLogprob>>> prompt_logprobs;
};

// How the "usage" member appears.
enum class UsageField { kAbsent, kNull, kSoFar, kPresent };

struct CompletionResponse {
  std::string id;       // "cmpl-..."
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string system_fingerprint;
  std::vector<CompletionChoice> choices;
  UsageField usage_field = UsageField::kAbsent;
  Usage usage;              // kPresent
  UsageSoFar usage_so_far;  // kSoFar
  std::optional<Timings> timings;
};

// One line of JSON. Bytes that are not UTF-8 become U+FFFD.
std::string ToJson(const CompletionResponse& response);

}  // namespace weft
