// Fields of conversations that endpoints call by names of their own, or share: all of them make a
// ChatRequest. Include from .cc files only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"
#include "proto/unsupported_fields.h"

namespace weft {

// Fields that templates read, of chats and responses: their members keep their order.
inline constexpr auto kSharedTemplateFields =
    std::to_array<std::string_view>({"tools", "documents", "chat_template_kwargs"});

// Other fields of both.
inline constexpr auto kSharedChatFields = std::to_array<std::string_view>(
    {"model", "stream", "stream_options", "parallel_tool_calls", "top_logprobs",
     "add_generation_prompt", "continue_final_message",
     // Accepted, without effect.
     "user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"});

// What neither has.
inline constexpr std::array kSharedUnsupportedFields = {
    UnsupportedField{"chat_template", "null"},  // code from a client
    UnsupportedField{"echo", "false"},
    UnsupportedField{"best_of", "1"},
    UnsupportedField{"use_beam_search", "false"},
    UnsupportedField{"length_penalty", "1"},
    UnsupportedField{"early_stopping", "false"},
};

// "none", "auto" and "required"; nullopt: none of them.
std::optional<ToolChoiceKind> ToolModeOf(std::string_view mode);
ApiResult<ToolChoiceKind> ReadToolMode(const nlohmann::ordered_json& mode, const std::string& path);
// Refuses a name that no tool has; `path` is where the request says it.
ApiResult<void> CheckToolExists(const ChatRequest& request, const std::string& name,
                                const std::string& path);
// The name that the object at `path` gives of a tool.
ApiResult<std::string> ReadToolName(const nlohmann::ordered_json& tool, const std::string& path,
                                    const ChatRequest& request);
// {"mode":...,"tools":[...]}: the model hears of those alone, and `request` keeps no others.
ApiResult<void> ReadAllowedTools(const nlohmann::ordered_json& allowed, const std::string& path,
                                 ChatRequest& request);
// The model hears of the tools of these names alone.
void KeepTools(const std::unordered_set<std::string>& names, ChatRequest& request);
tl::unexpected<ApiError> RefuseCallWithoutTools();

// Tells the template, unless `chat_template_kwargs` says something else.
ApiResult<void> SetReasoningEffort(const std::string& effort, const std::string& path,
                                   ChatRequest& request);

}  // namespace weft
