// OpenAI's error object: what every refusal looks like on the wire.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace weft {

struct ApiError {
  int status = 400;                            // HTTP
  std::string type = "invalid_request_error";  // the family, as OpenAI names them
  std::string code;                            // for programs; empty: null
  std::string param;                           // JSON path of the field: "stop[2]"; empty: null
  std::string message;                         // for people: what was found and what to do
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

// {"error":{"message","type","param","code"}}. Bytes that are not UTF-8 become U+FFFD.
std::string ToJson(const ApiError& error);

// A field of the request that is wrong: 400, code "invalid_value".
ApiError InvalidField(std::string param, std::string message);

}  // namespace weft
