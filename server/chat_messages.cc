#include "server/chat_messages.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "server/chat_format.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// The text of content in any shape.
std::string JoinedText(const ordered_json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const ordered_json& part : content) {
    if (&part != &content.front()) text += '\n';
    text += part.value(part["type"] == "refusal" ? "refusal" : "text", std::string());
  }
  return text;
}

ordered_json AsParts(std::string text) {
  return ordered_json::array({{{"type", "text"}, {"text", std::move(text)}}});
}

void ShapeContent(const ChatTemplateTraits& traits, ordered_json& message) {
  ordered_json& content = message["content"];  // null where it was absent
  if (content.is_null()) {
    if (!traits.takes_null_content) content = "";
  } else if (traits.wants_parts) {
    if (content.is_string()) content = AsParts(content.get<std::string>());
  } else if (content.is_array()) {
    content = JoinedText(content);
  }
}

// Arguments that are no JSON object stay the text they are.
void ShapeArguments(const ChatTemplateTraits& traits, ordered_json& function) {
  ordered_json& arguments = function["arguments"];
  if (arguments.is_null()) arguments = ordered_json::object();
  if (traits.wants_json_text) {
    if (arguments.is_object()) arguments = arguments.dump();
    return;
  }
  if (!arguments.is_string()) return;
  const auto& text = arguments.get_ref<const std::string&>();
  ordered_json object =
      text.empty() ? ordered_json::object() : ordered_json::parse(text, nullptr, false);
  if (object.is_object()) arguments = std::move(object);
}

// {"name": ..., "arguments": ...}, as DescribeTools asks for it.
std::string CallText(const ordered_json& function) {
  const ordered_json& arguments = function["arguments"];
  return fmt::format(R"({{"name": {}, "arguments": {}}})", function["name"].dump(),
                     arguments.is_string() ? arguments.get<std::string>() : arguments.dump());
}

// Calls become the text that made them, and what a tool answered becomes a user's message; answers
// that follow one another become one.
void SpellOutTools(ordered_json& messages) {
  ordered_json spelled = ordered_json::array();
  bool follows_answer = false;
  for (ordered_json& message : messages) {
    const bool is_answer = message["role"] == "tool";
    if (is_answer) {
      const std::string text =
          fmt::format("<tool_response>\n{}\n</tool_response>", JoinedText(message["content"]));
      if (follows_answer) {
        spelled.back()["content"] = JoinedText(spelled.back()["content"]) + "\n" + text;
      } else {
        spelled.push_back({{"role", "user"}, {"content", text}});
      }
    } else {
      if (message.contains("tool_calls")) {
        std::string text = JoinedText(message["content"]);
        for (const ordered_json& call : message["tool_calls"]) {
          text += (text.empty() ? "" : "\n") + CallText(call["function"]);
        }
        message["content"] = std::move(text);
        message.erase("tool_calls");
      }
      spelled.push_back(std::move(message));
    }
    follows_answer = is_answer;
  }
  messages = std::move(spelled);
}

}  // namespace

void ShapeMessages(const ChatTemplateTraits& traits, ordered_json& messages) {
  for (ordered_json& message : messages) {
    if (message["role"] == "developer" && !traits.takes_developer) message["role"] = "system";
    // gpt-oss's templates know reasoning by another name.
    if (message.contains("reasoning_content") && !message.contains("thinking")) {
      message["thinking"] = message["reasoning_content"];
    }
    if (!message.contains("tool_calls")) continue;
    for (ordered_json& call : message["tool_calls"]) {
      if (!call.contains("type")) call["type"] = "function";
      ShapeArguments(traits, call["function"]);
    }
  }
  if (!traits.lists_tools) SpellOutTools(messages);
  for (ordered_json& message : messages) ShapeContent(traits, message);
}

void DescribeTools(const ChatTemplateTraits& traits, const ordered_json& tools,
                   ordered_json& messages) {
  std::string text =
      "You may call functions. To call one, reply with nothing but JSON:\n"
      "{\"name\": <function-name>, \"arguments\": <args-json-object>}\nThe functions are:";
  for (const ordered_json& tool : tools) text += "\n" + tool.dump();
  ordered_json& first = messages.front();
  if (first["role"] == "system" || !traits.takes_system) {
    const std::string own = JoinedText(first["content"]);
    text = first["role"] == "system" ? own + "\n\n" + text : text + "\n\n" + own;
    first["content"] =
        traits.wants_parts ? AsParts(std::move(text)) : ordered_json(std::move(text));
  } else {
    ordered_json system = {{"role", "system"}};
    system["content"] =
        traits.wants_parts ? AsParts(std::move(text)) : ordered_json(std::move(text));
    messages.insert(messages.begin(), std::move(system));
  }
}

}  // namespace weft
