#include "proto/chat/chat_request.h"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/conversation_fields.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/left_out_images.h"
#include "proto/output_fields.h"
#include "proto/template_fields.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// What templates read, and what texts must be: the members keep their order.
constexpr auto kOrderedChatFields =
    JoinFields(std::to_array<std::string_view>({"messages", "tool_choice", "response_format"}),
               kSharedTemplateFields, kOutputFields);

constexpr auto kOtherChatFields = JoinFields(
    kSharedChatFields,
    std::to_array<std::string_view>(
        {"n", "max_tokens", "max_completion_tokens", "logprobs", "modalities", "reasoning_effort",
         "functions", "function_call", "timings", "timings_per_token", "return_progress",
         // Accepted, without effect.
         "metadata", "store", "prediction", "verbosity", "prompt_cache_options"}));

constexpr auto kUnsupportedChatFields = JoinFields(
    std::array{UnsupportedField{"audio", "null"}, UnsupportedField{"moderation", "null"},
               UnsupportedField{"web_search_options", "null"}},
    kSharedUnsupportedFields,
    std::array{UnsupportedField{"include_reasoning", "true"},
               UnsupportedField{"reasoning_format", "\"auto\""},
               UnsupportedField{"prompt_logprobs", "null"}, UnsupportedField{"suffix", "\"\""},
               UnsupportedField{"add_special_tokens", "false"}});

ApiResult<void> ReadConversation(ordered_json& fields, const RequestRules& rules,
                                 ChatRequest& request) {
  const auto messages = fields.find("messages");
  if (messages == fields.end() || messages->is_null()) {
    return RefuseMissing("messages", "send the conversation");
  }
  request.messages = std::move(*messages);
  if (rules.drops_images) LeaveOutImages(request.messages);
  WEFT_RETURN_IF_ERROR(CheckMessages(request.messages));
  const auto tools = fields.find("tools");
  if (tools != fields.end() && !tools->is_null()) {
    WEFT_RETURN_IF_ERROR(CheckTools(*tools));
    if (!tools->empty()) request.tools = std::move(*tools);
  }
  WEFT_RETURN_IF_ERROR(ReadDocuments(fields, request));
  return ReadTemplateVariables(fields, request);
}

tl::unexpected<ApiError> RefuseToolChoice(const ordered_json& choice) {
  return RefuseValue("tool_choice", "none, auto, required or an object that names a function",
                     choice);
}

// {"type":"allowed_tools","allowed_tools":{"mode":...,"tools":[...]}}
ApiResult<void> ReadAllowedChoice(const ordered_json& choice, ChatRequest& request) {
  const std::string path = "tool_choice.allowed_tools";
  const ordered_json* allowed = FindField(choice, "allowed_tools");
  if (allowed == nullptr) return RefuseMissing(path, "it says which tools may be called");
  if (!allowed->is_object()) return RefuseValue(path, "an object", *allowed);
  return ReadAllowedTools(*allowed, path, request);
}

// {"type":"function","function":{"name":...}}
ApiResult<void> ReadChatChoiceObject(const ordered_json& choice, ChatRequest& request) {
  if (!choice.is_object()) return RefuseToolChoice(choice);
  const ordered_json* type = FindField(choice, "type");
  if (type != nullptr && *type == "allowed_tools") return ReadAllowedChoice(choice, request);
  if (type == nullptr || *type != "function") {
    return tl::unexpected(UnsupportedParameter(
        "tool_choice.type",
        "'tool_choice.type' must be \"function\" or \"allowed_tools\"; this server knows no "
        "other"));
  }
  const ordered_json* function = FindField(choice, "function");
  const ordered_json* name =
      function != nullptr && function->is_object() ? FindField(*function, "name") : nullptr;
  if (name == nullptr || !name->is_string()) {
    return tl::unexpected(InvalidField("tool_choice.function.name",
                                       "'tool_choice.function.name' must be the name of a tool"));
  }
  request.tool_choice = {ToolChoiceKind::kFunction, name->get<std::string>()};
  return CheckToolExists(request, request.tool_choice.function, "tool_choice.function.name");
}

ApiResult<void> ReadChatToolChoice(const ordered_json& fields, ChatRequest& request) {
  if (!request.tools.is_null()) request.tool_choice.kind = ToolChoiceKind::kAuto;
  const ordered_json* choice = FindField(fields, "tool_choice");
  if (choice == nullptr) return {};
  if (choice->is_string()) {
    const auto mode = ToolModeOf(choice->get_ref<const std::string&>());
    if (!mode) return RefuseToolChoice(*choice);
    if (*mode != ToolChoiceKind::kAuto) request.tool_choice.kind = *mode;
    if (*mode != ToolChoiceKind::kRequired) return {};
  } else {
    WEFT_RETURN_IF_ERROR(ReadChatChoiceObject(*choice, request));
  }
  if (!request.tools.is_null()) return {};
  return RefuseCallWithoutTools();
}

ApiResult<void> ReadPromptShape(const json& body, ChatRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(body, "continue_final_message", request.continue_final_message));
  request.add_generation_prompt = !request.continue_final_message;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "add_generation_prompt", request.add_generation_prompt));
  if (!request.continue_final_message) return {};
  if (request.add_generation_prompt) {
    return tl::unexpected(InvalidField(
        "add_generation_prompt",
        "'add_generation_prompt' begins a new message and 'continue_final_message' goes on with "
        "the last; set one of them"));
  }
  const ordered_json& last = request.messages.back();
  if (last["role"] != "assistant" || last.contains("tool_calls")) {
    return tl::unexpected(InvalidField(
        "continue_final_message",
        "'continue_final_message' needs a last message of the assistant, without tool calls"));
  }
  if (request.tool_choice.kind == ToolChoiceKind::kRequired ||
      request.tool_choice.kind == ToolChoiceKind::kFunction) {
    return tl::unexpected(
        InvalidField("tool_choice",
                     "'tool_choice' asks for a call, but 'continue_final_message' for the rest "
                     "of the last message; leave one of them out"));
  }
  return {};
}

ApiResult<void> ReadChatLengths(const json& body, ChatRequest& request) {
  std::optional<int32_t> old_name;
  WEFT_RETURN_IF_ERROR(ReadMaxTokens(body, "max_completion_tokens", 1, request.max_tokens));
  WEFT_RETURN_IF_ERROR(ReadMaxTokens(body, "max_tokens", 1, old_name));
  if (request.max_tokens && old_name && *request.max_tokens != *old_name) {
    return tl::unexpected(InvalidField(
        "max_tokens", fmt::format("'max_tokens' is {} and 'max_completion_tokens' {}; they mean "
                                  "the same, send one",
                                  *old_name, *request.max_tokens)));
  }
  if (!request.max_tokens && old_name) {
    request.max_tokens = old_name;
    request.max_tokens_path = "max_tokens";
  }
  WEFT_RETURN_IF_ERROR(ReadSamplingFields(body, request.sampling));
  return CheckMinTokens(request);
}

ApiResult<void> ReadChatOutput(const json& body, ChatRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(body, "parallel_tool_calls", request.parallel_tool_calls));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "n", 1, kMaxChoices, request.n));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "logprobs", request.logprobs));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "top_logprobs", 0, kMaxTopLogprobs, request.top_logprobs));
  if (request.top_logprobs > 0 && !request.logprobs) {
    return tl::unexpected(InvalidField(
        "top_logprobs", "'top_logprobs' has a meaning only together with 'logprobs': true"));
  }
  WEFT_RETURN_IF_ERROR(ReadBool(body, "timings", request.timings));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "timings_per_token", request.timings));  // llama-server's
  WEFT_RETURN_IF_ERROR(ReadBool(body, "return_progress", request.returns_progress));
  return ReadStreamOptions(body, request);
}

ApiResult<void> CheckModalities(const json& body) {
  const json* modalities = FindField(body, "modalities");
  if (modalities == nullptr || *modalities == json::array({"text"})) return {};
  return tl::unexpected(UnsupportedParameter(
      "modalities", "'modalities' must be [\"text\"]; this server makes text only"));
}

ApiResult<void> RefuseOldTools(const json& body) {
  for (const std::string_view name : {"functions", "function_call"}) {
    if (FindField(body, name) == nullptr) continue;
    return tl::unexpected(UnsupportedParameter(
        std::string(name), fmt::format("'{}' is what tools have replaced; send '{}'", name,
                                       name == "functions" ? "tools" : "tool_choice")));
  }
  return {};
}

// Fields that have no effect here are still checked to be what they should be.
ApiResult<void> CheckUnusedFields(const json& body) {
  std::optional<std::string> text;
  for (const std::string_view name : {"user", "service_tier", "safety_identifier",
                                      "prompt_cache_key", "prompt_cache_retention"}) {
    WEFT_RETURN_IF_ERROR(ReadString(body, name, text));
  }
  bool flag = false;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "store", flag));
  if (const json* verbosity = FindField(body, "verbosity")) {
    if (*verbosity != "low" && *verbosity != "medium" && *verbosity != "high") {
      return RefuseValue("verbosity", "one of low, medium and high", *verbosity);
    }
  }
  for (const std::string_view name : {"metadata", "prediction", "prompt_cache_options"}) {
    WEFT_RETURN_IF_ERROR(CheckObject(body, name));
  }
  return {};
}

// OpenAI's search, which is a tool in other APIs.
void DropWebSearch(json& body, ChatRequest& request) {
  constexpr const char* kName = "web_search_options";
  const json* options = FindField(body, kName);
  if (options == nullptr || !options->is_object()) return;
  request.dropped_tools.emplace_back(kName);
  body.erase(kName);
}

ApiResult<void> ReadReasoningEffort(const json& body, ChatRequest& request) {
  std::optional<std::string> effort;
  WEFT_RETURN_IF_ERROR(ReadString(body, "reasoning_effort", effort));
  return effort ? SetReasoningEffort(*effort, "reasoning_effort", request) : ApiResult<void>();
}

ApiResult<void> ReadChatFields(const json& body, ChatRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_RETURN_IF_ERROR(RefuseOldTools(body));
  WEFT_RETURN_IF_ERROR(ReadPromptShape(body, request));
  WEFT_RETURN_IF_ERROR(CheckModalities(body));
  WEFT_RETURN_IF_ERROR(ReadChatOutput(body, request));
  WEFT_RETURN_IF_ERROR(ReadChatLengths(body, request));
  WEFT_RETURN_IF_ERROR(CheckUnusedFields(body));
  WEFT_RETURN_IF_ERROR(ReadReasoningEffort(body, request));
  return RefuseUnsupported(body, kUnsupportedChatFields);
}

}  // namespace

std::string ToolPaths::PlaceOf(size_t tool) const {
  return places.empty() ? fmt::format("tools[{}]", tool) : places[tool];
}

std::string ToolPaths::FunctionOf(size_t tool) const { return PlaceOf(tool) + function; }

ApiResult<ChatRequest> ParseChatRequest(std::string_view text, const RequestRules& rules) {
  ApiResult<ordered_json> parsed = ParseOrderedBody(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  return ReadChatRequest(*std::move(parsed), rules);
}

ApiResult<ChatRequest> ReadChatRequest(ordered_json body, const RequestRules& rules) {
  SplitBody fields =
      SplitFields(std::move(body), kOrderedChatFields, kOtherChatFields, kUnsupportedChatFields);
  ChatRequest request;
  request.sampling = rules.sampling;
  WEFT_RETURN_IF_ERROR(ReadConversation(fields.ordered, rules, request));
  WEFT_RETURN_IF_ERROR(ReadChatToolChoice(fields.ordered, request));
  const TypedFormat format{"response_format", FindField(fields.ordered, "response_format"), true};
  WEFT_RETURN_IF_ERROR(ReadOutputFields(fields.ordered, format, request));
  if (rules.drops_hosted_tools) DropWebSearch(fields.plain, request);
  WEFT_RETURN_IF_ERROR(ReadChatFields(fields.plain, request));
  AddTemplateDefaults(rules, request);
  request.unknown_field_count += fields.unknown_count;
  return request;
}

}  // namespace weft
