// What a JSON Schema says, whatever draft it is written in: a table of nodes in the words of
// 2020-12, with every reference resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {

// Index of a node in its document's table.
using SchemaId = int32_t;

// What `type` allows, as a set of bits. "number" allows integers too, without their bit.
enum class JsonType : uint8_t {
  kNull = 1 << 0,
  kBoolean = 1 << 1,
  kInteger = 1 << 2,  // any number without a fraction: 1.0 and 1e2 as well
  kNumber = 1 << 3,
  kString = 1 << 4,
  kObject = 1 << 5,
  kArray = 1 << 6,
  kPlainInteger = 1 << 7,  // draft 4's "integer": written without a fraction and an exponent
};

class JsonTypeSet {
 public:
  void Add(JsonType type) { bits_ |= static_cast<uint8_t>(type); }
  bool Has(JsonType type) const { return (bits_ & static_cast<uint8_t>(type)) != 0; }
  friend bool operator==(JsonTypeSet, JsonTypeSet) = default;

 private:
  uint8_t bits_ = 0;
};

using NamedSchemas = std::vector<std::pair<std::string, SchemaId>>;

// One schema: every field is a keyword, and an instance must satisfy all that are given. Fields
// that are empty say nothing.
struct SchemaNode {
  std::string pointer;  // JSON pointer of the schema in the document, "" for the whole of it

  std::optional<bool> boolean_schema;  // the schemas `true` and `false`, without keywords

  std::optional<JsonTypeSet> types;
  std::optional<std::vector<nlohmann::ordered_json>> enum_values;
  std::optional<nlohmann::ordered_json> const_value;

  // Numbers as decimal text, as JSON spells them: "3", "-0.25", "1e+300". Integers of 64 bits are
  // exact; of others it is the shortest text that names the nearest double.
  std::optional<std::string> minimum;
  std::optional<std::string> exclusive_minimum;
  std::optional<std::string> maximum;
  std::optional<std::string> exclusive_maximum;
  std::optional<std::string> multiple_of;  // above zero

  // Counts are never negative; what exceeds 64 bits is the largest there is.
  std::optional<int64_t> min_length;  // code points
  std::optional<int64_t> max_length;
  std::optional<std::string> pattern;  // as it stands: whether it is a regex is not checked here
  std::optional<std::string> format;   // neither is this

  NamedSchemas properties;          // in the schema's order
  NamedSchemas pattern_properties;  // by the patterns' text
  std::optional<SchemaId> additional_properties;
  std::optional<SchemaId> unevaluated_properties;
  std::optional<SchemaId> property_names;
  std::vector<std::string> required;  // no name twice
  std::optional<int64_t> min_properties;
  std::optional<int64_t> max_properties;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  NamedSchemas dependent_schemas;

  std::vector<SchemaId> prefix_items;
  std::optional<SchemaId> items;  // those behind prefix_items
  std::optional<SchemaId> unevaluated_items;
  std::optional<SchemaId> contains;
  std::optional<int64_t> min_contains;  // with `contains` only; where not given, 1
  std::optional<int64_t> max_contains;  // with `contains` only
  std::optional<int64_t> min_items;
  std::optional<int64_t> max_items;
  bool unique_items = false;

  // Schemas of the same place in the instance. No circle of nodes goes through these and
  // dependent_schemas alone.
  std::vector<SchemaId> all_of;  // and what $ref, $dynamicRef and $recursiveRef lead to
  std::vector<SchemaId> any_of;
  std::vector<SchemaId> one_of;
  std::optional<SchemaId> not_schema;
  std::optional<SchemaId> if_schema;
  std::optional<SchemaId> then_schema;  // with `if` only
  std::optional<SchemaId> else_schema;  // with `if` only
};

struct SchemaDocument {
  std::vector<SchemaNode> nodes;
  SchemaId root = 0;
};

}  // namespace weft
