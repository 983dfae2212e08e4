#include "server/commands/chat/conversation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/json_dump.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr auto kSettings = std::to_array<std::string_view>(
    {"temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "min_tokens", "stop",
     "presence_penalty", "frequency_penalty", "repetition_penalty", "reasoning_effort"});
constexpr std::string_view kReasoning = "reasoning";

ordered_json Message(std::string_view role, std::string text) {
  return {{"role", role}, {"content", std::move(text)}};
}

bool IsOf(const ordered_json& messages, std::string_view role) {
  return !messages.empty() && messages.back()["role"] == role;
}

bool IsMessage(const ordered_json& message) {
  const auto is_text = [&](const char* name) {
    return message.contains(name) && message[name].is_string();
  };
  return message.is_object() && message.size() == 2 && is_text("role") && is_text("content");
}

}  // namespace

void Conversation::AddQuestion(std::string text) {
  messages_.push_back(Message("user", std::move(text)));
}

void Conversation::AddAnswer(std::string text) {
  messages_.push_back(Message("assistant", std::move(text)));
}

bool Conversation::DropAnswer() {
  if (!IsOf(messages_, "assistant")) return false;
  messages_.erase(messages_.size() - 1);
  return true;
}

bool Conversation::DropQuestion() {
  DropAnswer();
  if (!IsOf(messages_, "user")) return false;
  messages_.erase(messages_.size() - 1);
  return true;
}

Result<void> Conversation::Set(const std::string& name, const std::string& value) {
  if (name == kReasoning) {
    if (value != "on" && value != "off" && value != "auto" && !value.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "reasoning is on, off or auto, not '{}'", value);
    }
    settings_.erase(name);
    if (value == "on" || value == "off") settings_[name] = value;
    return {};
  }
  if (std::ranges::find(kSettings, name) == kSettings.end()) {
    std::string names(kReasoning);
    for (const std::string_view known : kSettings) names.append(", ").append(known);
    return Fail(ErrorCode::kNotFound, "there is no setting '{}', only {}", name, names);
  }
  settings_.erase(name);
  if (value.empty()) return {};
  const ordered_json parsed = ordered_json::parse(value, nullptr, false);
  settings_[name] = parsed.is_discarded() ? ordered_json(value) : parsed;
  return {};
}

ordered_json Conversation::Body(const std::string& model) const {
  ordered_json messages = messages_;
  if (!system_.empty()) messages.insert(messages.begin(), Message("system", system_));
  ordered_json body = {{"model", model}, {"messages", std::move(messages)}, {"stream", true}};
  for (const auto& [name, value] : settings_.items()) {
    if (name == kReasoning) {
      body["chat_template_kwargs"] = {{"enable_thinking", value == "on"}};
    } else {
      body[name] = value;
    }
  }
  return body;
}

std::string Conversation::ToJson() const {
  const ordered_json body = Body("");
  return DumpJson(ordered_json{{"messages", body["messages"]}, {"settings", settings_}});
}

Result<void> Conversation::Load(std::string_view text) {
  const ordered_json file = ordered_json::parse(text, nullptr, false);
  const bool has_messages = file.is_object() && file.contains("messages") &&
                            file["messages"].is_array() &&
                            std::ranges::all_of(file["messages"], IsMessage);
  if (!has_messages) {
    return Fail(ErrorCode::kCorrupt,
                "expected {{\"messages\": [{{\"role\": ..., \"content\": ...}}, ...]}}");
  }
  Conversation loaded;
  for (const ordered_json& message : file["messages"]) {
    const auto content = message["content"].get<std::string>();
    if (message["role"] == "system" && loaded.empty()) {
      loaded.SetSystem(content);
    } else if (message["role"] == "user") {
      loaded.AddQuestion(content);
    } else if (message["role"] == "assistant") {
      loaded.AddAnswer(content);
    } else {
      return Fail(ErrorCode::kCorrupt,
                  "a message is the user's or the assistant's, or the first "
                  "one the system's, not of the role '{}'",
                  message["role"].get<std::string>());
    }
  }
  if (file.contains("settings") && file["settings"].is_object()) {
    for (const auto& [name, value] : file["settings"].items()) {
      WEFT_RETURN_IF_ERROR(
          loaded.Set(name, value.is_string() ? value.get<std::string>() : DumpJson(value)));
    }
  }
  *this = std::move(loaded);
  return {};
}

}  // namespace weft
