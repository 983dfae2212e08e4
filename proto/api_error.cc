#include "proto/api_error.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

nlohmann::ordered_json NullIfEmpty(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace

std::string ToJson(const ApiError& error) {
  nlohmann::ordered_json body;
  body["error"]["message"] = error.message;
  body["error"]["type"] = error.type;
  body["error"]["param"] = NullIfEmpty(error.param);
  body["error"]["code"] = NullIfEmpty(error.code);
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApiError InvalidField(std::string param, std::string message) {
  ApiError error;
  error.code = "invalid_value";
  error.param = std::move(param);
  error.message = std::move(message);
  return error;
}

}  // namespace weft
