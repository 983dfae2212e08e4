#include "proto/api_error.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"

namespace weft {
namespace {

nlohmann::ordered_json NullIfEmpty(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// https://docs.anthropic.com/en/api/errors, and for what it does not list, the nearest.
std::string_view AnthropicType(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string_view LlamaType(const ApiError& error) {
  if (error.code == "context_length_exceeded") return "exceed_context_size_error";
  switch (error.status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 501:
      return "not_supported_error";
    case 503:
      return "unavailable_error";
    default:
      return error.status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

std::string ToJson(const ApiError& error) {
  nlohmann::ordered_json body;
  body["error"]["message"] = error.message;
  body["error"]["type"] = error.type;
  body["error"]["param"] = NullIfEmpty(error.param);
  body["error"]["code"] = NullIfEmpty(error.code);
  return DumpJson(body);
}

std::string ToAnthropicJson(const ApiError& error, std::string_view request_id) {
  nlohmann::ordered_json body;
  body["type"] = "error";
  body["error"]["type"] = AnthropicType(error.status);
  body["error"]["message"] = error.message;
  // The one code that Anthropic's clients read: they then send the whole conversation.
  if (error.code == "thread_unsupported_request") {
    body["error"]["details"]["error_code"] = error.code;
    body["error"]["details"]["unsupported"] = nlohmann::ordered_json::array({error.param});
  }
  if (!request_id.empty()) body["request_id"] = request_id;
  return DumpJson(body);
}

std::string ToOllamaJson(const ApiError& error) {
  nlohmann::ordered_json body;
  body["error"] = error.message;
  return DumpJson(body);
}

std::string ToLlamaJson(const ApiError& error) {
  nlohmann::ordered_json body;
  nlohmann::ordered_json& fields = body["error"];
  fields["code"] = error.status;
  fields["message"] = error.message;
  fields["type"] = LlamaType(error);
  if (!error.param.empty()) fields["param"] = error.param;
  if (error.context_excess.context > 0) {
    fields["n_prompt_tokens"] = error.context_excess.prompt_tokens;
    fields["n_ctx"] = error.context_excess.context;
  }
  return DumpJson(body);
}

ApiError HttpError(int status, std::string code, std::string message) {
  ApiError error;
  error.status = status;
  if (status >= 500) error.type = "server_error";
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

ApiError InvalidField(std::string param, std::string message) {
  ApiError error;
  error.code = "invalid_value";
  error.param = std::move(param);
  error.message = std::move(message);
  return error;
}

ApiError UnsupportedParameter(std::string param, std::string message) {
  ApiError error = InvalidField(std::move(param), std::move(message));
  error.code = "unsupported_parameter";
  return error;
}

}  // namespace weft
