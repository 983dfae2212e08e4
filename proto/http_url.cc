#include "proto/http_url.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "base/quoted.h"

namespace weft {
namespace {

tl::unexpected<Error> Refuse(std::string_view text, std::string_view reason) {
  return Fail(ErrorCode::kInvalidArgument,
              "{} is no URL of a server: {}; expected http://HOST:PORT or https://HOST:PORT",
              Quoted(text), reason);
}

bool ReadPort(std::string_view text, uint16_t& port) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end && port > 0;
}

}  // namespace

std::string HttpUrl::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

Result<HttpUrl> ParseHttpUrl(std::string_view text) {
  const auto is_url_char = [](char c) { return c > ' ' && c <= '~' && c != '#'; };
  if (!std::ranges::all_of(text, is_url_char)) {
    return Refuse(text, "a character that cannot be there");
  }
  HttpUrl url;
  url.uses_tls = text.starts_with("https://");
  if (!url.uses_tls && !text.starts_with("http://")) return Refuse(text, "another scheme");
  std::string_view rest = text.substr(text.find("//") + 2);
  const size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);
  if (!rest.empty()) url.target = rest.starts_with('/') ? rest : "/" + std::string(rest);

  // The port's colon comes after the bracket that ends an IPv6 address.
  const bool is_bracketed = authority.starts_with('[');
  const size_t host_end =
      is_bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) return Refuse(text, "no ] after the address");
  url.host = authority.substr(is_bracketed ? 1 : 0, host_end - (is_bracketed ? 1 : 0));
  if (url.host.empty()) return Refuse(text, "no host");
  if (authority.find('@') != std::string_view::npos) {
    return Refuse(text, "a name or password before the host");
  }
  const std::string_view after = authority.substr(host_end + (is_bracketed ? 1 : 0));
  url.port = url.uses_tls ? 443 : 80;
  if (after.empty()) return url;
  if (after[0] != ':' || !ReadPort(after.substr(1), url.port)) {
    return Refuse(text, "the port is none from 1 to 65535");
  }
  return url;
}

}  // namespace weft
