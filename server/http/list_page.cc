#include "server/http/list_page.h"

#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "server/http/http_message.h"

namespace weft {

std::optional<std::string> QueryParameter(std::string_view target, std::string_view name) {
  std::optional<std::string> value;
  for (auto& [key, text] : QueryParameters(target)) {
    if (key == name) value = std::move(text);
  }
  return value;
}

ApiResult<ListPage> ReadListPage(std::string_view target, int32_t default_limit,
                                 int32_t max_limit) {
  ListPage page;
  page.limit = default_limit;
  if (const auto limit = QueryParameter(target, "limit")) {
    const auto [end, error] =
        std::from_chars(limit->data(), limit->data() + limit->size(), page.limit);
    if (error != std::errc() || end != limit->data() + limit->size() || page.limit < 1 ||
        page.limit > max_limit) {
      return tl::unexpected(
          InvalidField("limit", fmt::format("'limit' must be an integer from 1 to {}, not '{}'",
                                            max_limit, limit->substr(0, 40))));
    }
  }
  if (const auto order = QueryParameter(target, "order")) {
    if (*order != "asc" && *order != "desc") {
      return tl::unexpected(InvalidField(
          "order", fmt::format("'order' must be asc or desc, not '{}'", order->substr(0, 40))));
    }
    page.newest_first = *order == "desc";
  }
  page.after = QueryParameter(target, "after");
  return page;
}

}  // namespace weft
