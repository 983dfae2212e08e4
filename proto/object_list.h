// Lists as OpenAI's API has them. Include from .cc files only: nlohmann's header is heavy.
#pragma once

#include <utility>

#include <nlohmann/json.hpp>

namespace weft {

// {"object":"list","data","first_id","last_id","has_more"} of objects that have ids.
inline nlohmann::ordered_json ObjectList(nlohmann::ordered_json data, bool has_more) {
  nlohmann::ordered_json list = {{"object", "list"}};
  list["first_id"] = data.empty() ? nlohmann::ordered_json() : data.front()["id"];
  list["last_id"] = data.empty() ? nlohmann::ordered_json() : data.back()["id"];
  list["has_more"] = has_more;
  list["data"] = std::move(data);
  return list;
}

}  // namespace weft
