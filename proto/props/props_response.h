// What GET /props answers: the defaults of requests, in the shape of llama.cpp's server.
#pragma once

#include <cstdint>
#include <string>

#include "proto/request_rules.h"

namespace weft {

struct Props {
  std::string model;
  int64_t max_context = 0;    // positions, prompt and output
  int32_t max_sequences = 0;  // computed at once
  std::string build;          // "weft 0.1.0"
};

std::string ToJson(const Props& props, const RequestRules& rules);

}  // namespace weft
