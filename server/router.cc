#include "server/router.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kRoutes = {
    Route{RouteId::kHealth, "GET", "/health"},
    Route{RouteId::kReady, "GET", "/ready"},
    Route{RouteId::kMetrics, "GET", "/metrics"},
    Route{RouteId::kModels, "GET", "/v1/models"},
    Route{RouteId::kModel, "GET", "/v1/models/{id}"},
    Route{RouteId::kCompletions, "POST", "/v1/completions"},
    Route{RouteId::kChatCompletions, "POST", "/v1/chat/completions"},
};

// Whether the path fits; `argument` is set to what the trailing {id} covers (it may hold slashes:
// models are often called owner/name).
bool PathFits(std::string_view pattern, std::string_view path, std::string& argument) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return path == pattern;
  if (path.size() <= brace || path.substr(0, brace) != pattern.substr(0, brace)) return false;
  argument = path.substr(brace);
  return true;
}

}  // namespace

RouteMatch FindRoute(std::string_view method, std::string_view path) {
  RouteMatch match;
  match.label = "other";
  for (const Route& route : kRoutes) {
    if (!PathFits(route.pattern, path, match.argument)) continue;
    match.label = route.pattern;
    if (method == route.method || (method == "HEAD" && route.method == "GET")) {
      match.route = &route;
    } else {
      match.allow = route.method == "GET" ? "GET, HEAD" : route.method;
    }
    return match;
  }
  return match;
}

}  // namespace weft
