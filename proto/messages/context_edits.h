// Anthropic's `context_management`: what is cleared of a conversation before the model sees it.
// https://platform.claude.com/docs/en/build-with-claude/context-editing
// Include from .cc files only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

// "clear_tool_uses_20250919": results of tools give way to a line that says so.
struct ClearToolUses {
  // From so many on, of the prompt's tokens or of uses of tools.
  bool counts_uses = false;
  int64_t trigger = 100'000;
  int64_t kept_uses = 3;     // the last ones
  int64_t least_tokens = 0;  // if the prompt does not lose as many, nothing is cleared
  std::vector<std::string> excluded_tools;
  bool clears_all_inputs = false;           // of calls whose results are cleared
  std::vector<std::string> cleared_inputs;  // or of these tools' calls
};

// "clear_thinking_20251015": the thoughts of earlier turns go.
struct ClearThinking {
  int64_t kept_turns = 1;  // the last ones that have any
};

using ContextEdit = std::variant<ClearThinking, ClearToolUses>;

struct AppliedEdit {
  ContextEdit edit;
  int64_t cleared_count = 0;  // uses of tools, or turns
  int64_t cleared_tokens = 0;
};

struct AppliedEdits {
  std::vector<AppliedEdit> edits;  // those that have changed something
  int64_t original_tokens = 0;     // of the prompt before; known if something has
};

// `context_management`; errors name the path. Types that are not known are refused by name.
ApiResult<std::vector<ContextEdit>> ReadContextManagement(const nlohmann::ordered_json& value);

// The prompt's tokens, of the conversation as it is now.
using TokenCounter = std::function<ApiResult<int64_t>()>;

// Carries the edits out, in their order, on the messages of a chat request (see MessagesRequest).
// `count_tokens` is called only if it matters. Errors are the counter's.
ApiResult<AppliedEdits> ApplyContextEdits(const std::vector<ContextEdit>& edits,
                                          const TokenCounter& count_tokens,
                                          nlohmann::ordered_json& messages);

// {"applied_edits":[...]}
std::string ToJson(const std::vector<AppliedEdit>& edits);

}  // namespace weft
