// The body of POST /v1/chat/completions, validated: every value is in its range, every default
// filled in. Include from .cc files only: the conversation is JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/generation_request.h"
#include "proto/request_rules.h"

namespace weft {

inline constexpr int32_t kMaxTopLogprobs = 20;

// Whether the model calls tools.
enum class ToolChoiceKind { kNone, kAuto, kRequired, kFunction };

struct ToolChoice {
  ToolChoiceKind kind = ToolChoiceKind::kNone;
  std::string function;  // kFunction: its name; one of the tools
};

// What the members of `tools`, which requests have in a chat's shape, are called in the client's.
struct ToolPaths {
  std::string function = ".function";     // behind "tools[0]"
  std::string parameters = "parameters";  // of the function
  std::vector<std::string> places;        // "tools[0]"; empty: where they stand in `tools`

  std::string PlaceOf(size_t tool) const;
  // "tools[0].function"
  std::string FunctionOf(size_t tool) const;
};

// Without max_tokens: what the context leaves.
struct ChatRequest : GenerationRequest {
  nlohmann::ordered_json messages;  // see CheckMessages
  nlohmann::ordered_json tools;     // see CheckTools: those that may be called; null if none
  // Types of the tools that were left out (see RequestRules): letters, figures and '_'.
  std::vector<std::string> dropped_tools;
  nlohmann::ordered_json documents;  // an array of objects, for templates that read them; or null
  nlohmann::ordered_json template_variables = nlohmann::ordered_json::object();
  // What the one argument of some tools, a string, must be, by the tools' names.
  std::map<std::string, OutputFormat, std::less<>> inputs;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;  // false: the answer ends with its first call
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // the answer goes on where the last message ends
  bool logprobs = false;
  int32_t top_logprobs = 0;
  // What the client calls these fields, for errors: other endpoints make such requests too.
  std::string messages_path = "messages";
  std::string max_tokens_path = "max_completion_tokens";
  bool max_tokens_is_bound = false;  // the room that there is, if that is less, is no error
  ToolPaths tool_paths;
};

// Errors name the field by its JSON path. A known option that Weft does not have is refused by name
// (code "unsupported_parameter") unless its value changes nothing.
ApiResult<ChatRequest> ParseChatRequest(std::string_view body, const RequestRules& rules = {});
// The same of a body that ParseOrderedBody has read.
ApiResult<ChatRequest> ReadChatRequest(nlohmann::ordered_json body, const RequestRules& rules);

}  // namespace weft
