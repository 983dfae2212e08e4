// A batch, as /v1/batches says it and as it is kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api_error.h"
#include "proto/expiry.h"

namespace weft {

enum class BatchStatus {
  kValidating,
  kFailed,
  kInProgress,
  kFinalizing,
  kCompleted,
  kExpired,
  kCancelling,
  kCancelled
};

std::string_view NameOf(BatchStatus status);
// Nothing happens to it any more.
bool HasEnded(BatchStatus status);

// Why a line of the input, or all of it, cannot be run.
struct BatchError {
  std::string code;
  std::string message;
  std::string param;            // empty: null
  std::optional<int64_t> line;  // from 1
};

// Times are seconds since 1970; nullopt: it did not happen.
struct BatchObject {
  std::string id;
  std::string endpoint;
  BatchStatus status = BatchStatus::kValidating;
  std::vector<BatchError> errors;
  std::string input_file_id;
  std::optional<std::string> output_file_id;
  std::optional<std::string> error_file_id;
  int64_t created_at = 0;
  int64_t expires_at = 0;
  std::optional<int64_t> in_progress_at;
  std::optional<int64_t> finalizing_at;
  std::optional<int64_t> completed_at;
  std::optional<int64_t> failed_at;
  std::optional<int64_t> expired_at;
  std::optional<int64_t> cancelling_at;
  std::optional<int64_t> cancelled_at;
  int64_t total_count = 0;  // lines
  int64_t completed_count = 0;
  int64_t failed_count = 0;
  std::map<std::string, std::string> metadata;
  int32_t output_expiry_seconds = kMaxExpirySeconds;  // of its output and error files; not shown
  int32_t unknown_field_count = 0;                    // of its request; not kept
};

std::string ToJson(const BatchObject& batch);
std::string ToJson(const std::vector<BatchObject>& batches, bool has_more);
// All of it.
std::string BatchStateJson(const BatchObject& batch);
// What BatchStateJson made. Error: it did not.
ApiResult<BatchObject> ParseBatchState(std::string_view text);

// The body of POST /v1/batches. Of the batch, what it says.
ApiResult<BatchObject> ParseBatchRequest(std::string_view body);

}  // namespace weft
