#include "grammar/schema/schema_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/quoted.h"

namespace weft {

JsonExtent ExtentOf(const nlohmann::ordered_json& value) {
  JsonExtent extent;
  std::vector<std::pair<const nlohmann::ordered_json*, int>> pending = {{&value, 0}};
  while (!pending.empty()) {
    const auto [next, depth] = pending.back();
    pending.pop_back();
    ++extent.values;
    extent.depth = std::max(extent.depth, depth);
    if (const auto* text = next->get_ptr<const std::string*>()) extent.text_bytes += text->size();
    if (const auto* members = next->get_ptr<const nlohmann::ordered_json::object_t*>()) {
      extent.values += static_cast<int64_t>(members->size());
      for (const auto& [name, member] : *members) {
        extent.text_bytes += name.size();
        pending.emplace_back(&member, depth + 1);
      }
    }
    if (const auto* items = next->get_ptr<const nlohmann::ordered_json::array_t*>()) {
      for (const auto& item : *items) pending.emplace_back(&item, depth + 1);
    }
  }
  return extent;
}

std::string Described(const nlohmann::ordered_json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (const auto* text = value.get_ptr<const std::string*>()) return Quoted(*text);
  return value.dump();
}

std::optional<int64_t> CountIn(const nlohmann::ordered_json& value) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  if (value.is_number_unsigned()) {
    return static_cast<int64_t>(std::min<uint64_t>(value.get<uint64_t>(), kLargest));
  }
  if (value.is_number_integer()) {
    const auto count = value.get<int64_t>();
    return count < 0 ? std::nullopt : std::optional(count);
  }
  if (!value.is_number_float()) return std::nullopt;
  const auto count = value.get<double>();
  if (!(count >= 0) || count != std::floor(count)) return std::nullopt;
  return count < 9.2e18 ? static_cast<int64_t>(count) : kLargest;
}

}  // namespace weft
