// A text that comes as such or as token ids.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weft {

// Texts and token ids that follow one another, as llama.cpp's server takes them; not empty.
struct MixedPrompt {
  std::vector<std::variant<std::string, int32_t>> parts;
};

// A text, or token ids (>= 0; whether the vocabulary has them is the server's to check), or both.
using Prompt = std::variant<std::string, std::vector<int32_t>, MixedPrompt>;

struct PromptList {
  std::vector<Prompt> prompts;  // not empty, all of one kind unless PromptKinds::kMixed
  bool is_list = false;         // errors then name prompt[i]
};

}  // namespace weft
