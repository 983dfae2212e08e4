#include "loadtest/run/url.h"

#include <utility>

#include <sys/un.h>

#include "proto/http_url.h"

namespace weft {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path);

std::string_view WithoutSuffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  Url url;
  if (text.starts_with(kUnix)) {
    url.scheme = Scheme::kUnix;
    url.host = url.authority = "localhost";
    url.socket_path = text.substr(kUnix.size());
    if (url.socket_path.starts_with('/') && url.socket_path.size() < kMaxSocketPath) return url;
    return Fail(ErrorCode::kInvalidArgument,
                "url '{}': '{}' is not an absolute path of fewer than {} bytes", text,
                url.socket_path, kMaxSocketPath);
  }
  WEFT_ASSIGN_OR_RETURN(HttpUrl parsed, ParseHttpUrl(text));
  if (parsed.target.find('?') != std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument, "url '{}': a query; expected a base of paths", text);
  }
  url.scheme = parsed.uses_tls ? Scheme::kHttps : Scheme::kHttp;
  url.authority = parsed.authority();
  url.host = std::move(parsed.host);
  url.port = std::to_string(parsed.port);
  url.path = WithoutSuffix(WithoutSuffix(WithoutSuffix(parsed.target, "/"), "/v1"), "/");
  return url;
}

}  // namespace weft
