// Where an HTTP server is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct HttpUrl {
  bool uses_tls = false;
  std::string host;  // a name or an address, IPv6 without its brackets
  uint16_t port = 80;
  std::string target = "/";       // path and query
  std::string authority() const;  // "host:port", as in the Host header
};

// "http://host[:port][/path][?query]", or https. Errors quote the URL and say what is wrong with
// it: another scheme, a name and password before the host, a fragment, a character that a URL has
// not.
Result<HttpUrl> ParseHttpUrl(std::string_view text);

}  // namespace weft
