// What GET /props answers, in the shape of llama.cpp's server: the defaults of requests, and what
// the first model is.
#pragma once

#include <cstdint>
#include <string>

#include "proto/request_rules.h"

namespace weft {

struct Props {
  std::string model;
  std::string model_path;     // of the file or folder
  int64_t max_context = 0;    // positions, prompt and output
  int32_t max_sequences = 0;  // computed at once
  std::string chat_template;  // empty: none
  std::string bos_token;      // empty: none
  std::string eos_token;      // likewise
  std::string build;          // "weft 0.1.0"
};

std::string ToJson(const Props& props, const RequestRules& rules);

}  // namespace weft
