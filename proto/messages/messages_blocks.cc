#include "proto/messages/messages_blocks.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Puts blocks into messages. Neighbours of one role are one turn, as Anthropic has it.
class ConversationBuilder {
 public:
  void AddText(std::string_view role, const ordered_json& text) {
    OpenMessage(role);
    if (open_.contains("tool_calls")) {  // text after a call is a message of its own
      Flush();
      OpenMessage(role);
    }
    open_["content"].push_back({{"type", "text"}, {"text", text}});
  }

  void AddThinking(const ordered_json& text) {
    OpenMessage("assistant");
    if (open_.contains("tool_calls")) {
      Flush();
      OpenMessage("assistant");
    }
    const std::string before = open_.value("reasoning_content", std::string());
    open_["reasoning_content"] =
        before + (before.empty() ? "" : "\n") + text.get_ref<const std::string&>();
  }

  void AddCall(const ordered_json& block) {
    OpenMessage("assistant");
    const ordered_json& name = block["name"];
    open_["tool_calls"].push_back({{"id", block["id"]},
                                   {"type", "function"},
                                   {"function", {{"name", name}, {"arguments", block["input"]}}}});
    names_[block["id"].get<std::string>()] = name.get<std::string>();
  }

  // `content` is a string or an array of text parts. Some templates want the function's name.
  void AddResult(const ordered_json& block, ordered_json content) {
    Flush();
    ordered_json message = {{"role", "tool"}, {"tool_call_id", block["tool_use_id"]}};
    const auto name = names_.find(block["tool_use_id"].get<std::string>());
    if (name != names_.end()) message["name"] = name->second;
    message["content"] = std::move(content);
    if (const ordered_json* is_error = FindField(block, "is_error")) {
      message["is_error"] = *is_error;
    }
    messages_.push_back(std::move(message));
  }

  ordered_json Take() {
    Flush();
    return std::move(messages_);
  }

 private:
  void OpenMessage(std::string_view role) {
    if (!open_.is_null() && open_["role"] == role) return;
    Flush();
    open_ = {{"role", role}, {"content", nullptr}};
  }

  void Flush() {
    if (open_.is_null()) return;
    messages_.push_back(std::move(open_));
    open_ = nullptr;
  }

  ordered_json messages_ = ordered_json::array();
  ordered_json open_;                         // null: no message is being put together
  std::map<std::string, std::string> names_;  // of the functions called, by the call's id
};

// The type of a block, which must be an object with one.
ApiResult<std::string> TypeOf(const ordered_json& block, const std::string& path) {
  if (!block.is_object()) return RefuseValue(path, "an object", block);
  WEFT_RETURN_IF_ERROR(CheckRequiredString(block, "type", path, "send \"text\""));
  return block["type"].get<std::string>();
}

tl::unexpected<ApiError> RefuseBlock(const std::string& path, std::string_view type,
                                     std::string_view known) {
  return RefuseUnsupportedValue(
      path + ".type", fmt::format("'{}.type' is '{}', but this server takes {} here", path,
                                  type.substr(0, 60), known));
}

ApiResult<void> CheckTextBlock(const ordered_json& block, const std::string& path) {
  const ApiResult<std::string> type = TypeOf(block, path);
  if (!type) return tl::unexpected(type.error());
  if (*type != "text") return RefuseBlock(path, *type, "blocks of type 'text' only");
  return CheckRequiredString(block, "text", path, "a block of type text has one");
}

// A string, or an array of text blocks, as content of a message; null for an empty array.
ApiResult<ordered_json> ReadTextContent(const ordered_json& content, const std::string& path) {
  if (content.is_string()) return content;
  if (!content.is_array()) return RefuseValue(path, "a string or an array of text blocks", content);
  ordered_json parts;
  for (size_t i = 0; i < content.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckTextBlock(content[i], fmt::format("{}[{}]", path, i)));
    parts.push_back({{"type", "text"}, {"text", content[i]["text"]}});
  }
  return parts;
}

ApiResult<void> ReadToolResult(const ordered_json& block, const std::string& path,
                               ConversationBuilder& builder) {
  WEFT_RETURN_IF_ERROR(
      CheckRequiredString(block, "tool_use_id", path, "it says which call this answers"));
  const ordered_json* is_error = FindField(block, "is_error");
  if (is_error != nullptr && !is_error->is_boolean()) {
    return RefuseValue(path + ".is_error", "true or false", *is_error);
  }
  ordered_json content = "";
  if (const ordered_json* given = FindField(block, "content")) {
    ApiResult<ordered_json> read = ReadTextContent(*given, path + ".content");
    if (!read) return tl::unexpected(std::move(read).error());
    if (!read->is_null()) content = *std::move(read);
  }
  builder.AddResult(block, std::move(content));
  return {};
}

ApiResult<void> ReadToolUse(const ordered_json& block, const std::string& path,
                            ConversationBuilder& builder) {
  WEFT_RETURN_IF_ERROR(CheckRequiredString(block, "id", path, "its result refers to it"));
  WEFT_RETURN_IF_ERROR(CheckRequiredString(block, "name", path, "it says what was called"));
  const ordered_json* input = FindField(block, "input");
  if (input == nullptr) return RefuseMissing(path + ".input", "send {} for a call without any");
  if (!input->is_object()) return RefuseValue(path + ".input", "an object", *input);
  builder.AddCall(block);
  return {};
}

ApiResult<void> ReadUserBlock(const ordered_json& block, const std::string& path,
                              ConversationBuilder& builder) {
  const ApiResult<std::string> type = TypeOf(block, path);
  if (!type) return tl::unexpected(type.error());
  if (*type == "tool_result") return ReadToolResult(block, path, builder);
  if (*type != "text") return RefuseBlock(path, *type, "'text' and 'tool_result'");
  WEFT_RETURN_IF_ERROR(CheckTextBlock(block, path));
  builder.AddText("user", block["text"]);
  return {};
}

ApiResult<void> ReadAssistantBlock(const ordered_json& block, const std::string& path,
                                   ConversationBuilder& builder) {
  const ApiResult<std::string> type = TypeOf(block, path);
  if (!type) return tl::unexpected(type.error());
  if (*type == "tool_use") return ReadToolUse(block, path, builder);
  if (*type == "thinking") {
    WEFT_RETURN_IF_ERROR(
        CheckRequiredString(block, "thinking", path, "a block of type thinking has one"));
    WEFT_RETURN_IF_ERROR(CheckOptionalString(block, "signature", path));
    builder.AddThinking(block["thinking"]);
    return {};
  }
  // Nobody but Anthropic's models can read it.
  if (*type == "redacted_thinking") return CheckOptionalString(block, "data", path);
  if (*type != "text") {
    return RefuseBlock(path, *type, "'text', 'tool_use', 'thinking' and 'redacted_thinking'");
  }
  WEFT_RETURN_IF_ERROR(CheckTextBlock(block, path));
  builder.AddText("assistant", block["text"]);
  return {};
}

ApiResult<void> ReadBlock(std::string_view role, const ordered_json& block, const std::string& path,
                          ConversationBuilder& builder) {
  if (role == "user") return ReadUserBlock(block, path, builder);
  if (role == "assistant") return ReadAssistantBlock(block, path, builder);
  WEFT_RETURN_IF_ERROR(CheckTextBlock(block, path));
  builder.AddText(role, block["text"]);
  return {};
}

ApiResult<void> ReadMessage(const ordered_json& message, const std::string& path,
                            ConversationBuilder& builder) {
  if (!message.is_object()) return RefuseValue(path, "an object", message);
  WEFT_RETURN_IF_ERROR(CheckRequiredString(message, "role", path, "send user or assistant"));
  const auto role = message["role"].get<std::string>();
  if (role != "user" && role != "assistant" && role != "system") {
    return RefuseValue(path + ".role", "one of user, assistant and system", message["role"]);
  }
  const std::string content_path = path + ".content";
  const ordered_json* content = FindField(message, "content");
  if (content == nullptr) {
    return RefuseMissing(content_path, "send a string or an array of blocks");
  }
  if (content->is_string()) {
    builder.AddText(role, *content);
    return {};
  }
  if (!content->is_array() || content->empty()) {
    return RefuseValue(content_path, "a string or an array of at least one block", *content);
  }
  for (size_t i = 0; i < content->size(); ++i) {
    WEFT_RETURN_IF_ERROR(
        ReadBlock(role, (*content)[i], fmt::format("{}[{}]", content_path, i), builder));
  }
  return {};
}

// Tools that Anthropic's servers run, by how their types begin; behind that stands a date.
constexpr std::array<std::string_view, 6> kHostedTools = {
    "web_search_", "web_fetch_", "code_execution_", "advisor_", "tool_search_tool_", "mcp_toolset"};

bool IsHostedTool(const ordered_json& tool) {
  constexpr size_t kMaxBytes = 64;
  const ordered_json* type = FindField(tool, "type");
  if (type == nullptr || !type->is_string()) return false;
  const std::string_view name = type->get_ref<const std::string&>();
  return name.size() <= kMaxBytes &&
         std::ranges::all_of(
             name, [](char c) { return IsAsciiLower(c) || IsAsciiDigit(c) || c == '_'; }) &&
         std::ranges::any_of(
             kHostedTools, [&](std::string_view tool_type) { return name.starts_with(tool_type); });
}

ApiResult<ordered_json> ReadTool(const ordered_json& tool, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckOptionalString(tool, "type", path));
  const ordered_json* type = FindField(tool, "type");
  if (type != nullptr && *type != "custom") {
    return RefuseUnsupportedValue(
        path + ".type",
        fmt::format("'{}.type' is {}, a tool that this server does not have; it knows tools of the "
                    "client's own, of type \"custom\"",
                    path, type->dump().substr(0, 60)));
  }
  bool is_deferred = false;  // a hint: every tool is told to the model at once
  WEFT_RETURN_IF_ERROR(ReadBool(tool, "defer_loading", is_deferred, path + "."));
  const ordered_json* schema = FindField(tool, "input_schema");
  if (schema == nullptr) return RefuseMissing(path + ".input_schema", "a tool has one");
  if (!schema->is_object()) {
    return RefuseValue(path + ".input_schema", "a JSON schema (an object)", *schema);
  }
  ordered_json function = ordered_json::object();
  for (const auto& [name, own_name] : {std::pair("name", "name"),
                                       {"description", "description"},
                                       {"parameters", "input_schema"},
                                       {"strict", "strict"}}) {
    if (const ordered_json* value = FindField(tool, own_name)) function[name] = *value;
  }
  WEFT_RETURN_IF_ERROR(CheckFunction(function, path));
  return ordered_json{{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace

ApiResult<ordered_json> ReadAnthropicMessages(const ordered_json* system,
                                              const ordered_json& messages) {
  ConversationBuilder builder;
  if (system != nullptr) {
    const ApiResult<ordered_json> text = ReadTextContent(*system, "system");
    if (!text) return tl::unexpected(text.error());
    if (text->is_string()) builder.AddText("system", *text);
    if (text->is_array()) {
      for (const ordered_json& part : *text) builder.AddText("system", part["text"]);
    }
  }
  if (!messages.is_array() || messages.empty()) {
    return RefuseValue("messages", "an array of at least one message", messages);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    WEFT_RETURN_IF_ERROR(ReadMessage(messages[i], fmt::format("messages[{}]", i), builder));
  }
  return builder.Take();
}

ApiResult<void> ReadAnthropicTools(const ordered_json& tools, const RequestRules& rules,
                                   ChatRequest& request) {
  WEFT_RETURN_IF_ERROR(CheckToolCount(tools));
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    if (!tools[i].is_object()) return RefuseValue(path, "an object", tools[i]);
    if (rules.drops_hosted_tools && IsHostedTool(tools[i])) {
      request.dropped_tools.push_back(tools[i]["type"].get<std::string>());
      continue;
    }
    ApiResult<ordered_json> function = ReadTool(tools[i], path);
    if (!function) return tl::unexpected(std::move(function).error());
    WEFT_RETURN_IF_ERROR(
        CheckNewName(tools[i]["name"].get_ref<const std::string&>(), path + ".name", names));
    request.tools.push_back(*std::move(function));
    request.tool_paths.places.push_back(path);
  }
  return {};
}

}  // namespace weft
