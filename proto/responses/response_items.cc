#include "proto/responses/response_items.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_dump.h"
#include "proto/json_reader.h"
#include "proto/responses/sealed_text.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kRoles = {"user", "assistant", "system", "developer"};
constexpr std::string_view kStatuses = "in_progress, completed or incomplete";

std::string StringOf(const ordered_json& object, std::string_view name) {
  const ordered_json* value = FindField(object, name);
  return value == nullptr ? std::string() : value->get<std::string>();
}

ordered_json TextPart(std::string_view type, std::string text) {
  ordered_json part;
  part["type"] = type;
  part["text"] = std::move(text);
  if (type == "output_text") {
    part["annotations"] = ordered_json::array();
    part["logprobs"] = ordered_json::array();
  }
  return part;
}

// The head that items of every type share: id, if the client has sent one, type and status.
ApiResult<ordered_json> BeginItem(const ordered_json& item, std::string_view type,
                                  const std::string& path) {
  ordered_json result;
  WEFT_RETURN_IF_ERROR(CheckOptionalString(item, "id", path));
  if (const std::string id = StringOf(item, "id"); !id.empty()) result["id"] = id;
  result["type"] = type;
  WEFT_RETURN_IF_ERROR(CheckOptionalString(item, "status", path));
  const std::string status = StringOf(item, "status");
  if (status.empty()) {
    result["status"] = "completed";
  } else if (status == "in_progress" || status == "completed" || status == "incomplete") {
    result["status"] = status;
  } else {
    return RefuseValue(path + ".status", kStatuses, item["status"]);
  }
  return result;
}

// `text_type` is what text is called here; the other names that clients use for it are as good.
ApiResult<ordered_json> ReadPart(const ordered_json& part, const std::string& path,
                                 std::string_view text_type) {
  if (!part.is_object()) return RefuseValue(path, "an object", part);
  WEFT_RETURN_IF_ERROR(
      CheckRequiredString(part, "type", path, fmt::format("send \"{}\"", text_type)));
  const auto type = part["type"].get<std::string>();
  if (type == "input_text" || type == "output_text" || type == "text") {
    WEFT_RETURN_IF_ERROR(CheckRequiredString(part, "text", path, "a part with text has one"));
    return TextPart(text_type, part["text"].get<std::string>());
  }
  if (type == "refusal" && text_type == "output_text") {
    WEFT_RETURN_IF_ERROR(
        CheckRequiredString(part, "refusal", path, "a part of type refusal has one"));
    return ordered_json{{"type", "refusal"}, {"refusal", part["refusal"]}};
  }
  return RefuseUnsupportedValue(
      path + ".type",
      fmt::format("'{}.type' is '{}', but this server takes text only (input_text, output_text)",
                  path, type.substr(0, 60)));
}

// A string or an array of parts; the result is an array.
ApiResult<ordered_json> ReadParts(const ordered_json& item, std::string_view name,
                                  const std::string& item_path, std::string_view text_type) {
  const std::string path = fmt::format("{}.{}", item_path, name);
  const ordered_json* content = FindField(item, name);
  if (content == nullptr) return RefuseMissing(path, "send a string or an array of text parts");
  ordered_json parts = ordered_json::array();
  if (content->is_string()) {
    parts.push_back(TextPart(text_type, content->get<std::string>()));
    return parts;
  }
  if (!content->is_array()) return RefuseValue(path, "a string or an array of parts", *content);
  if (content->empty() && text_type == "input_text") {
    return RefuseValue(path, "a string or parts, at least one", *content);
  }
  for (size_t i = 0; i < content->size(); ++i) {
    ApiResult<ordered_json> part =
        ReadPart((*content)[i], fmt::format("{}[{}]", path, i), text_type);
    if (!part) return part;
    parts.push_back(*std::move(part));
  }
  return parts;
}

ApiResult<ordered_json> ReadMessage(const ordered_json& item, const std::string& path) {
  ApiResult<ordered_json> message = BeginItem(item, "message", path);
  if (!message) return message;
  WEFT_RETURN_IF_ERROR(
      CheckRequiredString(item, "role", path, "send user, assistant, system or developer"));
  const auto role = item["role"].get<std::string>();
  if (std::ranges::find(kRoles, role) == kRoles.end()) {
    return RefuseValue(path + ".role", "one of user, assistant, system and developer",
                       item["role"]);
  }
  (*message)["role"] = role;
  if (const ordered_json* phase = FindField(item, "phase")) {
    if (*phase != "commentary" && *phase != "final_answer") {
      return RefuseValue(path + ".phase", "\"commentary\" or \"final_answer\"", *phase);
    }
    (*message)["phase"] = *phase;
  }
  ApiResult<ordered_json> content =
      ReadParts(item, "content", path, role == "assistant" ? "output_text" : "input_text");
  if (!content) return content;
  (*message)["content"] = *std::move(content);
  return message;
}

// Of a function's, `content` is "arguments", of a custom tool's "input".
ApiResult<ordered_json> ReadCall(const ordered_json& item, std::string_view type,
                                 const char* content, const std::string& path) {
  ApiResult<ordered_json> call = BeginItem(item, type, path);
  if (!call) return call;
  WEFT_RETURN_IF_ERROR(CheckRequiredString(item, "call_id", path, "its output refers to it"));
  WEFT_RETURN_IF_ERROR(CheckRequiredString(item, "name", path, "it says what was called"));
  WEFT_RETURN_IF_ERROR(CheckRequiredString(item, content, path, "send it as text"));
  WEFT_RETURN_IF_ERROR(CheckOptionalString(item, "namespace", path));
  for (const char* const name : {"call_id", "namespace", "name", content}) {
    if (const ordered_json* value = FindField(item, name)) (*call)[name] = *value;
  }
  return call;
}

ApiResult<ordered_json> ReadCallOutput(const ordered_json& item, std::string_view type,
                                       const std::string& path) {
  ApiResult<ordered_json> output = BeginItem(item, type, path);
  if (!output) return output;
  WEFT_RETURN_IF_ERROR(CheckRequiredString(item, "call_id", path, "it says which call it answers"));
  (*output)["call_id"] = item["call_id"];
  if (const ordered_json* text = FindField(item, "output"); text != nullptr && text->is_string()) {
    (*output)["output"] = *text;
    return output;
  }
  ApiResult<ordered_json> parts = ReadParts(item, "output", path, "input_text");
  if (!parts) return parts;
  (*output)["output"] = *std::move(parts);
  return output;
}

// The texts of one list of a reasoning item; absent is empty.
ApiResult<ordered_json> ReadReasoningTexts(const ordered_json& item, std::string_view name,
                                           std::string_view type, const std::string& item_path) {
  ordered_json texts = ordered_json::array();
  const ordered_json* list = FindField(item, name);
  if (list == nullptr) return texts;
  const std::string path = fmt::format("{}.{}", item_path, name);
  if (!list->is_array()) return RefuseValue(path, "an array", *list);
  for (size_t i = 0; i < list->size(); ++i) {
    const ordered_json& part = (*list)[i];
    const std::string part_path = fmt::format("{}[{}]", path, i);
    if (!part.is_object()) return RefuseValue(part_path, "an object", part);
    WEFT_RETURN_IF_ERROR(
        CheckRequiredString(part, "type", part_path, fmt::format("send \"{}\"", type)));
    if (part["type"] != type) {
      return RefuseValue(part_path + ".type", fmt::format("\"{}\"", type), part["type"]);
    }
    WEFT_RETURN_IF_ERROR(CheckRequiredString(part, "text", part_path, "a part with text has one"));
    texts.push_back(TextPart(type, part["text"].get<std::string>()));
  }
  return texts;
}

ApiResult<ordered_json> ReadReasoning(const ordered_json& item, const std::string& path) {
  ApiResult<ordered_json> reasoning = BeginItem(item, "reasoning", path);
  if (!reasoning) return reasoning;
  ApiResult<ordered_json> summary = ReadReasoningTexts(item, "summary", "summary_text", path);
  if (!summary) return summary;
  ApiResult<ordered_json> content = ReadReasoningTexts(item, "content", "reasoning_text", path);
  if (!content) return content;
  // Clients that keep nothing else send the closed form back; what others have closed stays so.
  WEFT_RETURN_IF_ERROR(CheckOptionalString(item, "encrypted_content", path));
  if (content->empty() && item.contains("encrypted_content")) {
    if (auto text = UnsealText(StringOf(item, "encrypted_content"))) {
      content->push_back(TextPart("reasoning_text", *std::move(text)));
    }
  }
  (*reasoning)["summary"] = *std::move(summary);
  (*reasoning)["content"] = *std::move(content);
  return reasoning;
}

ApiResult<ordered_json> ReadCompaction(const ordered_json& item, const std::string& path) {
  ApiResult<ordered_json> compaction = BeginItem(item, "compaction", path);
  if (!compaction) return compaction;
  WEFT_RETURN_IF_ERROR(
      CheckRequiredString(item, "encrypted_content", path, "it is what was made of the items"));
  compaction->erase("status");
  (*compaction)["encrypted_content"] = item["encrypted_content"];
  if (UnsealText(StringOf(item, "encrypted_content"))) return compaction;
  const std::string content_path = path + ".encrypted_content";
  return tl::unexpected(InvalidField(
      content_path, fmt::format("'{}' is no compaction that this server has made", content_path)));
}

ApiResult<ordered_json> ReadReference(const ordered_json& item, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckRequiredString(item, "id", path, "it says which item is meant"));
  return ordered_json{{"type", "item_reference"}, {"id", item["id"]}};
}

ApiResult<ordered_json> ReadItem(const ordered_json& item, const std::string& path) {
  if (!item.is_object()) return RefuseValue(path, "an item (an object)", item);
  WEFT_RETURN_IF_ERROR(CheckOptionalString(item, "type", path));
  std::string type = StringOf(item, "type");
  if (type.empty()) type = item.contains("role") ? "message" : "item_reference";
  if (type == "message") return ReadMessage(item, path);
  if (type == "function_call") return ReadCall(item, type, "arguments", path);
  if (type == "custom_tool_call") return ReadCall(item, type, "input", path);
  if (type == "function_call_output" || type == "custom_tool_call_output") {
    return ReadCallOutput(item, type, path);
  }
  if (type == "reasoning") return ReadReasoning(item, path);
  if (type == "compaction") return ReadCompaction(item, path);
  if (type == "item_reference") return ReadReference(item, path);
  return RefuseUnsupportedValue(
      path + ".type",
      fmt::format("'{}.type' is '{}', but this server knows items of the types message, "
                  "function_call, function_call_output, custom_tool_call, "
                  "custom_tool_call_output, reasoning, compaction and item_reference only",
                  path, type.substr(0, 60)));
}

// A message or a call's output as a chat has its content: one text is a string, several are parts.
ordered_json ChatContentOf(const ordered_json& parts) {
  if (parts.is_string()) return parts;
  if (parts.empty()) return "";
  if (parts.size() == 1 && parts[0]["type"] != "refusal") return parts[0]["text"];
  ordered_json content = ordered_json::array();
  for (const ordered_json& part : parts) {
    if (part["type"] == "refusal") {
      content.push_back(part);
    } else {
      content.push_back({{"type", "text"}, {"text", part["text"]}});
    }
  }
  return content;
}

// What the model thought; of a summary alone, that.
std::string ReasoningOf(const ordered_json& item) {
  std::string text;
  const ordered_json& parts = item["content"].empty() ? item["summary"] : item["content"];
  for (const ordered_json& part : parts) {
    if (!text.empty()) text += '\n';
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

// Puts messages together, item by item.
class Conversation {
 public:
  explicit Conversation(const ResponseTools& tools) : tools_(tools) {}

  void Add(std::string_view role, ordered_json content) {
    messages_.push_back({{"role", role}, {"content", std::move(content)}});
    turn_is_open_ = false;
  }

  void AddReasoning(const ordered_json& item) {
    const std::string text = ReasoningOf(item);
    if (text.empty()) return;
    ordered_json& turn = Turn(false);
    std::string reasoning = turn.value("reasoning_content", std::string());
    if (!reasoning.empty()) reasoning += '\n';
    turn["reasoning_content"] = reasoning + text;
  }

  void AddAssistant(ordered_json content) { Turn(true)["content"] = std::move(content); }

  // The model's own words about what came before.
  void AddCompaction(const ordered_json& item) {
    const auto& sealed = item["encrypted_content"].get_ref<const std::string&>();
    Add("assistant",
        fmt::format("Summary of the conversation so far:\n\n{}", UnsealText(sealed).value_or("")));
  }

  void AddCall(const ordered_json& item) {
    const std::string name =
        HeardName(tools_, StringOf(item, "namespace"), item["name"].get<std::string>());
    names_[item["call_id"].get<std::string>()] = name;
    const ordered_json arguments =
        item["type"] == "custom_tool_call"
            ? ordered_json(DumpJson(ordered_json{{kCustomInput, item["input"]}}))
            : item["arguments"];
    Turn(false)["tool_calls"].push_back({{"id", item["call_id"]},
                                         {"type", "function"},
                                         {"function", {{"name", name}, {"arguments", arguments}}}});
  }

  // False: no call of that id.
  bool AddCallOutput(const ordered_json& item) {
    const auto name = names_.find(item["call_id"].get_ref<const std::string&>());
    if (name == names_.end()) return false;
    Add("tool", ChatContentOf(item["output"]));
    messages_.back()["tool_call_id"] = item["call_id"];
    messages_.back()["name"] = name->second;
    return true;
  }

  ordered_json Take() { return std::move(messages_); }

 private:
  // The assistant's message under way. Text begins another one where there is text or a call.
  ordered_json& Turn(bool for_text) {
    const bool continues =
        turn_is_open_ && !(for_text && (!messages_.back()["content"].is_null() ||
                                        messages_.back().contains("tool_calls")));
    if (!continues) messages_.push_back({{"role", "assistant"}, {"content", nullptr}});
    turn_is_open_ = true;
    return messages_.back();
  }

  const ResponseTools& tools_;
  ordered_json messages_ = ordered_json::array();
  bool turn_is_open_ = false;
  std::map<std::string, std::string, std::less<>> names_;  // of functions, by call
};

}  // namespace

ApiResult<void> CheckInputItems(ordered_json& input) {
  if (input.is_string()) {
    ordered_json message = {{"type", "message"}, {"role", "user"}, {"content", input}};
    input = ordered_json::array({std::move(message)});
  }
  if (!input.is_array()) return RefuseValue("input", "a string or an array of items", input);
  for (size_t i = 0; i < input.size(); ++i) {
    ApiResult<ordered_json> item = ReadItem(input[i], fmt::format("input[{}]", i));
    if (!item) return tl::unexpected(std::move(item).error());
    input[i] = *std::move(item);
  }
  return {};
}

ApiResult<ordered_json> MessagesOfItems(const std::vector<ordered_json>& items,
                                        size_t history_count,
                                        const std::optional<std::string>& instructions,
                                        const ResponseTools& tools) {
  Conversation conversation(tools);
  if (instructions) conversation.Add("system", *instructions);
  for (size_t i = 0; i < items.size(); ++i) {
    const ordered_json& item = items[i];
    const auto& type = item["type"].get_ref<const std::string&>();
    if (type == "reasoning") {
      conversation.AddReasoning(item);
    } else if (type == "function_call" || type == "custom_tool_call") {
      conversation.AddCall(item);
    } else if (type == "compaction") {
      conversation.AddCompaction(item);
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      if (conversation.AddCallOutput(item)) continue;
      const std::string path =
          fmt::format("input[{}].call_id", i < history_count ? 0 : i - history_count);
      return tl::unexpected(
          InvalidField(path, fmt::format("'{}' is {}, but no call before it has that call_id", path,
                                         DescribeJson(item["call_id"]))));
    } else if (item["role"] == "assistant") {
      conversation.AddAssistant(ChatContentOf(item["content"]));
    } else {
      conversation.Add(item["role"].get<std::string>(), ChatContentOf(item["content"]));
    }
  }
  ordered_json messages = conversation.Take();
  if (!messages.empty()) return messages;
  return tl::unexpected(InvalidField("input", "'input' must have at least one item"));
}

}  // namespace weft
