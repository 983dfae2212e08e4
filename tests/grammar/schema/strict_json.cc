#include "tests/grammar/schema/strict_json.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft {

std::optional<nlohmann::ordered_json> ParseStrictly(const std::string& text) {
  using Json = nlohmann::ordered_json;
  std::vector<std::vector<std::string>> names;
  bool has_twice = false;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key) {
      std::vector<std::string>& seen = names.back();
      const auto name = parsed.get<std::string>();
      has_twice = has_twice || std::ranges::find(seen, name) != seen.end();
      seen.push_back(name);
    }
    return true;
  };
  Json value = Json::parse(text, look, false);
  if (value.is_discarded() || has_twice) return std::nullopt;
  return value;
}

bool HasLongNumber(std::string_view text) {
  constexpr int kMostDigits = 14;
  constexpr int kMostExponentDigits = 2;
  int digits = 0;  // still free
  for (const char byte : text) {
    if (byte >= '0' && byte <= '9') {
      if (--digits < 0) return true;
    } else if (byte == 'e' || byte == 'E') {
      digits = kMostExponentDigits;
    } else if (byte != '.' && byte != '+' && byte != '-') {
      digits = kMostDigits;
    }
  }
  return false;
}

}  // namespace weft
