// What every refusal looks like on the wire: OpenAI's error object, Anthropic's, Ollama's or
// llama-server's.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace weft {

struct ApiError {
  int status = 400;                            // HTTP
  std::string type = "invalid_request_error";  // the family, as OpenAI names them
  std::string code;                            // for programs; empty: null
  std::string param;                           // JSON path of the field: "stop[2]"; empty: null
  std::string message;                         // for people: what was found and what to do
  // Of 429 and 503: when it will be worth asking again; 0: nobody knows, soon.
  std::chrono::milliseconds retry_after{0};
  // Of "context_length_exceeded".
  struct ContextExcessNumbers {
    int64_t prompt_tokens = 0;
    int64_t context = 0;
  };
  ContextExcessNumbers context_excess = {};
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

// {"error":{"message","type","param","code"}}. Bytes that are not UTF-8 become U+FFFD.
std::string ToJson(const ApiError& error);

// Anthropic's: {"type":"error","error":{"type","message"},"request_id"}. Its types follow from the
// status; `code` and `param` have no place in it. Without an id that member is left out.
std::string ToAnthropicJson(const ApiError& error, std::string_view request_id);

// Ollama's: {"error":"..."}, in one line.
std::string ToOllamaJson(const ApiError& error);

// llama-server's: {"error":{"code","message","type"}}, where the code is the status; with "param",
// which it does not have, if a field is to blame. One that does not fit the context is an
// "exceed_context_size_error" with "n_prompt_tokens" and "n_ctx".
std::string ToLlamaJson(const ApiError& error);

// From 500 on a "server_error", otherwise an "invalid_request_error".
ApiError HttpError(int status, std::string code, std::string message);

// A field of the request that is wrong: 400, code "invalid_value".
ApiError InvalidField(std::string param, std::string message);
// A field, or a value of it, that this server does not have: 400, code "unsupported_parameter".
ApiError UnsupportedParameter(std::string param, std::string message);

}  // namespace weft
