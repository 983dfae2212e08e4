// What a schema says of a value, read off its nodes word by word: the oracle of tests. Slow, and
// recursive over both.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "grammar/regex/regex.h"
#include "grammar/schema/schema_node.h"
#include "tests/grammar/schema/exact_number.h"

namespace weft {

// Numbers are what the shortest text of their doubles says.
class NaiveValidator {
 public:
  // Borrows the document.
  explicit NaiveValidator(const SchemaDocument& document) : document_(document) {}

  bool Accepts(const nlohmann::ordered_json& value);

 private:
  // What has been looked at, of one value.
  struct Evaluated {
    std::set<std::string> properties;
    std::set<size_t> items;

    void Add(const Evaluated& other);
  };

  // `evaluated` grows if the schema holds.
  bool Holds(SchemaId id, const nlohmann::ordered_json& value, Evaluated& evaluated);
  bool HoldsAlone(SchemaId id, const nlohmann::ordered_json& value);
  bool KeywordsHold(const SchemaNode& node, const nlohmann::ordered_json& value);
  static bool NumberHolds(const SchemaNode& node, const ExactNumber& number);
  bool StringHolds(const SchemaNode& node, const std::string& text);
  bool ObjectHolds(const SchemaNode& node, const nlohmann::ordered_json& object,
                   Evaluated& evaluated);
  bool ArrayHolds(const SchemaNode& node, const nlohmann::ordered_json& array,
                  Evaluated& evaluated);
  bool InPlaceHolds(const SchemaNode& node, const nlohmann::ordered_json& value,
                    Evaluated& evaluated);
  bool UnevaluatedHolds(const SchemaNode& node, const nlohmann::ordered_json& value,
                        Evaluated& evaluated);
  bool Matches(const std::string& pattern, const std::string& text);

  const SchemaDocument& document_;
  RegexArena arena_;
  std::map<std::string, RegexId> patterns_;
  std::map<std::pair<SchemaId, const nlohmann::ordered_json*>, bool> known_;
};

}  // namespace weft
