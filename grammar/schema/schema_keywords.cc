#include "grammar/schema/schema_keywords.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/schema_values.h"
#include "grammar/schema/uri_reference.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Errors of readers have a pointer from the keyword's value on, and no keyword.
struct KeywordInput {
  SchemaBuilder& builder;
  const ordered_json& value;
  SchemaNode& node;
};
using KeywordReader = SchemaResult<void> (*)(KeywordInput);

tl::unexpected<SchemaError> Malformed(const ordered_json& found, std::string_view expected,
                                      std::string pointer = "") {
  return tl::unexpected<SchemaError>(
      SchemaError{ErrorCode::kInvalidArgument, std::move(pointer), "",
                  fmt::format("is {}, expected {}", Described(found), expected)});
}

tl::unexpected<SchemaError> Refused(ErrorCode code, std::string message) {
  return tl::unexpected<SchemaError>(SchemaError{code, "", "", std::move(message)});
}

template <typename T>
SchemaResult<T> Below(SchemaResult<T> result, std::string_view step) {
  if (!result) result.error().pointer.insert(0, fmt::format("/{}", step));
  return result;
}

const ordered_json* Sibling(const KeywordInput& input, std::string_view keyword) {
  const auto found = input.builder.schema().find(keyword);
  return found == input.builder.schema().end() ? nullptr : &*found;
}

// Plain values ------------------------------------------------------------------------------------

template <auto kField>
SchemaResult<void> ReadCount(KeywordInput input) {
  const std::optional<int64_t> count = CountIn(input.value);
  if (!count) return Malformed(input.value, "a whole number, 0 or more");
  input.node.*kField = *count;
  return {};
}

template <auto kField>
SchemaResult<void> ReadContainsCount(KeywordInput input) {
  const std::optional<int64_t> before = input.node.*kField;
  WEFT_RETURN_IF_ERROR(ReadCount<kField>(input));
  if (Sibling(input, "contains") == nullptr) input.node.*kField = before;
  return {};
}

template <auto kField>
SchemaResult<void> ReadText(KeywordInput input) {
  if (!input.value.is_string()) return Malformed(input.value, "a string");
  input.node.*kField = input.value.get<std::string>();
  return {};
}

SchemaResult<void> ReadUniqueItems(KeywordInput input) {
  if (!input.value.is_boolean()) return Malformed(input.value, "true or false");
  input.node.unique_items = input.value.get<bool>();
  return {};
}

// `minimum` and `maximum`, which draft 4 makes exclusive with a boolean beside them.
template <auto kField, auto kExclusiveField>
SchemaResult<void> ReadLimit(KeywordInput input, std::string_view exclusive) {
  if (!input.value.is_number()) return Malformed(input.value, "a number");
  const ordered_json* sibling = Sibling(input, exclusive);
  const bool is_exclusive = sibling != nullptr && sibling->is_boolean() && sibling->get<bool>();
  input.node.*(is_exclusive ? kExclusiveField : kField) = input.value.dump();
  return {};
}

SchemaResult<void> ReadMinimum(KeywordInput input) {
  return ReadLimit<&SchemaNode::minimum, &SchemaNode::exclusive_minimum>(input, "exclusiveMinimum");
}

SchemaResult<void> ReadMaximum(KeywordInput input) {
  return ReadLimit<&SchemaNode::maximum, &SchemaNode::exclusive_maximum>(input, "exclusiveMaximum");
}

template <auto kField>
SchemaResult<void> ReadExclusiveLimit(KeywordInput input, std::string_view inclusive) {
  if (input.value.is_boolean()) {
    if (input.value.get<bool>() && Sibling(input, inclusive) == nullptr) {
      return Malformed(input.value, fmt::format("a number, or {} beside it", inclusive));
    }
    return {};
  }
  if (!input.value.is_number()) return Malformed(input.value, "a number");
  input.node.*kField = input.value.dump();
  return {};
}

SchemaResult<void> ReadExclusiveMinimum(KeywordInput input) {
  return ReadExclusiveLimit<&SchemaNode::exclusive_minimum>(input, "minimum");
}

SchemaResult<void> ReadExclusiveMaximum(KeywordInput input) {
  return ReadExclusiveLimit<&SchemaNode::exclusive_maximum>(input, "maximum");
}

SchemaResult<void> ReadMultipleOf(KeywordInput input) {
  if (!input.value.is_number() || input.value.get<double>() <= 0) {
    return Malformed(input.value, "a number above 0");
  }
  input.node.multiple_of = input.value.dump();
  return {};
}

SchemaResult<void> AddType(const ordered_json& name, SchemaDraft draft, JsonTypeSet& types) {
  if (name == "integer" && draft == SchemaDraft::k4) {
    types.Add(JsonType::kPlainInteger);
    return {};
  }
  static constexpr std::array<std::pair<std::string_view, JsonType>, 7> kNames = {{
      {"null", JsonType::kNull},
      {"boolean", JsonType::kBoolean},
      {"integer", JsonType::kInteger},
      {"number", JsonType::kNumber},
      {"string", JsonType::kString},
      {"object", JsonType::kObject},
      {"array", JsonType::kArray},
  }};
  for (const auto& [text, type] : kNames) {
    if (name == text) {
      types.Add(type);
      return {};
    }
  }
  return Malformed(name, "null, boolean, integer, number, string, object or array");
}

SchemaResult<void> ReadType(KeywordInput input) {
  JsonTypeSet types;
  if (input.value.is_array()) {
    if (input.value.empty()) return Malformed(input.value, "a type, or several");
    for (size_t i = 0; i < input.value.size(); ++i) {
      WEFT_RETURN_IF_ERROR(
          Below(AddType(input.value[i], input.builder.draft(), types), std::to_string(i)));
    }
  } else {
    WEFT_RETURN_IF_ERROR(AddType(input.value, input.builder.draft(), types));
  }
  input.node.types = types;
  return {};
}

SchemaResult<void> ReadEnum(KeywordInput input) {
  if (!input.value.is_array()) return Malformed(input.value, "an array of values");
  input.node.enum_values.emplace(input.value.begin(), input.value.end());
  return {};
}

SchemaResult<void> ReadConst(KeywordInput input) {
  input.node.const_value = input.value;
  return {};
}

SchemaResult<std::vector<std::string>> NamesIn(const ordered_json& value) {
  if (!value.is_array()) return Malformed(value, "an array of names");
  std::vector<std::string> names;
  std::unordered_set<std::string_view> known;
  for (size_t i = 0; i < value.size(); ++i) {
    const auto* name = value[i].get_ptr<const std::string*>();
    if (name == nullptr) return Malformed(value[i], "a name", fmt::format("/{}", i));
    if (known.insert(*name).second) names.push_back(*name);
  }
  return names;
}

SchemaResult<void> ReadRequired(KeywordInput input) {
  WEFT_ASSIGN_OR_RETURN(input.node.required, NamesIn(input.value));
  return {};
}

SchemaResult<void> ReadDependentRequired(KeywordInput input) {
  if (!input.value.is_object()) return Malformed(input.value, "an object of arrays of names");
  for (const auto& [name, needed] : input.value.items()) {
    WEFT_ASSIGN_OR_RETURN(auto names, Below(NamesIn(needed), PointerToken(name)));
    input.node.dependent_required.emplace_back(name, std::move(names));
  }
  return {};
}

// Schemas -----------------------------------------------------------------------------------------

template <auto kField>
SchemaResult<void> ReadSchemaOf(KeywordInput input) {
  WEFT_ASSIGN_OR_RETURN(input.node.*kField, input.builder.Child(input.value));
  return {};
}

// `then` and `else` say nothing without `if`.
template <auto kField>
SchemaResult<void> ReadBranch(KeywordInput input) {
  return Sibling(input, "if") == nullptr ? SchemaResult<void>() : ReadSchemaOf<kField>(input);
}

SchemaResult<void> AddSchemas(KeywordInput input, std::vector<SchemaId>& schemas) {
  for (size_t i = 0; i < input.value.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(const SchemaId schema,
                          Below(input.builder.Child(input.value[i]), std::to_string(i)));
    schemas.push_back(schema);
  }
  return {};
}

template <auto kField>
SchemaResult<void> ReadSchemaList(KeywordInput input) {
  if (!input.value.is_array() || input.value.empty()) {
    return Malformed(input.value, "an array of schemas, one or more");
  }
  return AddSchemas(input, input.node.*kField);
}

template <auto kField>
SchemaResult<void> ReadNamedSchemas(KeywordInput input) {
  if (!input.value.is_object()) return Malformed(input.value, "an object of schemas");
  for (const auto& [name, value] : input.value.items()) {
    WEFT_ASSIGN_OR_RETURN(const SchemaId schema,
                          Below(input.builder.Child(value), PointerToken(name)));
    (input.node.*kField).emplace_back(name, schema);
  }
  return {};
}

SchemaResult<void> ReadDefinitions(KeywordInput input) {
  if (!input.value.is_object()) return Malformed(input.value, "an object of schemas");
  return {};
}

// Up to 2019-09 an array of them is what prefixItems is since, and the rest is additionalItems'.
SchemaResult<void> ReadItems(KeywordInput input) {
  if (!input.value.is_array()) return ReadSchemaOf<&SchemaNode::items>(input);
  if (Sibling(input, "prefixItems") != nullptr) {
    return Malformed(input.value, "a schema, beside prefixItems");
  }
  return AddSchemas(input, input.node.prefix_items);
}

SchemaResult<void> ReadAdditionalItems(KeywordInput input) {
  const ordered_json* items = Sibling(input, "items");
  if (items == nullptr || !items->is_array()) return {};
  return ReadSchemaOf<&SchemaNode::items>(input);
}

SchemaResult<void> ReadDependencies(KeywordInput input) {
  if (!input.value.is_object()) {
    return Malformed(input.value, "an object of schemas and arrays of names");
  }
  for (const auto& [name, value] : input.value.items()) {
    if (value.is_array()) {
      WEFT_ASSIGN_OR_RETURN(auto names, Below(NamesIn(value), PointerToken(name)));
      input.node.dependent_required.emplace_back(name, std::move(names));
    } else {
      WEFT_ASSIGN_OR_RETURN(const SchemaId schema,
                            Below(input.builder.Child(value), PointerToken(name)));
      input.node.dependent_schemas.emplace_back(name, schema);
    }
  }
  return {};
}

// References --------------------------------------------------------------------------------------

SchemaResult<void> ReadRef(KeywordInput input) {
  const auto* reference = input.value.get_ptr<const std::string*>();
  if (reference == nullptr) return Malformed(input.value, "a string");
  WEFT_ASSIGN_OR_RETURN(const SchemaId target, input.builder.Referred(*reference));
  input.node.all_of.push_back(target);
  return {};
}

SchemaResult<void> ReadDynamicRef(KeywordInput input) {
  const auto* reference = input.value.get_ptr<const std::string*>();
  if (reference == nullptr) return Malformed(input.value, "a string");
  WEFT_ASSIGN_OR_RETURN(const SchemaId target, input.builder.DynamicallyReferred(*reference));
  input.node.all_of.push_back(target);
  return {};
}

SchemaResult<void> ReadRecursiveRef(KeywordInput input) {
  if (input.value != "#") return Malformed(input.value, "'#'");
  WEFT_ASSIGN_OR_RETURN(const SchemaId target, input.builder.RecursivelyReferred());
  input.node.all_of.push_back(target);
  return {};
}

SchemaResult<void> ReadDraft(KeywordInput input) {
  const auto* uri = input.value.get_ptr<const std::string*>();
  if (uri == nullptr) return Malformed(input.value, "a string");
  if (DraftNamed(*uri, input.builder.draft())) return {};
  return Refused(ErrorCode::kUnsupported,
                 fmt::format("is {}, expected draft 4, 6, 7, 2019-09 or 2020-12 of json-schema.org",
                             Quoted(*uri)));
}

SchemaResult<void> RefuseOfDraft3(KeywordInput) {
  return Refused(ErrorCode::kUnsupported, "is of draft 3, which is not enforced");
}

// Sorted by name. $id, anchors and what else only names schemas are the index's.
constexpr std::array kReaders = {
    std::pair<std::string_view, KeywordReader>{"$defs", ReadDefinitions},
    std::pair<std::string_view, KeywordReader>{"$dynamicRef", ReadDynamicRef},
    std::pair<std::string_view, KeywordReader>{"$recursiveRef", ReadRecursiveRef},
    std::pair<std::string_view, KeywordReader>{"$ref", ReadRef},
    std::pair<std::string_view, KeywordReader>{"$schema", ReadDraft},
    std::pair<std::string_view, KeywordReader>{"additionalItems", ReadAdditionalItems},
    std::pair<std::string_view, KeywordReader>{"additionalProperties",
                                               ReadSchemaOf<&SchemaNode::additional_properties>},
    std::pair<std::string_view, KeywordReader>{"allOf", ReadSchemaList<&SchemaNode::all_of>},
    std::pair<std::string_view, KeywordReader>{"anyOf", ReadSchemaList<&SchemaNode::any_of>},
    std::pair<std::string_view, KeywordReader>{"const", ReadConst},
    std::pair<std::string_view, KeywordReader>{"contains", ReadSchemaOf<&SchemaNode::contains>},
    std::pair<std::string_view, KeywordReader>{"definitions", ReadDefinitions},
    std::pair<std::string_view, KeywordReader>{"dependencies", ReadDependencies},
    std::pair<std::string_view, KeywordReader>{"dependentRequired", ReadDependentRequired},
    std::pair<std::string_view, KeywordReader>{"dependentSchemas",
                                               ReadNamedSchemas<&SchemaNode::dependent_schemas>},
    std::pair<std::string_view, KeywordReader>{"disallow", RefuseOfDraft3},
    std::pair<std::string_view, KeywordReader>{"divisibleBy", RefuseOfDraft3},
    std::pair<std::string_view, KeywordReader>{"else", ReadBranch<&SchemaNode::else_schema>},
    std::pair<std::string_view, KeywordReader>{"enum", ReadEnum},
    std::pair<std::string_view, KeywordReader>{"exclusiveMaximum", ReadExclusiveMaximum},
    std::pair<std::string_view, KeywordReader>{"exclusiveMinimum", ReadExclusiveMinimum},
    std::pair<std::string_view, KeywordReader>{"extends", RefuseOfDraft3},
    std::pair<std::string_view, KeywordReader>{"format", ReadText<&SchemaNode::format>},
    std::pair<std::string_view, KeywordReader>{"if", ReadSchemaOf<&SchemaNode::if_schema>},
    std::pair<std::string_view, KeywordReader>{"items", ReadItems},
    std::pair<std::string_view, KeywordReader>{"maxContains",
                                               ReadContainsCount<&SchemaNode::max_contains>},
    std::pair<std::string_view, KeywordReader>{"maxItems", ReadCount<&SchemaNode::max_items>},
    std::pair<std::string_view, KeywordReader>{"maxLength", ReadCount<&SchemaNode::max_length>},
    std::pair<std::string_view, KeywordReader>{"maxProperties",
                                               ReadCount<&SchemaNode::max_properties>},
    std::pair<std::string_view, KeywordReader>{"maximum", ReadMaximum},
    std::pair<std::string_view, KeywordReader>{"minContains",
                                               ReadContainsCount<&SchemaNode::min_contains>},
    std::pair<std::string_view, KeywordReader>{"minItems", ReadCount<&SchemaNode::min_items>},
    std::pair<std::string_view, KeywordReader>{"minLength", ReadCount<&SchemaNode::min_length>},
    std::pair<std::string_view, KeywordReader>{"minProperties",
                                               ReadCount<&SchemaNode::min_properties>},
    std::pair<std::string_view, KeywordReader>{"minimum", ReadMinimum},
    std::pair<std::string_view, KeywordReader>{"multipleOf", ReadMultipleOf},
    std::pair<std::string_view, KeywordReader>{"not", ReadSchemaOf<&SchemaNode::not_schema>},
    std::pair<std::string_view, KeywordReader>{"oneOf", ReadSchemaList<&SchemaNode::one_of>},
    std::pair<std::string_view, KeywordReader>{"pattern", ReadText<&SchemaNode::pattern>},
    std::pair<std::string_view, KeywordReader>{"patternProperties",
                                               ReadNamedSchemas<&SchemaNode::pattern_properties>},
    std::pair<std::string_view, KeywordReader>{"prefixItems",
                                               ReadSchemaList<&SchemaNode::prefix_items>},
    std::pair<std::string_view, KeywordReader>{"properties",
                                               ReadNamedSchemas<&SchemaNode::properties>},
    std::pair<std::string_view, KeywordReader>{"propertyNames",
                                               ReadSchemaOf<&SchemaNode::property_names>},
    std::pair<std::string_view, KeywordReader>{"required", ReadRequired},
    std::pair<std::string_view, KeywordReader>{"then", ReadBranch<&SchemaNode::then_schema>},
    std::pair<std::string_view, KeywordReader>{"type", ReadType},
    std::pair<std::string_view, KeywordReader>{"unevaluatedItems",
                                               ReadSchemaOf<&SchemaNode::unevaluated_items>},
    std::pair<std::string_view, KeywordReader>{"unevaluatedProperties",
                                               ReadSchemaOf<&SchemaNode::unevaluated_properties>},
    std::pair<std::string_view, KeywordReader>{"uniqueItems", ReadUniqueItems},
};

SchemaResult<void> ReadKeyword(std::string_view keyword, KeywordInput input) {
  const auto found = std::ranges::lower_bound(kReaders, keyword, {},
                                              &std::pair<std::string_view, KeywordReader>::first);
  if (found == kReaders.end() || found->first != keyword) {
    if (const auto meant = SlipOf(keyword)) {
      return Refused(ErrorCode::kInvalidArgument,
                     fmt::format("is no keyword, but near {}", *meant));
    }
    return {};
  }
  if (HoldingOf(keyword) == SchemaHolding::kNone) {
    WEFT_RETURN_IF_ERROR(input.builder.Charge(input.value));
  }
  return found->second(input);
}

}  // namespace

SchemaResult<void> ReadKeywords(SchemaBuilder& builder, SchemaNode& node) {
  const ordered_json& schema = builder.schema();
  if (schema.is_boolean()) {
    node.boolean_schema = schema.get<bool>();
    return {};
  }
  const bool is_reference_alone = IsReferenceAlone(schema, builder.draft());
  for (const auto& [keyword, value] : schema.items()) {
    if (is_reference_alone && keyword != "$ref" && keyword != "$schema") continue;
    auto read = ReadKeyword(keyword, {builder, value, node});
    if (read) continue;
    SchemaError error = std::move(read).error();
    error.pointer = fmt::format("{}/{}{}", node.pointer, PointerToken(keyword), error.pointer);
    error.keyword = keyword;
    return tl::unexpected(std::move(error));
  }
  return {};
}

}  // namespace weft
