#include "proto/ollama/ollama_request.h"

#include <array>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/conversation_fields.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/ollama/ollama_fields.h"
#include "proto/ollama/ollama_messages.h"
#include "proto/prompt_reader.h"
#include "proto/template_fields.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Members keep their order: templates print them, and texts must have it.
constexpr auto kOrderedOllamaFields =
    std::to_array<std::string_view>({"messages", "tools", "format"});

constexpr auto kSharedOllamaFields = std::to_array<std::string_view>(
    {"model", "stream", "options", "think", "keep_alive", "logprobs", "top_logprobs",
     // Accepted, without effect.
     "truncate", "shift"});
constexpr auto kOllamaGenerateFields = JoinFields(
    kSharedOllamaFields, std::to_array<std::string_view>({"prompt", "system", "suffix", "raw"}));
constexpr std::array kUnsupportedGenerateFields = {UnsupportedField{"images", "[]"},
                                                   UnsupportedField{"template", "\"\""},
                                                   UnsupportedField{"context", "[]"}};

constexpr auto kOllamaEmbedFields = std::to_array<std::string_view>(
    {"model", "input", "truncate", "dimensions", "options", "keep_alive"});
constexpr auto kOllamaEmbeddingsFields =
    std::to_array<std::string_view>({"model", "prompt", "options", "keep_alive"});
constexpr auto kOllamaShowFields = std::to_array<std::string_view>({"model", "name", "verbose"});

// "json", a schema, or nothing ("").
ApiResult<void> ReadFormat(ordered_json& fields, OutputFormat& output) {
  ordered_json* format = FindField(fields, "format");
  if (format == nullptr || IsEmptyText(*format)) return {};
  output.path = "format";
  if (*format == "json") {
    output.kind = OutputKind::kJsonObject;
    return {};
  }
  if (!format->is_object()) {
    return RefuseValue("format", R"("json" or a JSON schema (an object))", *format);
  }
  output.kind = OutputKind::kJsonSchema;
  output.schema = std::move(*format);
  return {};
}

// true, false, or how much.
ApiResult<void> ReadThink(const json& body, OllamaRequest& request) {
  const json* think = FindField(body, "think");
  if (think == nullptr) return {};
  ordered_json& variables = request.chat.template_variables;
  if (think->is_boolean()) {
    variables["enable_thinking"] = think->get<bool>();
    request.wants_thinking = think->get<bool>();
    return {};
  }
  if (*think != "low" && *think != "medium" && *think != "high" && *think != "max") {
    return RefuseValue("think", R"(true, false, "low", "medium", "high" or "max")", *think);
  }
  variables["enable_thinking"] = true;
  variables["reasoning_effort"] = think->get<std::string>();
  request.wants_thinking = true;
  return {};
}

ApiResult<void> ReadLogprobs(const json& body, ChatRequest& chat) {
  WEFT_RETURN_IF_ERROR(ReadBool(body, "logprobs", chat.logprobs));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "top_logprobs", 0, kMaxTopLogprobs, chat.top_logprobs));
  if (chat.top_logprobs == 0 || chat.logprobs) return {};
  return tl::unexpected(InvalidField(
      "top_logprobs", "'top_logprobs' has a meaning only together with 'logprobs': true"));
}

// What chats and generate share.
ApiResult<void> ReadShared(const json& body, const RequestRules& rules, OllamaRequest& request) {
  ChatRequest& chat = request.chat;
  chat.max_tokens_path = "options.num_predict";
  chat.max_tokens_is_bound = true;
  chat.stream = true;
  chat.sampling = rules.sampling;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", chat.model));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "stream", chat.stream));
  WEFT_RETURN_IF_ERROR(ReadThink(body, request));
  WEFT_RETURN_IF_ERROR(ReadLogprobs(body, chat));
  WEFT_RETURN_IF_ERROR(ReadOllamaOptions(body, chat, request.num_ctx));
  AddTemplateDefaults(rules, chat);
  bool flag = false;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "truncate", flag));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "shift", flag));
  WEFT_ASSIGN_OR_RETURN(request.keep_alive, ReadKeepAlive(body));
  return {};
}

OllamaLoad LoadOf(const OllamaRequest& request) {
  const bool keeps_nothing = request.keep_alive && request.keep_alive->count() == 0;
  return keeps_nothing ? OllamaLoad::kUnload : OllamaLoad::kLoad;
}

// A conversation that ends with the assistant's words is to be continued there.
void SetEnd(ChatRequest& chat) {
  const ordered_json& last = chat.messages.back();
  if (last["role"] != "assistant" || last.contains("tool_calls")) return;
  chat.continue_final_message = true;
  chat.add_generation_prompt = false;
}

ApiResult<void> ReadConversationFields(ordered_json& fields, const RequestRules& rules,
                                       ChatRequest& chat) {
  ordered_json* messages = FindField(fields, "messages");
  if (messages == nullptr || *messages == ordered_json::array()) return {};
  WEFT_RETURN_IF_ERROR(ReadOllamaMessages(*messages, rules));
  chat.messages = std::move(*messages);
  SetEnd(chat);
  return {};
}

ApiResult<void> ReadTools(ordered_json& fields, ChatRequest& chat) {
  ordered_json* tools = FindField(fields, "tools");
  if (tools == nullptr) return {};
  WEFT_RETURN_IF_ERROR(ReadOllamaTools(*tools));
  if (tools->empty()) return {};
  chat.tools = std::move(*tools);
  chat.tool_choice.kind = ToolChoiceKind::kAuto;
  return {};
}

ApiResult<void> ReadText(const json& body, std::string_view name, std::string& text) {
  std::optional<std::string> value;
  WEFT_RETURN_IF_ERROR(ReadString(body, name, value));
  text = std::move(value).value_or("");
  return {};
}

// The conversation that a prompt stands for, or the prompt as it is.
ApiResult<void> ReadPrompt(const json& body, OllamaRequest& request) {
  std::string system;
  WEFT_RETURN_IF_ERROR(ReadText(body, "prompt", request.prompt));
  WEFT_RETURN_IF_ERROR(ReadText(body, "suffix", request.suffix));
  WEFT_RETURN_IF_ERROR(ReadText(body, "system", system));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "raw", request.is_raw));
  request.is_raw |= !request.suffix.empty();
  if (request.is_raw) {
    if (system.empty()) return {};
    return tl::unexpected(InvalidField(
        "system",
        "'system' needs the model's template, which 'raw' and 'suffix' leave out; put it into "
        "'prompt'"));
  }
  ChatRequest& chat = request.chat;
  chat.messages_path = "prompt";
  chat.messages = ordered_json::array();
  if (!system.empty()) {
    chat.messages.push_back({{"role", "system"}, {"content", std::move(system)}});
  }
  chat.messages.push_back({{"role", "user"}, {"content", request.prompt}});
  return {};
}

// Of the fields that are known, those of sampling are so in "options" alone.
int32_t UnknownCount(const SplitBody& fields, std::span<const std::string_view> known,
                     std::span<const UnsupportedField> unsupported) {
  return fields.unknown_count + CountUnknownFields(fields.plain, known, unsupported);
}

// A body of few fields.
ApiResult<json> ParsePlainBody(std::string_view text, std::span<const std::string_view> known,
                               int32_t& unknown_field_count) {
  WEFT_ASSIGN_OR_RETURN(json body, ParseBody(text));
  unknown_field_count = CountUnknownFields(body, known, {});
  return body;
}

}  // namespace

ApiResult<OllamaRequest> ParseOllamaChatRequest(std::string_view text, const RequestRules& rules) {
  WEFT_ASSIGN_OR_RETURN(ordered_json body, ParseOrderedBody(text));
  SplitBody fields = SplitFields(std::move(body), kOrderedOllamaFields, kSharedOllamaFields, {});
  OllamaRequest request;
  WEFT_RETURN_IF_ERROR(ReadConversationFields(fields.ordered, rules, request.chat));
  WEFT_RETURN_IF_ERROR(ReadTools(fields.ordered, request.chat));
  WEFT_RETURN_IF_ERROR(ReadFormat(fields.ordered, request.chat.output));
  WEFT_RETURN_IF_ERROR(ReadShared(fields.plain, rules, request));
  if (request.chat.messages.is_null()) request.load = LoadOf(request);
  request.chat.unknown_field_count += UnknownCount(fields, kSharedOllamaFields, {});
  return request;
}

ApiResult<OllamaRequest> ParseOllamaGenerateRequest(std::string_view text,
                                                    const RequestRules& rules) {
  WEFT_ASSIGN_OR_RETURN(ordered_json body, ParseOrderedBody(text));
  constexpr auto kOrdered = std::to_array<std::string_view>({"format"});
  SplitBody fields =
      SplitFields(std::move(body), kOrdered, kOllamaGenerateFields, kUnsupportedGenerateFields);
  OllamaRequest request;
  request.is_generate = true;
  WEFT_RETURN_IF_ERROR(ReadFormat(fields.ordered, request.chat.output));
  WEFT_RETURN_IF_ERROR(ReadShared(fields.plain, rules, request));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(fields.plain, kUnsupportedGenerateFields));
  WEFT_RETURN_IF_ERROR(ReadPrompt(fields.plain, request));
  if (request.prompt.empty() && request.suffix.empty()) request.load = LoadOf(request);
  request.chat.unknown_field_count +=
      UnknownCount(fields, kOllamaGenerateFields, kUnsupportedGenerateFields);
  return request;
}

ApiResult<OllamaEmbedRequest> ParseOllamaEmbedRequest(std::string_view text) {
  OllamaEmbedRequest request;
  EmbeddingRequest& embedding = request.embedding;
  embedding.shape = EmbeddingShape::kOllama;
  WEFT_ASSIGN_OR_RETURN(const json body,
                        ParsePlainBody(text, kOllamaEmbedFields, embedding.unknown_field_count));
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", embedding.model));
  const json* input = FindField(body, "input");
  if (input != nullptr && !IsEmptyText(*input) && *input != json::array()) {
    WEFT_ASSIGN_OR_RETURN(embedding.input, ReadPrompts(body, "input", kMaxEmbeddingInputs));
  }
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "dimensions", 1, kMaxInt32, embedding.dimensions));
  embedding.truncation = {.is_offered = false, .is_wanted = true};
  WEFT_RETURN_IF_ERROR(ReadBool(body, "truncate", embedding.truncation.is_wanted));
  WEFT_RETURN_IF_ERROR(ReadOllamaContext(body, request.num_ctx));
  WEFT_ASSIGN_OR_RETURN(request.keep_alive, ReadKeepAlive(body));
  return request;
}

ApiResult<OllamaEmbedRequest> ParseOllamaEmbeddingsRequest(std::string_view text) {
  OllamaEmbedRequest request;
  EmbeddingRequest& embedding = request.embedding;
  embedding.shape = EmbeddingShape::kOllamaOne;
  embedding.input_name = "prompt";
  embedding.normalizes = false;
  embedding.truncation = {.is_offered = false, .is_wanted = true};
  WEFT_ASSIGN_OR_RETURN(const json body, ParsePlainBody(text, kOllamaEmbeddingsFields,
                                                        embedding.unknown_field_count));
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", embedding.model));
  std::string prompt;
  WEFT_RETURN_IF_ERROR(ReadText(body, "prompt", prompt));
  if (!prompt.empty()) embedding.input.prompts.emplace_back(std::move(prompt));
  WEFT_RETURN_IF_ERROR(ReadOllamaContext(body, request.num_ctx));
  WEFT_ASSIGN_OR_RETURN(request.keep_alive, ReadKeepAlive(body));
  return request;
}

ApiResult<OllamaShowRequest> ParseOllamaShowRequest(std::string_view text) {
  OllamaShowRequest request;
  WEFT_ASSIGN_OR_RETURN(const json body,
                        ParsePlainBody(text, kOllamaShowFields, request.unknown_field_count));
  WEFT_RETURN_IF_ERROR(ReadText(body, "model", request.model));
  std::string name;  // the older one
  WEFT_RETURN_IF_ERROR(ReadText(body, "name", name));
  if (request.model.empty()) request.model = std::move(name);
  bool is_verbose = false;  // what it adds, the vocabulary and the tensors, is left out
  WEFT_RETURN_IF_ERROR(ReadBool(body, "verbose", is_verbose));
  return request;
}

}  // namespace weft
