#include "proto/usage_json.h"

namespace weft {

nlohmann::ordered_json UsageCountsJson(int64_t prompt_tokens, int64_t completion_tokens) {
  nlohmann::ordered_json value;
  value["prompt_tokens"] = prompt_tokens;
  value["completion_tokens"] = completion_tokens;
  value["total_tokens"] = prompt_tokens + completion_tokens;
  return value;
}

nlohmann::ordered_json PooledUsageJson(int64_t prompt_tokens,
                                       std::optional<int64_t> truncated_tokens) {
  nlohmann::ordered_json value;
  value["prompt_tokens"] = prompt_tokens;
  value["total_tokens"] = prompt_tokens;
  if (truncated_tokens) value["truncated_tokens"] = *truncated_tokens;
  return value;
}

}  // namespace weft
