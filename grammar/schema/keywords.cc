#include "grammar/schema/keywords.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft {
namespace {

using enum SchemaHolding;

constexpr std::array kHoldings = {
    std::pair<std::string_view, SchemaHolding>{"$defs", kNamed},
    std::pair<std::string_view, SchemaHolding>{"additionalItems", kOne},
    std::pair<std::string_view, SchemaHolding>{"additionalProperties", kOne},
    std::pair<std::string_view, SchemaHolding>{"allOf", kList},
    std::pair<std::string_view, SchemaHolding>{"anyOf", kList},
    std::pair<std::string_view, SchemaHolding>{"contains", kOne},
    std::pair<std::string_view, SchemaHolding>{"definitions", kNamed},
    std::pair<std::string_view, SchemaHolding>{"dependencies", kNamed},  // or lists of names
    std::pair<std::string_view, SchemaHolding>{"dependentSchemas", kNamed},
    std::pair<std::string_view, SchemaHolding>{"else", kOne},
    std::pair<std::string_view, SchemaHolding>{"if", kOne},
    std::pair<std::string_view, SchemaHolding>{"items", kOneOrList},
    std::pair<std::string_view, SchemaHolding>{"not", kOne},
    std::pair<std::string_view, SchemaHolding>{"oneOf", kList},
    std::pair<std::string_view, SchemaHolding>{"patternProperties", kNamed},
    std::pair<std::string_view, SchemaHolding>{"prefixItems", kList},
    std::pair<std::string_view, SchemaHolding>{"properties", kNamed},
    std::pair<std::string_view, SchemaHolding>{"propertyNames", kOne},
    std::pair<std::string_view, SchemaHolding>{"then", kOne},
    std::pair<std::string_view, SchemaHolding>{"unevaluatedItems", kOne},
    std::pair<std::string_view, SchemaHolding>{"unevaluatedProperties", kOne},
};

// Those that say what an instance must be. Of annotations a slip costs nothing, of names for
// schemas ($id, $anchor, $defs) a reference that leads nowhere is refused anyway.
constexpr std::array<std::string_view, 46> kAssertions = {
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "disallow",
    "divisibleBy",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "extends",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
};

std::string Folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Whether one insertion, deletion, substitution or swap of neighbours makes `a` of `b`, or none.
bool IsOneEditAway(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() > b.size() + 1) return false;
  const size_t same = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::string_view rest_a = a.substr(same);
  const std::string_view rest_b = b.substr(same);
  if (a.size() > b.size()) return rest_a.substr(1) == rest_b;
  if (rest_a.size() < 2) return true;
  if (rest_a.substr(1) == rest_b.substr(1)) return true;
  return rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] && rest_a.substr(2) == rest_b.substr(2);
}

}  // namespace

SchemaHolding HoldingOf(std::string_view keyword) {
  const auto found = std::ranges::lower_bound(kHoldings, keyword, {},
                                              &std::pair<std::string_view, SchemaHolding>::first);
  return found != kHoldings.end() && found->first == keyword ? found->second : kNone;
}

std::optional<std::string_view> SlipOf(std::string_view name) {
  constexpr size_t kLongest = 22;  // a letter more than unevaluatedProperties
  // "_format" is how people take a keyword out, and "@type" is JSON-LD's.
  if (name.size() > kLongest || name.starts_with('_') || name.starts_with('@')) {
    return std::nullopt;
  }
  if (std::ranges::binary_search(kAssertions, name)) return std::nullopt;
  const std::string folded = Folded(name);
  for (const std::string_view keyword : kAssertions) {
    const std::string folded_keyword = Folded(keyword);
    // "note", "id" and the like are words of their own, a letter from "not" and "if".
    const bool is_near =
        keyword.size() < 4 ? folded == folded_keyword : IsOneEditAway(folded, folded_keyword);
    if (is_near) return keyword;
  }
  return std::nullopt;
}

}  // namespace weft
