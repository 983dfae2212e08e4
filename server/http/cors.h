// Which web pages may call this server from a browser: cross-origin resource sharing
// (fetch.spec.whatwg.org, "CORS protocol").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/http/http_message.h"

namespace weft {

// Immutable.
class CorsPolicy {
 public:
  // "*", "localhost" (any port of localhost, 127.0.0.1 and [::1]) or origins as browsers write
  // them, "https://example.org:8443"; empty: off.
  explicit CorsPolicy(std::vector<std::string> origins);

  // Whether this can be given to the constructor.
  static Result<void> CheckOrigin(std::string_view origin);

  bool enabled() const { return !origins_.empty(); }
  bool Allows(std::string_view origin) const;
  // 403: it says how they can be allowed.
  static ApiError NotAllowed(std::string_view origin);
  // What every answer to a request with this Origin header ("": none) has besides its own.
  HttpHeaders AnswerHeaders(std::string_view origin) const;
  // The answer to a browser that asks, before the request itself, whether it may send it.
  // `requested_headers` is its Access-Control-Request-Headers.
  HttpResponse AnswerPreflight(std::string_view origin, std::string_view requested_headers) const;

 private:
  const std::vector<std::string> origins_;
  const bool allows_all_;
  const bool allows_local_;
};

}  // namespace weft
