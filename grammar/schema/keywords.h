// The keywords of JSON Schema, of every draft: where schemas stand, and which names are slips.
#pragma once

#include <optional>
#include <string_view>

namespace weft {

// What a keyword's value has of schemas in it.
enum class SchemaHolding {
  kNone,
  kOne,
  kList,
  kNamed,      // an object of schemas
  kOneOrList,  // `items` up to 2019-09
};

// kNone for names that are no keywords.
SchemaHolding HoldingOf(std::string_view keyword);

// The keyword that somebody who wrote `name` must have meant: it is one letter away (missing, too
// much, another, or two changed about), capitals aside. nullopt for keywords themselves, and for
// names that are near none whose loss would let texts pass.
std::optional<std::string_view> SlipOf(std::string_view name);

}  // namespace weft
