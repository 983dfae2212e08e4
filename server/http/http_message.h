// HTTP requests and responses as plain structs, so that routes and handlers know no sockets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/api_error.h"
#include "server/http/entrance.h"
#include "server/tracing/request_trace.h"

namespace weft {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // name, value

// Whose error object, and whose header for the request's id, a path has.
enum class ApiStyle { kOpenAi, kAnthropic, kOllama, kLlama };

struct HttpRequest {
  std::string method;  // "GET"; as the client spelt it
  std::string target;  // path and query, as sent; "*" of `OPTIONS *`
  std::string path;    // without the query, percent-decoded
  std::string host;    // it was sent to, as HostNameOf has it; empty: not said (HTTP/1.0)
  std::string origin;  // of the web page that sent it; empty: none did
  Entrance entrance;
  bool is_http_1_1 = true;
  bool keep_alive = true;
  std::string content_type;
  std::string content_encoding;
  std::string accept;
  std::string if_none_match;
  std::string expect;
  std::string user_agent;      // known only if its trace is sampled
  std::string id;              // the client's x-request-id if it is a sane one, otherwise made here
  bool sees_all_keys = false;  // in /metrics and /watch: those of others too
  bool is_operator = false;    // may load and unload models
  std::string key_name;        // of the API key that came with it; empty: none did, or none need
  RequestTrace trace;
  HttpHeaders answer_headers;  // what every answer to it has besides its own
  ApiStyle style = ApiStyle::kOpenAi;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers;  // beyond those every response has
  std::string body;
  std::string_view constant_body;  // not empty: instead of it, and never freed

  std::string_view content() const {
    return constant_body.empty() ? std::string_view(body) : constant_body;
  }
};

// OpenAI's error object.
HttpResponse ErrorResponse(const ApiError& error);
// The same in the request's style; with Retry-After where the status asks the client to come back.
HttpResponse ErrorResponse(const ApiError& error, const HttpRequest& request);

// The head of a response, up to and including the empty line. Every one begins with kHeadPrefix.
// Without `content_length` the body is chunked (HTTP/1.1) or ends with the connection.
inline constexpr std::string_view kHeadPrefix = "HTTP/1.1 ";
std::string FormatHead(const HttpResponse& response, const HttpRequest& request, bool keep_alive,
                       std::optional<size_t> content_length);

// One chunk of a chunked body; `data` is not empty.
std::string FormatChunk(std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// "%2F" -> "/"; a sequence that is not two hexadecimal digits stays as it is.
std::string PercentDecode(std::string_view text);

// "/a?b=c%20d&e" -> {"b","c d"}, {"e",""}; "+" is a space. As many as there are.
std::vector<std::pair<std::string, std::string>> QueryParameters(std::string_view target);

// 1 to 128 characters of A-Z a-z 0-9 . _ : -
bool IsSaneRequestId(std::string_view id);

}  // namespace weft
