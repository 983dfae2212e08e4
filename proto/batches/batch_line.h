// A line of a batch's input, and of what it makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/api_error.h"
#include "proto/batches/batch_object.h"

namespace weft {

inline constexpr int64_t kMaxBatchLines = 50'000;

// Whether a batch's lines may have this url.
bool IsBatchUrl(std::string_view url);
// All of them, for messages: "/v1/chat/completions, ...".
std::string BatchUrlNames();

struct BatchLine {
  std::string custom_id;
  std::string url;     // one that IsBatchUrl
  std::string body;    // JSON, an object
  std::string prompt;  // the members of the body in which prompts that begin alike begin alike
};

// Errors: "invalid_json_line", "missing_required_parameter", "invalid_parameter", "invalid_method",
// "invalid_url", "stream_not_supported"; their `line` is not set.
tl::expected<BatchLine, BatchError> ParseBatchLine(std::string_view text);

// What became of a line.
struct LineAnswer {
  int status = 200;  // HTTP
  std::string request_id;
  std::string body;  // JSON: the endpoint's answer, or its error object
};

// Lines of output and error files, without their ends.
std::string AnsweredLineJson(const std::string& id, const std::string& custom_id,
                             const LineAnswer& answer);
// Of a line that was not run: the batch has expired.
std::string ExpiredLineJson(const std::string& id, const std::string& custom_id);

}  // namespace weft
