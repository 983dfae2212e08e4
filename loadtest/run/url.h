// Where the server under test listens.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

enum class Scheme { kHttp, kHttps, kUnix };

struct Url {
  Scheme scheme = Scheme::kHttp;
  std::string host;         // a name or an address, IPv6 without its brackets
  std::string port;         // decimal; empty: a Unix socket
  std::string path;         // what precedes "/v1/...": empty, or "/prefix"
  std::string socket_path;  // of a Unix socket
  std::string authority;    // of the Host header
};

// "http://host[:port][/prefix]", https:// likewise, or "unix:/path/of/socket". A trailing "/" or
// "/v1" of the prefix is dropped, so that the base URL of an OpenAI client can be given as it is.
Result<Url> ParseUrl(std::string_view text);

}  // namespace weft
