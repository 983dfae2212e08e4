// GET over HTTP and HTTPS, by libcurl. Redirects are followed here, for each is looked at: the
// token travels to the Hub alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/hub/hub_settings.h"

namespace weft {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; of several, the last
  std::string url;                             // that answered in the end

  // Empty: there is none.
  std::string header(const std::string& name) const;
};

// Takes pieces of a body; an error ends the request, which then fails with it.
using BodySink = std::function<Result<void>(const HttpAnswer& answer, std::string_view piece)>;

// Not thread-safe. Proxies are those of the environment (http_proxy, https_proxy, all_proxy,
// no_proxy), certificates the system's.
class HttpClient {
 public:
  // The user agent is "weft/VERSION".
  HttpClient(const HubSettings& settings, std::string user_agent);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Asks once, and follows at most 10 redirects, none from https to http. The bodies of 200 and 206
  // go to the sink, others nowhere, and their ends are not waited for for long. From byte `begin`
  // on, if that is more than 0 (a server may answer 200 with all of it). Whatever status comes in
  // the end is an answer. Errors: kUnavailable if trying again may help (no connection, a stall, a
  // body cut short); others if not.
  Result<HttpAnswer> Get(const std::string& url, uint64_t begin, const BodySink& sink);

 private:
  struct Handle;  // libcurl's
  struct Exchange;

  Result<void> Perform(uint64_t begin, Exchange& exchange);

  std::string endpoint_;
  std::string token_;
  std::string user_agent_;
  std::string certificate_path_;
  std::unique_ptr<Handle> handle_;
};

// Whether both URLs have the same scheme, host and port. False: one is no URL.
bool HaveSameOrigin(const std::string& a, const std::string& b);

// `text` with all but letters, digits, "-._~" and the characters of `kept` as %XX.
std::string PercentEncoded(std::string_view text, std::string_view kept);

}  // namespace weft
