#include "loadtest/run/url.h"

#include <charconv>
#include <cstdint>

#include <sys/un.h>

namespace weft {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kUnix = "unix:";
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path);

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

std::string_view WithoutSuffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

}  // namespace

std::string Url::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + (port.empty() ? "" : ":" + port);
}

Result<Url> ParseUrl(std::string_view text) {
  Url url;
  if (text.starts_with(kUnix)) {
    url.scheme = Scheme::kUnix;
    url.host = "localhost";
    url.socket_path = text.substr(kUnix.size());
    if (url.socket_path.starts_with('/') && url.socket_path.size() < kMaxSocketPath) return url;
    return Fail(ErrorCode::kInvalidArgument,
                "url '{}': '{}' is not an absolute path of fewer than {} bytes", text,
                url.socket_path, kMaxSocketPath);
  }
  if (text.starts_with(kHttps)) url.scheme = Scheme::kHttps;
  const std::string_view prefix = url.scheme == Scheme::kHttps ? kHttps : kHttp;
  if (!text.starts_with(prefix)) {
    return Fail(ErrorCode::kInvalidArgument,
                "url '{}' does not begin with http://, https:// or unix:/", text);
  }
  const std::string_view rest = text.substr(prefix.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);

  // The port's colon comes after the bracket that ends an IPv6 address.
  const size_t bracket = authority.find(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = authority.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view port = colon != std::string_view::npos ? authority.substr(colon + 1)
                                : url.scheme == Scheme::kHttps  ? "443"
                                                                : "80";
  if (host.empty() || host.find_first_of("@?# ") != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument, "url '{}': '{}' is not a host", text, host);
  }
  if (!IsPort(port)) {
    return Fail(ErrorCode::kInvalidArgument, "url '{}': '{}' is not a port from 1 to 65535", text,
                port);
  }
  url.host = host;
  url.port = port;
  url.path = WithoutSuffix(WithoutSuffix(WithoutSuffix(rest.substr(slash), "/"), "/v1"), "/");
  return url;
}

}  // namespace weft
