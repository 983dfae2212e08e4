// Prompts of a file, a JSON object a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loadtest/plan/load_plan.h"

namespace weft {

struct FilePrompt {
  GivenPrompt prompt;
  std::optional<int32_t> max_tokens;
};

// {"prompt": "..."} or {"messages": [{"role": "user", "content": "..."}, ...]}, with "max_tokens"
// or "max_completion_tokens" if stated; a line of OpenAI's batch files has them in its "body". A
// message's content may be an array of text parts. Other fields are ignored. At least one prompt.
Result<std::vector<FilePrompt>> ReadPromptFile(const std::string& path);
Result<FilePrompt> ParsePromptLine(std::string_view line);  // one of its lines

}  // namespace weft
