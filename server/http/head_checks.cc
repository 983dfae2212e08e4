#include "server/http/head_checks.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/beast/http/field.hpp>
#include <fmt/core.h>

#include "base/ascii.h"
#include "base/quoted.h"
#include "server/api/files/file_answers.h"
#include "server/http/host_name.h"
#include "server/http/request_framing.h"
#include "server/page/page_answer.h"

namespace weft {
namespace {

namespace http = boost::beast::http;

std::string Field(const http::fields& fields, http::field name) {
  const auto value = fields[name];
  return {value.data(), value.size()};
}

bool IsMediaType(std::string_view content_type, std::string_view expected) {
  return EqualIgnoringCase(content_type.substr(0, content_type.find_first_of("; \t")), expected);
}

bool IsJson(std::string_view content_type) { return IsMediaType(content_type, "application/json"); }

bool IsMultipart(std::string_view content_type) {
  return IsMediaType(content_type, "multipart/form-data");
}

bool IsForm(std::string_view content_type) {
  return IsMediaType(content_type, "application/x-www-form-urlencoded");
}

// The key of `Authorization: Bearer KEY`; empty: none.
std::string_view BearerKey(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!EqualIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) return {};
  const size_t start = authorization.find_first_not_of(' ', kScheme.size());
  return start == std::string_view::npos ? "" : authorization.substr(start);
}

bool IsLiveness(const RouteMatch& match) {
  return match.label == "/health" || match.label == "/v1/health" || match.label == "/ready";
}

// The keys that came with a request: one that is known is enough.
struct SentKeys {
  explicit SentKeys(const http::fields& fields)
      : authorization(Field(fields, http::field::authorization)),
        x_api_key(fields["x-api-key"].data(), fields["x-api-key"].size()) {}

  // nullptr: none of them is one of these.
  const std::string* NameIn(const ApiKeys* keys) const {
    if (keys == nullptr) return nullptr;
    const std::string* name = keys->NameOf(BearerKey(authorization));
    return name != nullptr ? name : keys->NameOf(x_api_key);
  }
  bool any() const { return !BearerKey(authorization).empty() || !x_api_key.empty(); }

  std::string authorization;
  std::string x_api_key;
};

HttpResponse Unauthorized(bool sent_one, const HttpRequest& request) {
  HttpResponse response = ErrorResponse(
      HttpError(401, "invalid_api_key",
                sent_one ? "the API key that was sent is not one of this server's"
                         : "this server needs an API key: send Authorization: Bearer KEY, or "
                           "x-api-key: KEY"),
      request);
  // RFC 6750, section 3: no error where no key was sent.
  response.headers.emplace_back(
      "WWW-Authenticate",
      sent_one ? R"(Bearer realm="weft", error="invalid_token")" : R"(Bearer realm="weft")");
  return response;
}

// Sets the request's key_name, sees_all_keys and is_operator, or says why it may not go on.
// Orchestrators and load balancers ask after health and readiness, and learn nothing else: they
// need no key.
std::optional<HttpResponse> Authenticate(const http::fields& fields, const RouteMatch& match,
                                         const Access& access, HttpRequest& request) {
  const std::shared_ptr<const ApiKeys> keys = access.keys();
  const std::shared_ptr<const ApiKeys> metrics_keys = access.metrics_keys();
  const std::shared_ptr<const ApiKeys> operator_keys = access.operator_keys();
  const SentKeys sent(fields);
  const std::string* const operator_name = sent.NameIn(operator_keys.get());
  request.is_operator = operator_name != nullptr || (keys == nullptr && operator_keys == nullptr);
  const bool is_watching = match.label == "/metrics" || match.label == "/watch";
  const bool is_open = keys == nullptr && (!is_watching || metrics_keys == nullptr);
  if (is_open || request.entrance.is_for_metrics || IsLiveness(match)) {
    request.sees_all_keys = true;  // where there are none, or it is an operator's way
    return std::nullopt;
  }
  const std::string* const watcher_name =
      operator_name != nullptr ? operator_name : sent.NameIn(metrics_keys.get());
  request.sees_all_keys = is_watching && watcher_name != nullptr;
  const std::string* const name =
      request.sees_all_keys || operator_name != nullptr ? watcher_name : sent.NameIn(keys.get());
  if (name != nullptr) {
    request.key_name = *name;
    return std::nullopt;
  }
  if (watcher_name != nullptr) {
    return ErrorResponse(
        HttpError(403, "key_not_allowed",
                  "this key is for /metrics and /watch alone; send one of an API user"),
        request);
  }
  return Unauthorized(sent.any(), request);
}

// Whether a page's origin is another machine, or none that is known ("null"). Scheme and port say
// little: a proxy in front may speak TLS, on another port.
bool IsForeign(const HttpRequest& request) {
  if (request.origin.empty()) return false;
  const size_t scheme_end = request.origin.find("://");
  if (scheme_end == std::string::npos) return true;
  return HostNameOf(std::string_view(request.origin).substr(scheme_end + 3)) != request.host;
}

// A web page elsewhere makes browsers near this server send it requests: under the page's origin,
// or, if its name resolves to this machine (DNS rebinding), under its host. What it has not is a
// key; where none is needed, these two must do.
std::optional<HttpResponse> RefusePage(const ServerContext& context, const HttpRequest& request) {
  const bool needs_no_key = request.entrance.is_for_metrics || context.access->keys() == nullptr;
  const bool checks_host =
      context.hosts.is_given() || (needs_no_key && request.entrance.is_loopback);
  if (checks_host && !request.host.empty() && !context.hosts.Allows(request.host)) {
    return ErrorResponse(
        HttpError(403, "host_not_allowed",
                  fmt::format("this server does not answer to the name {}; --allowed-host adds it",
                              Quoted(request.host))),
        request);
  }
  if (needs_no_key && IsForeign(request) && !context.cors.Allows(request.origin)) {
    return ErrorResponse(CorsPolicy::NotAllowed(request.origin), request);
  }
  return std::nullopt;
}

bool HasBody(const http::fields& fields) {
  const std::string length = Field(fields, http::field::content_length);
  return fields.count(http::field::transfer_encoding) > 0 || (!length.empty() && length != "0");
}

// What is wrong with a request whose head alone is known.
std::optional<HttpResponse> RefuseHead(const http::fields& fields, const HttpRequest& request,
                                       const RouteMatch& match, const ServerContext& context) {
  const auto refuse = [&](int status, std::string code, std::string message) {
    return ErrorResponse(HttpError(status, std::move(code), std::move(message)), request);
  };
  if (ChangesModels(request.path)) {
    return refuse(403, "models_are_fixed",
                  fmt::format("{} is not offered: this server has the models that it was started "
                              "with",
                              request.path.substr(0, 200)));
  }
  if (ChangesServer(request.method, request.path)) {
    HttpResponse response =
        refuse(405, "not_offered",
               fmt::format("POST {} is not offered: this server stays as it was started, and "
                           "what it has computed of prompts is kept by itself",
                           request.path.substr(0, 200)));
    response.headers.emplace_back("Allow", match.allow);
    return response;
  }
  const bool wants_page = PageFileFor(request, match) != nullptr;
  const bool is_no_file =
      match.route != nullptr && match.route->id == RouteId::kPageFile && !wants_page;
  if ((wants_page && !context.options.page) || is_no_file ||
      (match.route == nullptr && match.allow.empty())) {
    return refuse(404, "unknown_route",
                  fmt::format("there is no {} here; docs/API.md lists the routes",
                              request.path.substr(0, 200)));
  }
  if (match.route == nullptr) {
    HttpResponse response =
        refuse(405, "method_not_allowed",
               fmt::format("{} answers {} only, not {}", match.label, match.allow, request.method));
    response.headers.emplace_back("Allow", match.allow);
    return response;
  }
  if (!request.expect.empty() && !EqualIgnoringCase(request.expect, "100-continue")) {
    return refuse(417, "unknown_expectation",
                  "the only expectation this server knows is 100-continue");
  }
  const RouteId route = match.route->id;
  if ((route == RouteId::kLoadModel || route == RouteId::kUnloadModel) && !request.is_operator) {
    return refuse(
        403, "operator_key_required",
        fmt::format("{} is for operators: send a key of --operator-key-file", request.path));
  }
  if (NeedsFiles(route) && context.files == nullptr) {
    return ErrorResponse(FilesNotOffered(), request);
  }
  if (match.route->method != "POST") return std::nullopt;
  const bool is_upload = match.route->id == RouteId::kUploadFile;
  if (is_upload && !IsMultipart(request.content_type)) {
    return refuse(415, "unsupported_media_type",
                  "send the file in a form: Content-Type: multipart/form-data");
  }
  // A page needs no preflight to send what has no type. Programs may leave it out.
  const bool needs_type = !request.origin.empty() && HasBody(fields);
  // Nor for this type, which curl sends unless told another: Ollama's users do not tell it.
  const bool may_be_form =
      request.style == ApiStyle::kOllama && request.origin.empty() && IsForm(request.content_type);
  if ((needs_type || !request.content_type.empty()) && !IsJson(request.content_type) &&
      !may_be_form && !is_upload) {
    return refuse(415, "unsupported_media_type",
                  "send the body with Content-Type: application/json");
  }
  if (!request.content_encoding.empty() &&
      !EqualIgnoringCase(request.content_encoding, "identity")) {
    return refuse(415, "unsupported_content_encoding",
                  "send the body as it is, without Content-Encoding");
  }
  return std::nullopt;
}

// What this way into the server does not lead to.
std::optional<HttpResponse> RefuseEntrance(const HttpRequest& request, const RouteMatch& match) {
  constexpr std::chrono::seconds kExpected{2};  // whoever has a connection keeps it for a while
  if (request.entrance.is_beyond_limit && !IsLiveness(match)) {
    ApiError error = HttpError(503, "too_many_connections",
                               "the server has all the connections it can; try again later");
    error.retry_after = kExpected;
    return ErrorResponse(error, request);
  }
  if (request.entrance.is_for_metrics && match.label != "/metrics" && !IsLiveness(match)) {
    return ErrorResponse(
        HttpError(404, "unknown_route", "this port answers /metrics, /health and /ready alone"),
        request);
  }
  return std::nullopt;
}

// `OPTIONS *`: what there is at all.
HttpResponse AnswerForServer() {
  HttpResponse response;
  response.content_type.clear();
  response.headers.emplace_back("Allow", "GET, HEAD, POST, DELETE, OPTIONS");
  return response;
}

}  // namespace

HttpRequest ToHttpRequest(const RequestParser& parser, Entrance entrance, ServerContext& context) {
  const auto& message = parser.get();
  HttpRequest request;
  request.method.assign(message.method_string().data(), message.method_string().size());
  const std::string_view target(message.target().data(), message.target().size());
  const auto parts = ParseTarget(request.method, target);
  request.target = parts ? parts->path_and_query : target;
  request.path =
      PercentDecode(std::string_view(request.target).substr(0, request.target.find('?')));
  const std::string host = Field(message, http::field::host);
  const bool names_host = parts && !parts->authority.empty();
  request.host = HostNameOf(names_host ? parts->authority : host).value_or("");
  request.origin = Field(message, http::field::origin);
  request.entrance = entrance;
  request.is_http_1_1 = message.version() >= 11;
  request.keep_alive = parser.is_header_done() && parser.keep_alive() && !entrance.is_beyond_limit;
  request.content_type = Field(message, http::field::content_type);
  request.content_encoding = Field(message, http::field::content_encoding);
  request.accept = Field(message, http::field::accept);
  request.if_none_match = Field(message, http::field::if_none_match);
  request.expect = Field(message, http::field::expect);
  const auto id = message["X-Request-Id"];
  request.id.assign(id.data(), id.size());
  if (!IsSaneRequestId(request.id)) request.id = context.NextRequestId();
  request.trace = context.tracer->Begin(FieldValues(message, "traceparent"),
                                        FieldValues(message, "tracestate"));
  if (request.trace.sampled) request.user_agent = Field(message, http::field::user_agent);
  request.style = ApiStyleOf(request.path, message.count("anthropic-version") > 0);
  request.answer_headers = context.cors.AnswerHeaders(request.origin);
  if (request.style == ApiStyle::kAnthropic) {
    request.answer_headers.emplace_back("request-id", request.id);
  }
  return request;
}

std::optional<HttpResponse> AnswerHead(const http::fields& fields, const RouteMatch& match,
                                       const ServerContext& context, HttpRequest& request) {
  if (auto refusal = RefuseEntrance(request, match)) return refusal;
  if (auto refusal = RefusePage(context, request)) return refusal;
  if (context.cors.enabled() && request.method == "OPTIONS" && !request.origin.empty() &&
      fields.count(http::field::access_control_request_method) > 0) {
    return context.cors.AnswerPreflight(request.origin,
                                        Field(fields, http::field::access_control_request_headers));
  }
  // Files of the page have no secrets: who uses it types the key there.
  const bool is_page = context.options.page && PageFileFor(request, match) != nullptr;
  if (!is_page) {
    if (auto refusal = Authenticate(fields, match, *context.access, request)) return refusal;
  }
  if (request.target == "*") return AnswerForServer();
  return RefuseHead(fields, request, match, context);
}

}  // namespace weft
