// The body of POST /models/load and /models/unload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/api_error.h"

namespace weft {

struct ModelCommand {
  std::string model;
  int32_t unknown_field_count = 0;
};

ApiResult<ModelCommand> ParseModelCommand(std::string_view body);

}  // namespace weft
