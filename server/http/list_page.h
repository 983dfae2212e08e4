// Which part of a list a client asks for, as OpenAI's API has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/api_error.h"

namespace weft {

struct ListPage {
  int32_t limit = 20;
  bool newest_first = true;
  std::optional<std::string> after;  // the id of the object before the first
};

// What follows a target's `?`. Of a parameter that is there more than once, the last; nullopt: it
// is not there.
std::optional<std::string> QueryParameter(std::string_view target, std::string_view name);

// Its limit, order and after. Errors name the parameter.
ApiResult<ListPage> ReadListPage(std::string_view target, int32_t default_limit, int32_t max_limit);

}  // namespace weft
