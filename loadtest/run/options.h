// What a load test does, as its command line states it.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct LoadtestOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string model;    // empty: the first one that the server lists
  std::string api_key;  // sent as a bearer token unless empty
  int32_t concurrency = 8;
  int32_t request_count = 200;
  std::string prompt;          // empty: generated, another one for every request
  int32_t prompt_tokens = 64;  // of a generated prompt, about: it has this many short words
  int32_t max_tokens = 64;
  double temperature = 0.0;
  uint64_t seed = 0;  // of the generated prompts
  bool stream = true;
  bool ignore_eos = false;  // asks for all max_tokens; an extension that not every server knows
  double timeout_s = 600;   // of one request
  bool json = false;        // the report as one line of JSON
};

}  // namespace weft
