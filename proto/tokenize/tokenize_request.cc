#include "proto/tokenize/tokenize_request.h"

#include <array>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> kVllmFields = {"add_special_tokens", "return_token_strs"};
constexpr std::array<std::string_view, 3> kLlamaFields = {"add_special", "parse_special",
                                                          "with_pieces"};

// Which of the fields that hold the text is there.
ApiResult<std::string_view> FindTextField(const ordered_json& body) {
  std::string_view found;
  for (const std::string_view name : {"prompt", "messages", "content"}) {
    const auto field = body.find(name);
    if (field == body.end() || field->is_null()) continue;
    if (!found.empty()) {
      return tl::unexpected(
          InvalidField(std::string(name),
                       fmt::format("'{}' and '{}' are two texts; send one of them", found, name)));
    }
    found = name;
  }
  if (!found.empty()) return found;
  return RefuseMissing("prompt", "send the text, or a conversation as 'messages'");
}

// Takes the fields of these names out of `body`.
json TakeFields(ordered_json& body, std::span<const std::string_view> names) {
  json taken = json::object();
  for (const std::string_view name : names) {
    const auto field = body.find(name);
    if (field == body.end()) continue;
    taken.emplace(name, json(*field));
    body.erase(field);
  }
  return taken;
}

ApiResult<void> RefuseFieldsOf(const ordered_json& body, std::span<const std::string_view> names,
                               std::string_view other_text, std::string_view text) {
  for (const std::string_view name : names) {
    if (!body.contains(name)) continue;
    return tl::unexpected(InvalidField(
        std::string(name),
        fmt::format("'{}' goes with '{}', but the text is in '{}'", name, other_text, text)));
  }
  return {};
}

ApiResult<void> ReadVllmFields(const json& fields, TokenizeRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "add_special_tokens", request.add_special_tokens));
  return ReadBool(fields, "return_token_strs", request.with_strings);
}

ApiResult<void> ReadLlamaFields(const json& fields, TokenizeRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "add_special", request.add_special_tokens));
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "parse_special", request.parse_special_tokens));
  return ReadBool(fields, "with_pieces", request.with_strings);
}

ApiResult<void> ReadText(const ordered_json& body, TokenizeRequest& request) {
  const ordered_json& text = body[request.text_path];
  if (!text.is_string()) return RefuseValue(request.text_path, "a string", text);
  request.text = text.get<std::string>();
  json model = json::object();
  if (body.contains("model")) model.emplace("model", json(body["model"]));
  WEFT_RETURN_IF_ERROR(ReadString(model, "model", request.model));
  request.unknown_field_count =
      static_cast<int32_t>(body.size()) - 1 - static_cast<int32_t>(model.size());
  return {};
}

}  // namespace

ApiResult<TokenizeRequest> ParseTokenizeRequest(std::string_view text, const RequestRules& rules) {
  ApiResult<ordered_json> body = ParseOrderedBody(text);
  if (!body) return tl::unexpected(std::move(body).error());
  const ApiResult<std::string_view> text_field = FindTextField(*body);
  if (!text_field) return tl::unexpected(text_field.error());
  TokenizeRequest request;
  request.text_path = *text_field;
  request.as_llama_cpp = *text_field == "content";
  if (request.as_llama_cpp) {
    WEFT_RETURN_IF_ERROR(RefuseFieldsOf(*body, kVllmFields, "prompt", *text_field));
    request.add_special_tokens = false;
    WEFT_RETURN_IF_ERROR(ReadLlamaFields(TakeFields(*body, kLlamaFields), request));
    WEFT_RETURN_IF_ERROR(ReadText(*body, request));
    return request;
  }
  WEFT_RETURN_IF_ERROR(RefuseFieldsOf(*body, kLlamaFields, "content", *text_field));
  const bool is_chat = *text_field == "messages";
  request.add_special_tokens = !is_chat;  // a template writes them itself
  WEFT_RETURN_IF_ERROR(ReadVllmFields(TakeFields(*body, kVllmFields), request));
  if (!is_chat) {
    WEFT_RETURN_IF_ERROR(ReadText(*body, request));
    return request;
  }
  ApiResult<ChatRequest> chat = ReadChatRequest(*std::move(body), rules);
  if (!chat) return tl::unexpected(std::move(chat).error());
  request.model = chat->model;
  request.unknown_field_count = chat->unknown_field_count;
  request.chat = *std::move(chat);
  return request;
}

ApiResult<DetokenizeRequest> ParseDetokenizeRequest(std::string_view text) {
  const ApiResult<json> body = ParseBody(text);
  if (!body) return tl::unexpected(body.error());
  DetokenizeRequest request;
  WEFT_RETURN_IF_ERROR(ReadString(*body, "model", request.model));
  const json* tokens = FindField(*body, "tokens");
  if (tokens == nullptr) return RefuseMissing("tokens", "send an array of token ids");
  if (!tokens->is_array()) return RefuseValue("tokens", "an array of token ids", *tokens);
  request.tokens.reserve(tokens->size());
  for (const json& element : *tokens) {
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(
        CheckInteger(element, fmt::format("tokens[{}]", request.tokens.size()), 0, kMaxInt32, id));
    request.tokens.push_back(id);
  }
  for (const auto& [name, value] : body->items()) {
    if (name != "model" && name != "tokens") ++request.unknown_field_count;
  }
  return request;
}

}  // namespace weft
