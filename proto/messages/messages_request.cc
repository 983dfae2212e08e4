#include "proto/messages/messages_request.h"

#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/conversation_fields.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/left_out_images.h"
#include "proto/messages/messages_blocks.h"
#include "proto/output_fields.h"
#include "proto/sampling_fields.h"
#include "proto/template_fields.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int32_t kLeastThinkingBudget = 1024;  // Anthropic's

// What templates read, and what texts must be: the members keep their order.
constexpr auto kOrderedMessageFields =
    JoinFields(std::to_array<std::string_view>({"messages", "system", "tools", "output_config",
                                                "output_format", "context_management"}),
               kOutputFields);

constexpr auto kOtherMessageFields = std::to_array<std::string_view>(
    {"model", "max_tokens", "stream", "stop_sequences", "stop", "tool_choice", "thinking", "thread",
     // Accepted, without effect.
     "metadata", "service_tier", "cache_control", "user_profile_id", "workspace_id", "speed",
     "diagnostics", "fallbacks", "fallback_credit_token", "billing_policy"});

constexpr std::array kUnsupportedMessageFields = {
    UnsupportedField{"container", "null"},
    UnsupportedField{"compaction", "null"},
    UnsupportedField{"inference_geo", "null"},
    UnsupportedField{"mcp_servers", "[]"},
    UnsupportedField{"response_format", "{\"type\":\"text\"}"},
    UnsupportedField{"chat_template_kwargs", "{}"},
};

// The member "type" of an object; empty: absent. Errors where it is no string.
ApiResult<std::string> TypeOf(const json& object, const std::string& path,
                              std::string_view expected) {
  if (!object.is_object()) return RefuseValue(path, "an object", object);
  const json* type = FindField(object, "type");
  if (type == nullptr || !type->is_string()) {
    return RefuseValue(path + ".type", expected, type == nullptr ? json() : *type);
  }
  return type->get<std::string>();
}

// {"type":"tool","name":...}
ApiResult<void> ReadNamedTool(const json& choice, ChatRequest& chat) {
  const json* name = FindField(choice, "name");
  if (name == nullptr || !name->is_string()) {
    return RefuseValue("tool_choice.name", "the name of a tool", name == nullptr ? json() : *name);
  }
  chat.tool_choice = {ToolChoiceKind::kFunction, name->get<std::string>()};
  return CheckToolExists(chat, chat.tool_choice.function, "tool_choice.name");
}

ApiResult<void> ReadAnthropicToolChoice(const json& body, ChatRequest& chat) {
  if (!chat.tools.is_null()) chat.tool_choice.kind = ToolChoiceKind::kAuto;
  const json* choice = FindField(body, "tool_choice");
  if (choice == nullptr) return {};
  constexpr std::string_view kTypes = "one of auto, any, tool and none";
  const ApiResult<std::string> type = TypeOf(*choice, "tool_choice", kTypes);
  if (!type) return tl::unexpected(type.error());
  bool one_at_most = false;
  WEFT_RETURN_IF_ERROR(ReadBool(*choice, "disable_parallel_tool_use", one_at_most, "tool_choice."));
  chat.parallel_tool_calls = !one_at_most;
  if (*type == "auto") return {};
  if (*type == "none") {
    chat.tool_choice.kind = ToolChoiceKind::kNone;
    return {};
  }
  if (*type != "any" && *type != "tool") {
    return RefuseValue("tool_choice.type", kTypes, (*choice)["type"]);
  }
  if (chat.tools.is_null()) {
    const bool names_dropped = *type == "tool" && !chat.dropped_tools.empty();
    return names_dropped ? ReadNamedTool(*choice, chat) : RefuseCallWithoutTools();
  }
  if (chat.continue_final_message) {
    return tl::unexpected(
        InvalidField("tool_choice",
                     "'tool_choice' asks for a call, but the last message, the assistant's, is to "
                     "be continued"));
  }
  if (*type == "tool") return ReadNamedTool(*choice, chat);
  chat.tool_choice.kind = ToolChoiceKind::kRequired;
  return {};
}

// How long a model thinks cannot be told to it, only whether it thinks at all.
ApiResult<void> ReadThinking(const json& body, MessagesRequest& request) {
  const json* thinking = FindField(body, "thinking");
  if (thinking == nullptr) return {};
  constexpr std::string_view kTypes = "one of enabled, disabled and adaptive";
  const ApiResult<std::string> type = TypeOf(*thinking, "thinking", kTypes);
  if (!type) return tl::unexpected(type.error());
  if (*type != "enabled" && *type != "disabled" && *type != "adaptive") {
    return RefuseValue("thinking.type", kTypes, (*thinking)["type"]);
  }
  request.chat.template_variables["enable_thinking"] = *type != "disabled";
  if (const json* display = FindField(*thinking, "display")) {
    if (*display != "summarized" && *display != "omitted" && *display != "updates") {
      return RefuseValue("thinking.display", "one of summarized, omitted and updates", *display);
    }
    request.omits_thinking = *display == "omitted";
  }
  if (*type != "enabled") return {};
  const json* budget = FindField(*thinking, "budget_tokens");
  if (budget == nullptr) {
    return RefuseMissing("thinking.budget_tokens", "thinking of type enabled has one");
  }
  int32_t budget_tokens = 0;
  WEFT_RETURN_IF_ERROR(CheckInteger(*budget, "thinking.budget_tokens", kLeastThinkingBudget,
                                    kMaxInt32, budget_tokens));
  const std::optional<int32_t>& max_tokens = request.chat.max_tokens;
  if (!max_tokens || budget_tokens < *max_tokens) return {};
  return tl::unexpected(InvalidField(
      "thinking.budget_tokens",
      fmt::format("'thinking.budget_tokens' is {}, but must be less than 'max_tokens' ({})",
                  budget_tokens, *max_tokens)));
}

// {"format":{"type":"json_schema","schema":...}}; `output_format` is that format's older place.
ApiResult<void> ReadOutputConfig(ordered_json& fields, ChatRequest& chat) {
  TypedFormat format{"output_format", FindField(fields, "output_format")};
  ordered_json* config = FindField(fields, "output_config");
  if (config == nullptr) return ReadOutputFields(fields, format, chat);
  if (!config->is_object()) return RefuseValue("output_config", "an object", *config);
  if (ordered_json* newer = FindField(*config, "format")) {
    if (format.value != nullptr) {
      return tl::unexpected(InvalidField(
          "output_format",
          "'output_format' is what 'output_config.format' has replaced; send one of them"));
    }
    format = {"output_config.format", newer};
  }
  WEFT_RETURN_IF_ERROR(ReadOutputFields(fields, format, chat));
  const ordered_json* effort = FindField(*config, "effort");
  if (effort == nullptr) return {};
  if (!effort->is_string()) return RefuseValue("output_config.effort", "a string", *effort);
  return SetReasoningEffort(effort->get<std::string>(), "output_config.effort", chat);
}

ApiResult<void> ReadStopSequences(const json& body, SamplingFields& sampling) {
  if (FindField(body, "stop") != nullptr) {
    return tl::unexpected(
        UnsupportedParameter("stop", "'stop' is called 'stop_sequences' here; send that"));
  }
  const json* list = FindField(body, "stop_sequences");
  if (list == nullptr) return {};
  const auto expected = fmt::format("an array of at most {} strings", kMaxStopStrings);
  if (!list->is_array() || list->size() > kMaxStopStrings) {
    return RefuseValue("stop_sequences", expected, *list);
  }
  sampling.stop.clear();
  for (const json& element : *list) {
    const bool valid = element.is_string() && !element.get_ref<const std::string&>().empty() &&
                       element.get_ref<const std::string&>().size() <= kMaxStopStringBytes;
    if (!valid) {
      return RefuseValue(fmt::format("stop_sequences[{}]", sampling.stop.size()),
                         fmt::format("a string of 1 to {} bytes", kMaxStopStringBytes), element);
    }
    sampling.stop.push_back(element.get<std::string>());
  }
  return {};
}

ApiResult<void> ReadSampling(const json& body, ChatRequest& chat) {
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "temperature", 0, 1, chat.sampling.temperature));
  WEFT_RETURN_IF_ERROR(ReadSamplingFields(body, chat.sampling));
  WEFT_RETURN_IF_ERROR(ReadStopSequences(body, chat.sampling));
  return CheckMinTokens(chat, "max_tokens");
}

// A conversation that Anthropic's servers keep. Clients that read the code send all of it instead.
ApiResult<void> RefuseThread(const json& body) {
  if (FindField(body, "thread") == nullptr) return {};
  ApiError error = UnsupportedParameter(
      "thread", "'thread' is not supported by this server, which keeps no messages; send them all");
  error.code = "thread_unsupported_request";
  return tl::unexpected(std::move(error));
}

// Fields that have no effect here are still checked to be what they should be.
ApiResult<void> CheckFieldsWithoutEffect(const json& body) {
  std::optional<std::string> text;
  for (const std::string_view name : {"service_tier", "user_profile_id", "workspace_id", "speed"}) {
    WEFT_RETURN_IF_ERROR(ReadString(body, name, text));
  }
  for (const std::string_view name : {"metadata", "cache_control", "diagnostics"}) {
    WEFT_RETURN_IF_ERROR(CheckObject(body, name));
  }
  return {};
}

ApiResult<void> ReadPlainFields(const json& body, MessagesRequest& request) {
  ChatRequest& chat = request.chat;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", chat.model));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "max_tokens", 1, kMaxInt32, chat.max_tokens));
  WEFT_RETURN_IF_ERROR(ReadAnthropicToolChoice(body, chat));
  WEFT_RETURN_IF_ERROR(ReadThinking(body, request));
  WEFT_RETURN_IF_ERROR(ReadSampling(body, chat));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "stream", chat.stream));
  WEFT_RETURN_IF_ERROR(CheckFieldsWithoutEffect(body));
  WEFT_RETURN_IF_ERROR(RefuseThread(body));
  return RefuseUnsupported(body, kUnsupportedMessageFields);
}

// A conversation that ends with the assistant's words is to be continued there.
ApiResult<void> SetEnd(const ordered_json& messages, ChatRequest& chat) {
  const ordered_json& last = chat.messages.back();
  if (last["role"] != "assistant") return {};
  const std::string path = fmt::format("messages[{}]", messages.size() - 1);
  if (last.contains("tool_calls")) {
    return tl::unexpected(
        InvalidField(path, fmt::format("'{}' ends with a block of type tool_use; the next message "
                                       "must have its tool_result",
                                       path)));
  }
  chat.continue_final_message = true;
  chat.add_generation_prompt = false;
  return {};
}

ApiResult<void> ReadTemplateFields(ordered_json& fields, const RequestRules& rules,
                                   ChatRequest& chat) {
  ordered_json* messages = FindField(fields, "messages");
  if (messages == nullptr) return RefuseMissing("messages", "send the conversation");
  if (rules.drops_images) LeaveOutImages(*messages);
  ApiResult<ordered_json> conversation =
      ReadAnthropicMessages(FindField(fields, "system"), *messages);
  if (!conversation) return tl::unexpected(std::move(conversation).error());
  chat.messages = *std::move(conversation);
  if (chat.messages.empty()) {
    return tl::unexpected(InvalidField("messages", "'messages' has nothing that a model can read"));
  }
  WEFT_RETURN_IF_ERROR(SetEnd(*messages, chat));
  const ordered_json* tools = FindField(fields, "tools");
  return tools == nullptr ? ApiResult<void>() : ReadAnthropicTools(*tools, rules, chat);
}

}  // namespace

ApiResult<MessagesRequest> ParseCountTokensRequest(std::string_view text,
                                                   const RequestRules& rules) {
  ApiResult<ordered_json> body = ParseOrderedBody(text);
  if (!body) return tl::unexpected(std::move(body).error());
  SplitBody fields = SplitFields(*std::move(body), kOrderedMessageFields, kOtherMessageFields,
                                 kUnsupportedMessageFields);
  MessagesRequest request;
  request.chat.max_tokens_path = "max_tokens";
  request.chat.tool_paths.function.clear();
  request.chat.tool_paths.parameters = "input_schema";
  request.chat.sampling = rules.sampling;
  WEFT_RETURN_IF_ERROR(ReadTemplateFields(fields.ordered, rules, request.chat));
  WEFT_RETURN_IF_ERROR(ReadOutputConfig(fields.ordered, request.chat));
  if (const ordered_json* management = FindField(fields.ordered, "context_management")) {
    WEFT_ASSIGN_OR_RETURN(request.edits, ReadContextManagement(*management));
  }
  WEFT_RETURN_IF_ERROR(ReadPlainFields(fields.plain, request));
  AddTemplateDefaults(rules, request.chat);
  request.chat.unknown_field_count = fields.unknown_count;
  return request;
}

ApiResult<MessagesRequest> ParseMessagesRequest(std::string_view text, const RequestRules& rules) {
  ApiResult<MessagesRequest> request = ParseCountTokensRequest(text, rules);
  if (!request || request->chat.max_tokens) return request;
  return RefuseMissing("max_tokens", "it says how long the answer may be");
}

}  // namespace weft
