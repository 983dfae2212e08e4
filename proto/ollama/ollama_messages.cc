#include "proto/ollama/ollama_messages.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/left_out_images.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct NamedCall {
  std::string id;
  std::string name;
};

// The calls of a conversation that no message has answered yet. There may be thousands: each step
// takes constant time, amortised.
class OpenCalls {
 public:
  void Add(std::string id, std::string name) {
    by_id_[id] = calls_.size();
    by_name_[name].push_back(calls_.size());
    calls_.push_back({.id = std::move(id), .name = std::move(name)});
    is_answered_.push_back(false);
  }

  // nullptr: there is none that is open.
  const NamedCall* TakeById(const std::string& id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() || is_answered_[found->second] ? nullptr : Take(found->second);
  }
  const NamedCall* TakeByName(const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    std::deque<size_t>& places = found->second;
    while (!places.empty() && is_answered_[places.front()]) places.pop_front();
    return places.empty() ? nullptr : Take(places.front());
  }
  const NamedCall* TakeFirst() {
    while (first_ < calls_.size() && is_answered_[first_]) ++first_;
    return first_ == calls_.size() ? nullptr : Take(first_);
  }

 private:
  const NamedCall* Take(size_t place) {
    is_answered_[place] = true;
    return &calls_[place];
  }

  std::vector<NamedCall> calls_;
  std::vector<bool> is_answered_;
  std::unordered_map<std::string, size_t> by_id_;
  std::unordered_map<std::string, std::deque<size_t>> by_name_;
  size_t first_ = 0;  // those before it are answered
};

// A message's images stand beside its text.
ApiResult<void> TakeImages(ordered_json& message, const std::string& path,
                           const RequestRules& rules) {
  const ordered_json* images = FindField(message, "images");
  const bool is_dropped = images != nullptr && images->is_array() && rules.drops_images;
  if (is_dropped && message.contains("content") && message["content"].is_string()) {
    std::string text;
    for (size_t i = 0; i < images->size(); ++i) text += fmt::format("{}\n", kLeftOutImage);
    message["content"] = text + message["content"].get<std::string>();
  } else if (images != nullptr && *images != ordered_json::array()) {
    return RefuseUnsupportedValue(
        path + ".images",
        fmt::format("'{}.images' is not supported: this server reads text only", path));
  }
  message.erase("images");
  return {};
}

// What is not as it should be is left to CheckMessages.
void NameCalls(ordered_json& calls, size_t message_index, OpenCalls& open) {
  if (!calls.is_array()) return;
  for (size_t i = 0; i < calls.size(); ++i) {
    ordered_json& call = calls[i];
    if (!call.is_object()) continue;
    if (FindField(call, "id") == nullptr || IsEmptyText(call["id"])) {
      call["id"] = fmt::format("call_{}_{}", message_index, i);
    }
    const ordered_json* function = FindField(call, "function");
    if (!call["id"].is_string() || function == nullptr || !function->is_object()) continue;
    const ordered_json* name = FindField(*function, "name");
    if (name == nullptr || !name->is_string()) continue;
    open.Add(call["id"], *name);
  }
}

// Which call a tool's message answers: the one of its id, the first open one of the tool, or the
// first open one.
ApiResult<void> NameAnswer(ordered_json& message, const std::string& path, OpenCalls& open) {
  WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "tool_name", path));
  WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "tool_call_id", path));
  if (const ordered_json* name = FindField(message, "tool_name")) message["name"] = *name;
  message.erase("tool_name");
  WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "name", path));
  const ordered_json* id = FindField(message, "tool_call_id");
  const ordered_json* name = FindField(message, "name");
  const bool has_id = id != nullptr && !IsEmptyText(*id);
  const NamedCall* call = nullptr;
  if (has_id) {
    call = open.TakeById(*id);
  } else {
    if (name != nullptr) call = open.TakeByName(*name);
    if (call == nullptr) call = open.TakeFirst();
  }
  if (call != nullptr) {
    message["tool_call_id"] = call->id;
    message["name"] = call->name;
  } else if (!has_id) {
    message["tool_call_id"] = "call_unknown";  // a template may print it
  }
  return {};
}

}  // namespace

ApiResult<void> ReadOllamaMessages(ordered_json& messages, const RequestRules& rules) {
  if (!messages.is_array()) return RefuseValue("messages", "an array of messages", messages);
  OpenCalls open;
  for (size_t i = 0; i < messages.size(); ++i) {
    ordered_json& message = messages[i];
    if (!message.is_object()) continue;
    const std::string path = fmt::format("messages[{}]", i);
    WEFT_RETURN_IF_ERROR(TakeImages(message, path, rules));
    WEFT_RETURN_IF_ERROR(CheckOptionalString(message, "thinking", path));
    if (const ordered_json* thinking = FindField(message, "thinking")) {
      if (!IsEmptyText(*thinking)) message["reasoning_content"] = *thinking;
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
