// A text that comes as such or as token ids.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weft {

// A text, or token ids (>= 0; whether the vocabulary has them is the server's to check).
using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct PromptList {
  std::vector<Prompt> prompts;  // not empty, all of one kind
  bool is_list = false;         // errors then name prompt[i]
};

}  // namespace weft
