#include "proto/responses/responses_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "proto/conversation_fields.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/left_out_images.h"
#include "proto/metadata_field.h"
#include "proto/output_fields.h"
#include "proto/responses/response_items.h"
#include "proto/template_fields.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The fields that templates read, or that the answer repeats: their members keep their order.
constexpr auto kOrderedResponseFields =
    JoinFields(std::to_array<std::string_view>({"input", "tool_choice", "metadata", "text"}),
               kSharedTemplateFields, kOutputFields);

constexpr auto kOtherResponseFields = JoinFields(
    kSharedChatFields,
    std::to_array<std::string_view>({"instructions", "previous_response_id", "store", "background",
                                     "include", "max_output_tokens", "max_tool_calls", "reasoning",
                                     "truncation", "client_metadata"}));

constexpr auto kUnsupportedResponseFields = JoinFields(
    std::array{
        UnsupportedField{"conversation", "null"},
        UnsupportedField{"prompt", "null"},  // a template stored elsewhere
        UnsupportedField{"context_management", "null"},
        UnsupportedField{"moderation", "null"},
        UnsupportedField{"response_format", "{\"type\":\"text\"}"},
        UnsupportedField{"max_tokens", "null"},  // max_output_tokens here
        UnsupportedField{"max_completion_tokens", "null"},
        UnsupportedField{"n", "1"},
        UnsupportedField{"logprobs", "false"},
    },
    kSharedUnsupportedFields, std::array{UnsupportedField{"add_special_tokens", "false"}});

// What `include` can ask for. All but the first two are about items that do not exist here.
constexpr std::string_view kLogprobs = "message.output_text.logprobs";
constexpr std::string_view kEncryptedReasoning = "reasoning.encrypted_content";
constexpr std::array<std::string_view, 9> kIncludable = {kLogprobs,
                                                         kEncryptedReasoning,
                                                         "message.input_image.image_url",
                                                         "file_search_call.results",
                                                         "web_search_call.results",
                                                         "web_search_call.action.sources",
                                                         "code_interpreter_call.outputs",
                                                         "computer_call_output.output.image_url",
                                                         "computer_call.output.image_url"};

bool IsOneOf(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

ordered_json OrNull(const auto& value) { return value ? ordered_json(*value) : ordered_json(); }

ApiResult<void> ReadInput(ordered_json& fields, const RequestRules& rules,
                          ResponsesRequest& request) {
  const auto input = fields.find("input");
  if (input != fields.end() && !input->is_null()) {
    request.input = std::move(*input);
    if (rules.drops_images) LeaveOutImages(request.input);
    return CheckInputItems(request.input);
  }
  return RefuseMissing("input", "send a string or an array of items");
}

ApiResult<void> ReadTools(const ordered_json& fields, const RequestRules& rules,
                          ResponsesRequest& request) {
  request.echo["tools"] = ordered_json::array();
  const auto tools = fields.find("tools");
  if (tools == fields.end() || tools->is_null()) return {};
  ApiResult<ResponseToolList> list = ReadResponseTools(*tools, rules, request.chat);
  if (!list) return tl::unexpected(std::move(list).error());
  request.echo["tools"] = std::move(list->echo);
  request.tools = std::move(list->tools);
  return {};
}

ApiResult<void> ReadToolChoice(const ordered_json& fields, ResponsesRequest& request) {
  ChatRequest& chat = request.chat;
  const auto found = fields.find("tool_choice");
  const ordered_json choice =
      found == fields.end() || found->is_null() ? ordered_json("auto") : *found;
  request.echo["tool_choice"] = choice;
  if (choice.is_object()) {
    WEFT_RETURN_IF_ERROR(ReadResponseToolChoice(choice, request.tools, chat));
  } else {
    const ApiResult<ToolChoiceKind> kind = ReadToolMode(choice, "tool_choice");
    if (!kind) return tl::unexpected(kind.error());
    chat.tool_choice.kind = *kind;
  }
  if (!chat.tools.is_null()) return {};
  if (chat.tool_choice.kind == ToolChoiceKind::kRequired) return RefuseCallWithoutTools();
  chat.tool_choice.kind = ToolChoiceKind::kNone;
  return {};
}

ApiResult<void> ReadMetadata(const ordered_json& fields, ResponsesRequest& request) {
  ordered_json& echo = request.echo["metadata"] = ordered_json::object();
  const auto metadata = fields.find("metadata");
  if (metadata == fields.end() || metadata->is_null()) return {};
  WEFT_RETURN_IF_ERROR(CheckMetadata(*metadata));
  echo = *metadata;
  return {};
}

ApiResult<void> ReadInclude(const json& body, ResponsesRequest& request) {
  const json* include = FindField(body, "include");
  if (include == nullptr) return {};
  if (!include->is_array()) return RefuseValue("include", "an array of strings", *include);
  for (size_t i = 0; i < include->size(); ++i) {
    const json& name = (*include)[i];
    if (!name.is_string() || !IsOneOf(name.get_ref<const std::string&>(), kIncludable)) {
      return RefuseValue(fmt::format("include[{}]", i),
                         fmt::format("one of {}", fmt::join(kIncludable, ", ")), name);
    }
    if (name == kLogprobs) request.chat.logprobs = true;
    if (name == kEncryptedReasoning) request.seals_reasoning = true;
  }
  return {};
}

// A string among `values`, at `object.name`; null if absent.
template <typename Json>
ApiResult<json> ReadEnum(const Json& object, std::string_view name, const std::string& path,
                         std::initializer_list<std::string_view> values) {
  const Json* value = FindField(object, name);
  if (value == nullptr) return json();
  if (value->is_string()) {
    const auto& text = value->template get_ref<const std::string&>();
    if (IsOneOf(text, values)) return json(text);
  }
  return RefuseValue(path, fmt::format("one of {}", fmt::join(values, ", ")), *value);
}

ApiResult<void> ReadReasoningOptions(const json& body, ResponsesRequest& request) {
  ordered_json& echo = request.echo["reasoning"] = {{"effort", nullptr}, {"summary", nullptr}};
  const json* reasoning = FindField(body, "reasoning");
  if (reasoning == nullptr) return {};
  if (!reasoning->is_object()) return RefuseValue("reasoning", "an object", *reasoning);
  const ApiResult<json> effort =
      ReadEnum(*reasoning, "effort", "reasoning.effort",
               {"none", "minimal", "low", "medium", "high", "xhigh", "max"});
  if (!effort) return tl::unexpected(effort.error());
  for (const std::string_view name : {"generate_summary", "summary"}) {
    const ApiResult<json> summary = ReadEnum(*reasoning, name, fmt::format("reasoning.{}", name),
                                             {"auto", "concise", "detailed"});
    if (!summary) return tl::unexpected(summary.error());
    if (!summary->is_null()) echo["summary"] = *summary;
  }
  if (effort->is_null()) return {};
  echo["effort"] = *effort;
  WEFT_RETURN_IF_ERROR(
      SetReasoningEffort(effort->get_ref<const std::string&>(), "reasoning.effort", request.chat));
  ordered_json& variables = request.chat.template_variables;
  if (*effort == "none" && !variables.contains("enable_thinking")) {
    variables["enable_thinking"] = false;
  }
  return {};
}

// What the answer says about the format, whose schema is `output`'s now: null for what the request
// does not.
ordered_json RepeatedFormat(const ordered_json& format, const OutputFormat& output) {
  ordered_json repeated = {{"type", format["type"]}};
  if (format["type"] != "json_schema") return repeated;
  for (const char* const name : {"name", "description", "schema", "strict"}) {
    const ordered_json* value = FindField(format, name);
    repeated[name] = value == nullptr ? ordered_json() : *value;
  }
  repeated["schema"] = output.schema;
  return repeated;
}

ApiResult<void> ReadTextOptions(ordered_json& fields, ResponsesRequest& request) {
  ordered_json& echo = request.echo["text"];
  echo = {{"format", {{"type", "text"}}}, {"verbosity", "medium"}};
  ordered_json* text = FindField(fields, "text");
  TypedFormat format{"text.format"};
  if (text == nullptr) return ReadOutputFields(fields, format, request.chat);
  if (!text->is_object()) return RefuseValue("text", "an object", *text);
  const ApiResult<json> verbosity =
      ReadEnum(*text, "verbosity", "text.verbosity", {"low", "medium", "high"});
  if (!verbosity) return tl::unexpected(verbosity.error());
  if (!verbosity->is_null()) echo["verbosity"] = *verbosity;
  format.value = FindField(*text, "format");
  WEFT_RETURN_IF_ERROR(ReadOutputFields(fields, format, request.chat));
  if (format.value != nullptr) echo["format"] = RepeatedFormat(*format.value, request.chat.output);
  return {};
}

ApiResult<void> ReadTruncationStrategy(const json& body, ResponsesRequest& request) {
  const ApiResult<json> truncation =
      ReadEnum(body, "truncation", "truncation", {"auto", "disabled"});
  if (!truncation) return tl::unexpected(truncation.error());
  request.truncates = *truncation == "auto";
  request.echo["truncation"] = request.truncates ? "auto" : "disabled";
  return {};
}

ApiResult<void> ReadStreamFields(const json& body, ChatRequest& chat) {
  const ApiResult<const json*> options = ReadStream(body, chat);
  if (!options) return tl::unexpected(options.error());
  if (*options == nullptr) return {};
  bool obfuscation = false;  // nothing is obfuscated
  return ReadBool(**options, "include_obfuscation", obfuscation, "stream_options.");
}

ApiResult<void> ReadStorage(const json& body, ResponsesRequest& request) {
  bool store = true;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "store", store));
  if (FindField(body, "store") != nullptr) request.store = store;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "background", request.background));
  if (request.background && !store) {
    return tl::unexpected(InvalidField(
        "background", "'background' needs 'store': the answer could not be fetched otherwise"));
  }
  if (request.background && request.chat.stream) {
    return tl::unexpected(UnsupportedParameter(
        "stream",
        "'stream' is not supported together with 'background': the events of a "
        "response are not kept; fetch it by its id"));
  }
  WEFT_RETURN_IF_ERROR(ReadString(body, "previous_response_id", request.previous_response_id));
  request.echo["background"] = request.background;
  request.echo["previous_response_id"] = OrNull(request.previous_response_id);
  return {};
}

ApiResult<void> ReadSampling(const json& body, ResponsesRequest& request) {
  ChatRequest& chat = request.chat;
  WEFT_RETURN_IF_ERROR(ReadMaxTokens(body, "max_output_tokens", 1, chat.max_tokens));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "top_logprobs", 0, kMaxTopLogprobs, chat.top_logprobs));
  if (chat.top_logprobs > 0) chat.logprobs = true;
  WEFT_RETURN_IF_ERROR(ReadSamplingFields(body, chat.sampling));
  WEFT_RETURN_IF_ERROR(CheckMinTokens(chat));
  std::optional<int32_t> max_tool_calls;  // of tools that the server runs: it has none
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "max_tool_calls", 1, kMaxInt32, max_tool_calls));
  ordered_json& echo = request.echo;
  echo["max_output_tokens"] = OrNull(chat.max_tokens);
  echo["max_tool_calls"] = OrNull(max_tool_calls);
  echo["temperature"] = chat.sampling.temperature;
  echo["top_p"] = chat.sampling.top_p;
  echo["top_logprobs"] = chat.top_logprobs;
  echo["presence_penalty"] = chat.sampling.presence_penalty;
  echo["frequency_penalty"] = chat.sampling.frequency_penalty;
  return {};
}

// Fields that have no effect here are still checked to be what they should be.
ApiResult<void> ReadLabels(const json& body, ResponsesRequest& request) {
  std::optional<std::string> unused;
  for (const std::string_view name : {"service_tier", "prompt_cache_retention"}) {
    WEFT_RETURN_IF_ERROR(ReadString(body, name, unused));
  }
  if (const json* metadata = FindField(body, "client_metadata");
      metadata != nullptr && !metadata->is_object()) {
    return RefuseValue("client_metadata", "an object", *metadata);
  }
  request.echo["service_tier"] = "default";
  for (const std::string_view name : {"user", "safety_identifier", "prompt_cache_key"}) {
    std::optional<std::string> text;
    WEFT_RETURN_IF_ERROR(ReadString(body, name, text));
    request.echo[std::string(name)] = OrNull(text);
  }
  return {};
}

// Continuing a message is a chat's.
ApiResult<void> RefusePromptShapes(const json& body) {
  bool generates = true;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "add_generation_prompt", generates));
  bool continues = false;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "continue_final_message", continues));
  if (generates && !continues) return {};
  const std::string name = continues ? "continue_final_message" : "add_generation_prompt";
  return tl::unexpected(UnsupportedParameter(
      name, fmt::format("'{}' belongs to /v1/chat/completions; leave it out", name)));
}

ApiResult<void> ReadResponseFields(const json& body, ResponsesRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.chat.model));
  WEFT_RETURN_IF_ERROR(ReadString(body, "instructions", request.instructions));
  request.echo["instructions"] = OrNull(request.instructions);
  WEFT_RETURN_IF_ERROR(ReadBool(body, "parallel_tool_calls", request.chat.parallel_tool_calls));
  request.echo["parallel_tool_calls"] = request.chat.parallel_tool_calls;
  WEFT_RETURN_IF_ERROR(ReadInclude(body, request));
  WEFT_RETURN_IF_ERROR(ReadReasoningOptions(body, request));
  WEFT_RETURN_IF_ERROR(ReadTruncationStrategy(body, request));
  WEFT_RETURN_IF_ERROR(ReadStreamFields(body, request.chat));
  WEFT_RETURN_IF_ERROR(ReadStorage(body, request));
  WEFT_RETURN_IF_ERROR(ReadSampling(body, request));
  WEFT_RETURN_IF_ERROR(ReadLabels(body, request));
  WEFT_RETURN_IF_ERROR(RefusePromptShapes(body));
  return RefuseUnsupported(body, kUnsupportedResponseFields);
}

}  // namespace

ApiResult<ResponsesRequest> ParseResponsesRequest(std::string_view text,
                                                  const RequestRules& rules) {
  ApiResult<ordered_json> parsed = ParseOrderedBody(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  return ReadResponsesRequest(*std::move(parsed), rules);
}

ApiResult<ResponsesRequest> ParseSocketRequest(std::string_view message,
                                               const RequestRules& rules) {
  ApiResult<ordered_json> body = ParseOrderedBody(message);
  if (!body) return tl::unexpected(std::move(body).error());
  const ordered_json* const type = FindField(*body, "type");
  if (type == nullptr) return RefuseMissing("type", "send \"response.create\"");
  if (*type != "response.create") {
    return RefuseUnsupportedValue(
        "type", fmt::format("'type' is {}, but this server takes messages of the type "
                            "\"response.create\" only",
                            DescribeJson(*type)));
  }
  // Responses of one connection come one after another, each as a stream.
  for (const char* const name : {"background", "stream_id"}) {
    if (const ordered_json* value = FindField(*body, name); value != nullptr && *value != false) {
      return tl::unexpected(
          UnsupportedParameter(name, fmt::format("'{}' is not supported over a WebSocket", name)));
    }
  }
  bool generates = true;
  WEFT_RETURN_IF_ERROR(ReadBool(*body, "generate", generates));
  for (const char* const name : {"type", "background", "stream_id", "generate"}) body->erase(name);
  (*body)["stream"] = true;
  ApiResult<ResponsesRequest> request = ReadResponsesRequest(*std::move(body), rules);
  if (request) request->generates = generates;
  return request;
}

ApiResult<ResponsesRequest> ReadResponsesRequest(ordered_json body, const RequestRules& rules) {
  SplitBody split = SplitFields(std::move(body), kOrderedResponseFields, kOtherResponseFields,
                                kUnsupportedResponseFields);
  ordered_json& fields = split.ordered;
  ResponsesRequest request;
  request.chat.sampling = rules.sampling;
  request.chat.messages_path = "input";
  request.chat.max_tokens_path = "max_output_tokens";
  request.chat.tool_paths.function.clear();
  WEFT_RETURN_IF_ERROR(ReadInput(fields, rules, request));
  WEFT_RETURN_IF_ERROR(ReadTools(fields, rules, request));
  WEFT_RETURN_IF_ERROR(ReadToolChoice(fields, request));
  WEFT_RETURN_IF_ERROR(ReadMetadata(fields, request));
  WEFT_RETURN_IF_ERROR(ReadTextOptions(fields, request));
  WEFT_RETURN_IF_ERROR(ReadDocuments(fields, request.chat));
  WEFT_RETURN_IF_ERROR(ReadTemplateVariables(fields, request.chat));
  WEFT_RETURN_IF_ERROR(ReadResponseFields(split.plain, request));
  AddTemplateDefaults(rules, request.chat);
  request.chat.unknown_field_count = split.unknown_count;
  return request;
}

}  // namespace weft
