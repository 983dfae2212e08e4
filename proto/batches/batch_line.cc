#include "proto/batches/batch_line.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_dump.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxCustomIdBytes = 512;
constexpr std::array<std::string_view, 5> kBatchUrls = {
    "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/rerank"};
// What prompts are made of, whatever the endpoint, in the order in which the model reads it.
constexpr std::array<std::string_view, 6> kPromptFields = {"tools",  "instructions", "messages",
                                                           "prompt", "query",        "input"};

tl::unexpected<BatchError> RefuseLine(std::string code, std::string param, std::string message) {
  return tl::unexpected(BatchError{.code = std::move(code),
                                   .message = std::move(message),
                                   .param = std::move(param),
                                   .line = std::nullopt});
}

tl::expected<std::string, BatchError> ReadMember(const ordered_json& line, std::string name) {
  const ordered_json* const value = FindField(line, name);
  if (value == nullptr) {
    return RefuseLine("missing_required_parameter", name, fmt::format("'{}' is missing", name));
  }
  if (!value->is_string()) {
    return RefuseLine("invalid_parameter", name,
                      fmt::format("'{}' must be a string, not {}", name, DescribeJson(*value)));
  }
  return value->get<std::string>();
}

}  // namespace

bool IsBatchUrl(std::string_view url) {
  return std::ranges::find(kBatchUrls, url) != kBatchUrls.end();
}

std::string BatchUrlNames() { return fmt::format("{}", fmt::join(kBatchUrls, ", ")); }

tl::expected<BatchLine, BatchError> ParseBatchLine(std::string_view text) {
  const ApiResult<ordered_json> parsed = ParseOrderedBody(text);
  if (!parsed) return RefuseLine("invalid_json_line", {}, parsed.error().message);
  BatchLine line;
  WEFT_ASSIGN_OR_RETURN(line.custom_id, ReadMember(*parsed, "custom_id"));
  if (line.custom_id.empty() || line.custom_id.size() > kMaxCustomIdBytes) {
    return RefuseLine("invalid_parameter", "custom_id",
                      fmt::format("'custom_id' must have 1 to {} bytes", kMaxCustomIdBytes));
  }
  WEFT_ASSIGN_OR_RETURN(const std::string method, ReadMember(*parsed, "method"));
  if (method != "POST") {
    return RefuseLine("invalid_method", "method",
                      fmt::format("'method' must be POST, not '{}'", method.substr(0, 40)));
  }
  WEFT_ASSIGN_OR_RETURN(line.url, ReadMember(*parsed, "url"));
  if (!IsBatchUrl(line.url)) {
    return RefuseLine(
        "invalid_url", "url",
        fmt::format("'url' must be one of {}, not '{}'", BatchUrlNames(), line.url.substr(0, 100)));
  }
  const ordered_json* const body = FindField(*parsed, "body");
  if (body == nullptr) {
    return RefuseLine("missing_required_parameter", "body", "'body' is missing");
  }
  if (!body->is_object()) {
    return RefuseLine("invalid_parameter", "body",
                      fmt::format("'body' must be an object, not {}", DescribeJson(*body)));
  }
  const ordered_json* const stream = FindField(*body, "stream");
  if (stream != nullptr && *stream != false) {
    return RefuseLine("stream_not_supported", "body.stream",
                      "'body.stream' must be false: nobody reads a batch's lines as they come");
  }
  line.body = DumpJson(*body);
  for (const std::string_view name : kPromptFields) {
    const ordered_json* const value = FindField(*body, name);
    if (value != nullptr) line.prompt += DumpJson(*value);
  }
  return line;
}

std::string AnsweredLineJson(const std::string& id, const std::string& custom_id,
                             const LineAnswer& answer) {
  // The body is JSON already: an answer of megabytes is not taken apart again.
  return fmt::format(
      R"({{"id":{},"custom_id":{},"response":{{"status_code":{},"request_id":{},"body":{}}},"error":null}})",
      DumpJson(ordered_json(id)), DumpJson(ordered_json(custom_id)), answer.status,
      DumpJson(ordered_json(answer.request_id)), answer.body);
}

std::string ExpiredLineJson(const std::string& id, const std::string& custom_id) {
  return DumpJson(
      ordered_json{{"id", id},
                   {"custom_id", custom_id},
                   {"response", nullptr},
                   {"error",
                    {{"code", "batch_expired"},
                     {"message", "the batch's 24 hours had passed before this line was run"}}}});
}

}  // namespace weft
