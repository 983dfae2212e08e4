// The fields of a request that say how its tokens are chosen and what ends its text: the same on
// every endpoint that generates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "proto/api_error.h"

namespace weft {

inline constexpr int32_t kMaxStopStrings = 16;
inline constexpr int32_t kMaxStopStringBytes = 1024;
inline constexpr int32_t kMaxStopTokenIds = 128;

// Every value is in its range, every default filled in. Token ids are >= 0; whether the vocabulary
// has them is the server's to check.
struct SamplingFields {
  double temperature = 1.0;
  double top_p = 1.0;
  double min_p = 0.0;
  int32_t top_k = 0;  // 0: all
  std::optional<uint64_t> seed;
  int32_t min_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  bool include_stop = false;
};

// `body` is an object. Errors name the field by its JSON path. A field about generation that Weft
// does not have yet is refused by name (code "unsupported_parameter") unless its value changes
// nothing.
ApiResult<void> ReadSamplingFields(const nlohmann::json& body, SamplingFields& fields);

// Whether ReadSamplingFields knows the name, so that it is no unknown field.
bool IsSamplingField(std::string_view name);

}  // namespace weft
