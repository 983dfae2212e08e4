// The tools of /v1/responses: functions, tools with an input of free text (`custom`), namespaces of
// both, and those that OpenAI's own servers run. Models hear of functions alone, by names that are
// all in one space. Include from .cc files only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/chat/chat_request.h"
#include "proto/request_rules.h"

namespace weft {

// A tool as the client calls it.
struct ResponseTool {
  std::string space;  // its namespace; empty: none
  std::string name;
  bool is_custom = false;  // otherwise a function
  bool operator==(const ResponseTool&) const = default;
};
// By the names that the model hears.
using ResponseTools = std::map<std::string, ResponseTool, std::less<>>;

// What a custom tool becomes for the model: a function with this one parameter, a string.
inline constexpr std::string_view kCustomInput = "input";

struct ResponseToolList {
  ResponseTools tools;
  nlohmann::ordered_json echo = nlohmann::ordered_json::array();  // all but the hosted ones
};

// `tools`, into `chat`: its tools, their paths, what custom ones may have for an input, and the
// types of hosted ones, which are left out, or refused. Errors name the path.
ApiResult<ResponseToolList> ReadResponseTools(const nlohmann::ordered_json& tools,
                                              const RequestRules& rules, ChatRequest& chat);

// `tool_choice` where it is an object. Errors: besides, 400 where it is a hosted tool.
ApiResult<void> ReadResponseToolChoice(const nlohmann::ordered_json& choice,
                                       const ResponseTools& tools, ChatRequest& chat);

// What the model hears a tool called, also one that is not offered any more.
std::string HeardName(const ResponseTools& tools, const std::string& space,
                      const std::string& name);

}  // namespace weft
