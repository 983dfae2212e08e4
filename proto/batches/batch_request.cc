// The body of POST /v1/batches, validated.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/batches/batch_line.h"
#include "proto/batches/batch_object.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/metadata_field.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kBatchFields = {
    "input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"};

ApiResult<std::string> ReadRequiredText(const json& body, const std::string& name,
                                        std::string_view why) {
  std::optional<std::string> value;
  WEFT_RETURN_IF_ERROR(ReadString(body, name, value));
  if (!value) return RefuseMissing(name, why);
  return *std::move(value);
}

ApiResult<std::map<std::string, std::string>> ReadBatchMetadata(const json& body) {
  std::map<std::string, std::string> metadata;
  const json* const value = FindField(body, "metadata");
  if (value == nullptr) return metadata;
  WEFT_RETURN_IF_ERROR(CheckMetadata(*value));
  for (const auto& [key, text] : value->items()) metadata[key] = text.get<std::string>();
  return metadata;
}

ApiResult<int32_t> ReadOutputExpiry(const json& body) {
  const json* const value = FindField(body, "output_expires_after");
  if (value == nullptr) return kMaxExpirySeconds;
  if (!value->is_object()) return RefuseValue("output_expires_after", "an object", *value);
  const json anchor = value->value("anchor", json("created_at"));
  if (anchor != "created_at") {
    return RefuseValue("output_expires_after.anchor", "'created_at'", anchor);
  }
  int32_t seconds = kMaxExpirySeconds;
  if (value->contains("seconds")) {
    WEFT_RETURN_IF_ERROR(CheckInteger((*value)["seconds"], "output_expires_after.seconds",
                                      kMinExpirySeconds, kMaxExpirySeconds, seconds));
  }
  for (const char* const name : {"anchor", "seconds"}) {
    if (value->contains(name)) continue;
    return RefuseMissing(fmt::format("output_expires_after.{}", name),
                         "outputs are kept for some 'seconds' after 'created_at'");
  }
  return seconds;
}

}  // namespace

ApiResult<BatchObject> ParseBatchRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  BatchObject batch;
  WEFT_ASSIGN_OR_RETURN(batch.input_file_id,
                        ReadRequiredText(body, "input_file_id", "send the id of an uploaded file"));
  WEFT_ASSIGN_OR_RETURN(batch.endpoint,
                        ReadRequiredText(body, "endpoint", "send the url that the lines have"));
  if (!IsBatchUrl(batch.endpoint)) {
    return tl::unexpected(
        InvalidField("endpoint", fmt::format("'endpoint' must be one of {}, not '{}'",
                                             BatchUrlNames(), batch.endpoint.substr(0, 100))));
  }
  WEFT_ASSIGN_OR_RETURN(const std::string window,
                        ReadRequiredText(body, "completion_window", "it must be 24h"));
  if (window != "24h") {
    return tl::unexpected(InvalidField(
        "completion_window",
        fmt::format("'completion_window' must be 24h, not '{}'", window.substr(0, 40))));
  }
  WEFT_ASSIGN_OR_RETURN(batch.metadata, ReadBatchMetadata(body));
  WEFT_ASSIGN_OR_RETURN(batch.output_expiry_seconds, ReadOutputExpiry(body));
  batch.unknown_field_count = CountUnknownFields(body, kBatchFields, {});
  return batch;
}

}  // namespace weft
