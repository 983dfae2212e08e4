// What a route answers to a body without generating.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/api/generation_job.h"

namespace weft {

struct PostAnswer {
  std::string body;  // JSON
  int32_t unknown_field_count = 0;
  size_t excess_bytes = 0;  // as GenerationJob's
};

// One function an endpoint. May take long for a long body (law 5).
using AnswerFunction = ApiResult<PostAnswer> (*)(std::string_view body,
                                                 const PrepareContext& context);

}  // namespace weft
