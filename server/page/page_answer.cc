#include "server/page/page_answer.h"

#include <string>
#include <string_view>

namespace weft {
namespace {

// What is made of a model's text goes through DOMPurify, or the browser refuses it (Trusted Types).
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types dompurify";

// Whether one of the tags of If-None-Match is this one. Proxies may have made it a weak one.
bool HasTag(std::string_view if_none_match, std::string_view etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

}  // namespace

const PageFile* PageFileFor(const HttpRequest& request, const RouteMatch& match) {
  if (match.route == nullptr) return nullptr;
  if (match.route->id == RouteId::kPageFile) return FindPageFile(match.argument);
  const bool is_browser = request.accept.find("text/html") != std::string::npos;
  return match.route->id == RouteId::kRoot && is_browser ? FindPageFile("") : nullptr;
}

HttpResponse PageAnswer(const HttpRequest& request, const PageFile& file) {
  HttpResponse response;
  if (HasTag(request.if_none_match, file.etag)) response.status = 304;
  response.content_type = file.content_type;
  response.constant_body = file.text;
  response.headers = {{"ETag", std::string(file.etag)},
                      {"Cache-Control", "no-cache"},  // kept, but asked for again
                      {"Vary", "Accept"},
                      {"Content-Security-Policy", std::string(kContentPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return response;
}

}  // namespace weft
