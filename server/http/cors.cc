#include "server/http/cors.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/quoted.h"
#include "server/http/host_name.h"

namespace weft {
namespace {

// A list of header names, of sane length.
bool IsHeaderList(std::string_view text) {
  constexpr size_t kMaxLength = 4096;
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~, ";
  return !text.empty() && text.size() <= kMaxLength && std::ranges::all_of(text, [&](char c) {
    return IsAsciiAlphanumeric(c) || kOthers.find(c) != std::string_view::npos;
  });
}

bool IsAuthorityCharacter(char c) {
  return IsAsciiLower(c) || IsAsciiDigit(c) || c == '.' || c == '-' || c == ':' || c == '[' ||
         c == ']' || c == '_';
}

constexpr std::string_view kLocalPages = "localhost";

// Of a server on the machine that the browser runs on, on whatever port.
bool IsLocalPage(std::string_view origin) {
  const size_t scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) return false;
  const std::string_view scheme = origin.substr(0, scheme_end);
  const std::optional<std::string> host = HostNameOf(origin.substr(scheme_end + 3));
  return (scheme == "http" || scheme == "https") &&
         (host == "localhost" || host == "127.0.0.1" || host == "::1");
}

}  // namespace

CorsPolicy::CorsPolicy(std::vector<std::string> origins)
    : origins_(std::move(origins)),
      allows_all_(std::ranges::find(origins_, "*") != origins_.end()),
      allows_local_(std::ranges::find(origins_, kLocalPages) != origins_.end()) {}

Result<void> CorsPolicy::CheckOrigin(std::string_view origin) {
  if (origin == "*" || origin == "null" || origin == kLocalPages) return {};
  const size_t colon = origin.find("://");
  const bool has_scheme = colon != std::string_view::npos && colon > 0;
  const std::string_view authority = has_scheme ? origin.substr(colon + 3) : "";
  const std::string_view scheme = origin.substr(0, has_scheme ? colon : 0);
  const auto is_scheme_character = [](char c) {
    return IsAsciiLower(c) || IsAsciiDigit(c) || c == '+' || c == '-' || c == '.';
  };
  if (authority.empty() || !std::ranges::all_of(scheme, is_scheme_character) ||
      !std::ranges::all_of(authority, IsAuthorityCharacter)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} is not an origin; expected *, localhost or scheme://host[:port] in lower case, "
                "without path",
                Quoted(origin));
  }
  return {};
}

bool CorsPolicy::Allows(std::string_view origin) const {
  if (allows_all_ || (allows_local_ && IsLocalPage(origin))) return true;
  return origin != kLocalPages && std::ranges::find(origins_, origin) != origins_.end();
}

ApiError CorsPolicy::NotAllowed(std::string_view origin) {
  return HttpError(
      403, "origin_not_allowed",
      "this server does not answer pages of " + Quoted(origin) + "; --cors-origin allows them");
}

HttpHeaders CorsPolicy::AnswerHeaders(std::string_view origin) const {
  HttpHeaders headers;
  if (!enabled()) return headers;
  if (!allows_all_) headers.emplace_back("Vary", "Origin");  // for caches: others get other answers
  if (origin.empty() || !Allows(origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", allows_all_ ? "*" : std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers",
                       "X-Request-Id, Retry-After, Retry-After-Ms, weft-dropped-tools");
  return headers;
}

HttpResponse CorsPolicy::AnswerPreflight(std::string_view origin,
                                         std::string_view requested_headers) const {
  if (!Allows(origin)) return ErrorResponse(NotAllowed(origin));
  HttpResponse response;
  response.content_type.clear();
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE");
  // Clients send many headers of their own (x-stainless-*, anthropic-*), and none gives a page a
  // right: that is what keys are for.
  if (IsHeaderList(requested_headers)) {
    response.headers.emplace_back("Access-Control-Allow-Headers", std::string(requested_headers));
    response.headers.emplace_back("Vary", "Access-Control-Request-Headers");
  }
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace weft
