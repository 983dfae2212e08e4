// `metadata`: pairs of a client's own, kept beside what it made. Include from .cc files only.
#pragma once

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

// An object of at most 16 strings: keys of 64 bytes, values of 512. Errors name the pair.
ApiResult<void> CheckMetadata(const nlohmann::ordered_json& value);

}  // namespace weft
