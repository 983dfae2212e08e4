// What the requests of all endpoints that generate have in common. Include from .cc files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/output_format.h"
#include "proto/sampling_fields.h"

namespace weft {

inline constexpr int32_t kMaxChoices = 128;  // n

struct GenerationRequest {
  std::optional<std::string> model;
  int32_t n = 1;                      // choices a prompt
  std::optional<int32_t> max_tokens;  // absent: as the endpoint has it
  SamplingFields sampling;
  OutputFormat output;
  // What the text must be is completed within max_tokens, the cheapest way if need be.
  bool finish_by_length = false;
  bool stream = false;
  bool include_usage = false;       // a last chunk with the usage of the whole stream
  bool continuous_usage = false;    // and in every other chunk, its choice's so far
  bool timings = false;             // the answer says where the time went
  bool returns_progress = false;    // a stream says how far a long prompt is
  int32_t unknown_field_count = 0;  // ignored
};

// Reads "stream". nullptr: there are no "stream_options". Errors here and below name the field by
// its JSON path.
ApiResult<const nlohmann::json*> ReadStream(const nlohmann::json& body, GenerationRequest& request);

// The same, and the options, in which unknown fields count.
ApiResult<void> ReadStreamOptions(const nlohmann::json& body, GenerationRequest& request);

// Refuses a min_tokens above max_tokens. `limit` is what the message calls that, where the endpoint
// has one name for it.
ApiResult<void> CheckMinTokens(const GenerationRequest& request, std::string_view limit = {});

}  // namespace weft
