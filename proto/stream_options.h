// "stream" and "stream_options", the same in completions and chats. Include from .cc files only.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

struct StreamOptions {
  bool stream = false;
  bool include_usage = false;       // a last chunk with the usage of the whole stream
  bool continuous_usage = false;    // and in every other chunk, its choice's so far
  int32_t unknown_field_count = 0;  // of stream_options; ignored
};

// Errors name the field by its JSON path.
ApiResult<StreamOptions> ReadStreamOptions(const nlohmann::json& body);

}  // namespace weft
