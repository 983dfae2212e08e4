#include "proto/batches/batch_object.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/field_reader.h"
#include "proto/json_dump.h"
#include "proto/object_list.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 8> kStatusNames = {  // as BatchStatus
    "validating", "failed",  "in_progress", "finalizing",
    "completed",  "expired", "cancelling",  "cancelled"};

// Names in the JSON, and what they are.
constexpr std::array kBatchTimes = {std::pair("in_progress_at", &BatchObject::in_progress_at),
                                    std::pair("finalizing_at", &BatchObject::finalizing_at),
                                    std::pair("completed_at", &BatchObject::completed_at),
                                    std::pair("failed_at", &BatchObject::failed_at),
                                    std::pair("expired_at", &BatchObject::expired_at),
                                    std::pair("cancelling_at", &BatchObject::cancelling_at),
                                    std::pair("cancelled_at", &BatchObject::cancelled_at)};

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

template <typename T>
std::optional<T> FromNullable(const json& value) {
  return value.is_null() ? std::optional<T>() : value.get<T>();
}

ordered_json ErrorsJson(const std::vector<BatchError>& errors) {
  if (errors.empty()) return nullptr;
  ordered_json data = ordered_json::array();
  for (const BatchError& error : errors) {
    data.push_back({{"code", error.code},
                    {"message", error.message},
                    {"param", error.param.empty() ? ordered_json() : ordered_json(error.param)},
                    {"line", OrNull(error.line)}});
  }
  return {{"object", "list"}, {"data", std::move(data)}};
}

ordered_json BatchJsonOf(const BatchObject& batch) {
  ordered_json value = {{"id", batch.id},
                        {"object", "batch"},
                        {"endpoint", batch.endpoint},
                        {"errors", ErrorsJson(batch.errors)},
                        {"input_file_id", batch.input_file_id},
                        {"completion_window", "24h"},
                        {"status", NameOf(batch.status)},
                        {"output_file_id", OrNull(batch.output_file_id)},
                        {"error_file_id", OrNull(batch.error_file_id)},
                        {"created_at", batch.created_at},
                        {"expires_at", batch.expires_at}};
  for (const auto& [name, member] : kBatchTimes) value[name] = OrNull(batch.*member);
  value["request_counts"] = {{"total", batch.total_count},
                             {"completed", batch.completed_count},
                             {"failed", batch.failed_count}};
  value["metadata"] = batch.metadata.empty() ? ordered_json() : ordered_json(batch.metadata);
  return value;
}

BatchObject BatchOf(const json& value) {
  BatchObject batch;
  batch.id = value.at("id");
  batch.endpoint = value.at("endpoint");
  const auto status = std::ranges::find(kStatusNames, value.at("status").get<std::string>());
  batch.status = static_cast<BatchStatus>(status - kStatusNames.begin());
  if (!value.at("errors").is_null()) {
    for (const json& error : value["errors"].at("data")) {
      batch.errors.push_back({.code = error.at("code"),
                              .message = error.at("message"),
                              .param = FromNullable<std::string>(error.at("param")).value_or(""),
                              .line = FromNullable<int64_t>(error.at("line"))});
    }
  }
  batch.input_file_id = value.at("input_file_id");
  batch.output_file_id = FromNullable<std::string>(value.at("output_file_id"));
  batch.error_file_id = FromNullable<std::string>(value.at("error_file_id"));
  batch.created_at = value.at("created_at");
  batch.expires_at = value.at("expires_at");
  for (const auto& [name, member] : kBatchTimes) {
    batch.*member = FromNullable<int64_t>(value.at(name));
  }
  const json& counts = value.at("request_counts");
  batch.total_count = counts.at("total");
  batch.completed_count = counts.at("completed");
  batch.failed_count = counts.at("failed");
  if (!value.at("metadata").is_null()) batch.metadata = value["metadata"];
  batch.output_expiry_seconds = value.at("output_expiry_seconds");
  return batch;
}

}  // namespace

std::string_view NameOf(BatchStatus status) { return kStatusNames.at(static_cast<size_t>(status)); }

bool HasEnded(BatchStatus status) {
  return status == BatchStatus::kFailed || status == BatchStatus::kCompleted ||
         status == BatchStatus::kExpired || status == BatchStatus::kCancelled;
}

std::string ToJson(const BatchObject& batch) { return DumpJson(BatchJsonOf(batch)); }

std::string ToJson(const std::vector<BatchObject>& batches, bool has_more) {
  ordered_json data = ordered_json::array();
  for (const BatchObject& batch : batches) data.push_back(BatchJsonOf(batch));
  return DumpJson(ObjectList(std::move(data), has_more));
}

std::string BatchStateJson(const BatchObject& batch) {
  ordered_json value = BatchJsonOf(batch);
  value["output_expiry_seconds"] = batch.output_expiry_seconds;
  return DumpJson(value);
}

ApiResult<BatchObject> ParseBatchState(std::string_view text) {
  try {
    return BatchOf(json::parse(text));
  } catch (const json::exception& exception) {
    return tl::unexpected(HttpError(500, "internal_error", exception.what()));
  }
}

}  // namespace weft
