#include "proto/ollama/ollama_messages.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// A call that no message has answered yet.
struct OpenCall {
  std::string id;
  std::string name;
};

ApiResult<void> RefuseImages(ordered_json& message, const std::string& path) {
  const ordered_json* images = FindField(message, "images");
  if (images != nullptr && *images != ordered_json::array()) {
    return RefuseUnsupportedValue(
        path + ".images",
        fmt::format("'{}.images' is not supported: this server reads text only", path));
  }
  message.erase("images");
  return {};
}

// What is not as it should be is left to CheckMessages.
void NameCalls(ordered_json& calls, size_t message_index, std::vector<OpenCall>& open) {
  if (!calls.is_array()) return;
  for (size_t i = 0; i < calls.size(); ++i) {
    ordered_json& call = calls[i];
    if (!call.is_object()) continue;
    if (FindField(call, "id") == nullptr || call["id"] == "") {
      call["id"] = fmt::format("call_{}_{}", message_index, i);
    }
    const ordered_json* function = FindField(call, "function");
    if (!call["id"].is_string() || function == nullptr || !function->is_object()) continue;
    const ordered_json* name = FindField(*function, "name");
    if (name == nullptr || !name->is_string()) continue;
    open.push_back({.id = call["id"], .name = *name});
  }
}

// Which call a tool's message answers: the one of its id, the first open one of the tool, or the
// first open one.
ApiResult<void> NameAnswer(ordered_json& message, const std::string& path,
                           std::vector<OpenCall>& open) {
  WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "tool_name", path));
  WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "tool_call_id", path));
  if (const ordered_json* name = FindField(message, "tool_name")) message["name"] = *name;
  message.erase("tool_name");
  const ordered_json* id = FindField(message, "tool_call_id");
  const ordered_json* name = FindField(message, "name");
  auto call = std::ranges::find_if(open, [&](const OpenCall& each) {
    return id != nullptr && *id != "" ? each.id == *id : name == nullptr || each.name == *name;
  });
  if (call == open.end() && id == nullptr) call = open.begin();
  if (call == open.end()) {
    if (id == nullptr) message["tool_call_id"] = "call_unknown";  // templates may print none
    return {};
  }
  message["tool_call_id"] = call->id;
  message["name"] = call->name;
  open.erase(call);
  return {};
}

}  // namespace

ApiResult<void> ReadOllamaMessages(ordered_json& messages) {
  if (!messages.is_array()) return RefuseValue("messages", "an array of messages", messages);
  std::vector<OpenCall> open;
  for (size_t i = 0; i < messages.size(); ++i) {
    ordered_json& message = messages[i];
    if (!message.is_object()) continue;
    const std::string path = fmt::format("messages[{}]", i);
    WEFT_RETURN_IF_ERROR(RefuseImages(message, path));
    WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "thinking", path));
    if (const ordered_json* thinking = FindField(message, "thinking")) {
      if (*thinking != "") message["reasoning_content"] = *thinking;
    }
    message.erase("thinking");
    if (FindField(message, "content") == nullptr) message["content"] = "";
    const auto calls = message.find("tool_calls");
    if (calls != message.end()) NameCalls(*calls, i, open);
    if (message.value("role", ordered_json()) != "tool") continue;
    WEFT_RETURN_IF_ERROR(NameAnswer(message, path, open));
  }
  return CheckMessages(messages);
}

ApiResult<void> ReadOllamaTools(ordered_json& tools) {
  if (tools.is_array()) {
    for (ordered_json& tool : tools) {
      if (tool.is_object() && FindField(tool, "type") == nullptr) tool["type"] = "function";
    }
  }
  return CheckTools(tools);
}

}  // namespace weft
