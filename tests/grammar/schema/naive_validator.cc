#include "tests/grammar/schema/naive_validator.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "grammar/regex/pattern.h"
#include "grammar/regex/string_dfa.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

bool AreEqual(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return ExactNumber(a.dump()) == ExactNumber(b.dump());
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::ranges::equal(a, b, AreEqual);
  if (!a.is_object()) return a == b;
  return std::ranges::all_of(a.items(), [&](const auto& member) {
    return b.contains(member.key()) && AreEqual(member.value(), b.at(member.key()));
  });
}

bool IsOfType(JsonTypeSet types, const Json& value) {
  if (value.is_null()) return types.Has(JsonType::kNull);
  if (value.is_boolean()) return types.Has(JsonType::kBoolean);
  if (value.is_string()) return types.Has(JsonType::kString);
  if (value.is_object()) return types.Has(JsonType::kObject);
  if (value.is_array()) return types.Has(JsonType::kArray);
  return types.Has(JsonType::kNumber) ||
         (types.Has(JsonType::kInteger) && ExactNumber(value.dump()).IsInteger()) ||
         (types.Has(JsonType::kPlainInteger) && !value.is_number_float());
}

int64_t CountCodePoints(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

bool IsWithin(int64_t count, std::optional<int64_t> least, std::optional<int64_t> most) {
  return (!least || count >= *least) && (!most || count <= *most);
}

}  // namespace

void NaiveValidator::Evaluated::Add(const Evaluated& other) {
  properties.insert(other.properties.begin(), other.properties.end());
  items.insert(other.items.begin(), other.items.end());
}

bool NaiveValidator::Accepts(const Json& value) {
  known_.clear();
  return HoldsAlone(document_.root, value);
}

bool NaiveValidator::HoldsAlone(SchemaId id, const Json& value) {
  const auto [entry, is_new] = known_.try_emplace({id, &value});
  if (!is_new) return entry->second;
  Evaluated evaluated;
  return entry->second = Holds(id, value, evaluated);
}

bool NaiveValidator::Holds(SchemaId id, const Json& value, Evaluated& evaluated) {
  const SchemaNode& node = document_.nodes[static_cast<size_t>(id)];
  if (node.boolean_schema) return *node.boolean_schema;
  Evaluated own;
  const bool holds = KeywordsHold(node, value) && ObjectHolds(node, value, own) &&
                     ArrayHolds(node, value, own) && InPlaceHolds(node, value, own) &&
                     UnevaluatedHolds(node, value, own);
  if (holds) evaluated.Add(own);
  return holds;
}

bool NaiveValidator::KeywordsHold(const SchemaNode& node, const Json& value) {
  if (node.types && !IsOfType(*node.types, value)) return false;
  const auto is_value = [&](const Json& other) { return AreEqual(other, value); };
  if (node.enum_values && std::ranges::none_of(*node.enum_values, is_value)) return false;
  if (node.const_value && !is_value(*node.const_value)) return false;
  if (value.is_number() && !NumberHolds(node, ExactNumber(value.dump()))) return false;
  return !value.is_string() || StringHolds(node, value.get<std::string>());
}

bool NaiveValidator::NumberHolds(const SchemaNode& node, const ExactNumber& number) {
  if (node.minimum && number < ExactNumber(*node.minimum)) return false;
  if (node.maximum && number > ExactNumber(*node.maximum)) return false;
  if (node.exclusive_minimum && number <= ExactNumber(*node.exclusive_minimum)) return false;
  if (node.exclusive_maximum && number >= ExactNumber(*node.exclusive_maximum)) return false;
  return !node.multiple_of || number.IsMultipleOf(ExactNumber(*node.multiple_of));
}

bool NaiveValidator::StringHolds(const SchemaNode& node, const std::string& text) {
  return IsWithin(CountCodePoints(text), node.min_length, node.max_length) &&
         (!node.pattern || Matches(*node.pattern, text));
}

bool NaiveValidator::Matches(const std::string& pattern, const std::string& text) {
  const auto [entry, is_new] = patterns_.try_emplace(pattern);
  if (is_new) entry->second = ParsePattern(&arena_, pattern, PatternDialect::kEcma).value();
  StringDfa dfa(&arena_, Spelling::kPlain);
  StringDfa::State state = dfa.Start(entry->second);
  for (const char c : text) {
    if (state != StringDfa::kDead) state = dfa.Step(state, static_cast<uint8_t>(c));
  }
  return state != StringDfa::kDead && dfa.Accepts(state);
}

bool NaiveValidator::ObjectHolds(const SchemaNode& node, const Json& object, Evaluated& evaluated) {
  if (!object.is_object()) return true;
  if (!IsWithin(std::ssize(object), node.min_properties, node.max_properties)) return false;
  const auto has = [&](const std::string& name) { return object.contains(name); };
  if (!std::ranges::all_of(node.required, has)) return false;
  for (const auto& [name, value] : object.items()) {
    bool is_listed = false;
    for (const auto& [listed, schema] : node.properties) {
      if (listed != name) continue;
      is_listed = true;
      if (!HoldsAlone(schema, value)) return false;
    }
    for (const auto& [pattern, schema] : node.pattern_properties) {
      if (!Matches(pattern, name)) continue;
      is_listed = true;
      if (!HoldsAlone(schema, value)) return false;
    }
    if (is_listed || node.additional_properties) evaluated.properties.insert(name);
    if (!is_listed && node.additional_properties &&
        !HoldsAlone(*node.additional_properties, value)) {
      return false;
    }
    Evaluated of_name;
    if (node.property_names && !Holds(*node.property_names, Json(name), of_name)) return false;
  }
  for (const auto& [name, others] : node.dependent_required) {
    if (has(name) && !std::ranges::all_of(others, has)) return false;
  }
  return std::ranges::all_of(node.dependent_schemas, [&](const auto& dependent) {
    return !has(dependent.first) || Holds(dependent.second, object, evaluated);
  });
}

bool NaiveValidator::ArrayHolds(const SchemaNode& node, const Json& array, Evaluated& evaluated) {
  if (!array.is_array()) return true;
  if (!IsWithin(std::ssize(array), node.min_items, node.max_items)) return false;
  for (size_t i = 0; node.unique_items && i < array.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (AreEqual(array[i], array[j])) return false;
    }
  }
  int64_t contained = 0;
  for (size_t i = 0; i < array.size(); ++i) {
    const bool is_prefix = i < node.prefix_items.size();
    if (is_prefix || node.items) {
      evaluated.items.insert(i);
      if (!HoldsAlone(is_prefix ? node.prefix_items[i] : *node.items, array[i])) return false;
    }
    if (node.contains && HoldsAlone(*node.contains, array[i])) {
      evaluated.items.insert(i);
      ++contained;
    }
  }
  return !node.contains || IsWithin(contained, node.min_contains.value_or(1), node.max_contains);
}

bool NaiveValidator::InPlaceHolds(const SchemaNode& node, const Json& value, Evaluated& evaluated) {
  const auto count = [&](const std::vector<SchemaId>& schemas) {
    return std::ranges::count_if(schemas,
                                 [&](SchemaId schema) { return Holds(schema, value, evaluated); });
  };
  if (count(node.all_of) != std::ssize(node.all_of)) return false;
  if (!node.any_of.empty() && count(node.any_of) == 0) return false;
  if (!node.one_of.empty() && count(node.one_of) != 1) return false;
  if (node.not_schema && HoldsAlone(*node.not_schema, value)) return false;
  if (!node.if_schema) return true;
  const std::optional<SchemaId> next =
      Holds(*node.if_schema, value, evaluated) ? node.then_schema : node.else_schema;
  return !next || Holds(*next, value, evaluated);
}

bool NaiveValidator::UnevaluatedHolds(const SchemaNode& node, const Json& value,
                                      Evaluated& evaluated) {
  if (value.is_object() && node.unevaluated_properties) {
    for (const auto& [name, property] : value.items()) {
      if (evaluated.properties.insert(name).second &&
          !HoldsAlone(*node.unevaluated_properties, property)) {
        return false;
      }
    }
  }
  for (size_t i = 0; value.is_array() && node.unevaluated_items && i < value.size(); ++i) {
    if (evaluated.items.insert(i).second && !HoldsAlone(*node.unevaluated_items, value[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace weft
