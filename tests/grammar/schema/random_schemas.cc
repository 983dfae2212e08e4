#include "tests/grammar/schema/random_schemas.h"

#include <array>
#include <string>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"a", "b", "ab", "c"};
constexpr std::array<std::string_view, 6> kTexts = {"", "a", "b", "ab", "ba", "é"};
constexpr std::array<double, 7> kNumbers = {0, 1, 2, 3, -1, 1.5, 10};
constexpr std::array<std::string_view, 6> kPatterns = {"^a", "b$", "^[ab]*$", "a", "^ab?$", "^.$"};
constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "object",  "array"};

}  // namespace

RandomSchemas::Json RandomSchemas::Document() {
  Json document = Schema(3);
  while (!document.is_object()) document = Schema(3);
  document["$defs"]["x"] = Schema(2);
  document["$defs"]["y"] = Schema(1);
  return document;
}

RandomSchemas::Json RandomSchemas::Schema(int depth) {
  if (OneIn(10)) return !OneIn(3);
  Json schema = Json::object();
  if (OneIn(2)) schema["type"] = Type();
  const uint32_t count = depth <= 0 ? Below(2) : 1 + Below(3);
  for (uint32_t i = 0; i < count; ++i) AddKeyword(schema, depth);
  return schema;
}

RandomSchemas::Json RandomSchemas::Type() {
  if (!OneIn(3)) return OneOf(kTypes);
  Json types = Json::array();
  for (const std::string_view type : kTypes) {
    if (OneIn(3)) types.push_back(type);
  }
  if (types.empty()) types.push_back(OneOf(kTypes));
  return types;
}

void RandomSchemas::AddKeyword(Json& schema, int depth) {
  const uint32_t kind = Below(depth <= 0 ? 6 : 20);
  if (kind < 1) {
    schema["enum"] = {Value(1), Value(1), Value(0)};
  } else if (kind < 2) {
    schema["const"] = Value(2);
  } else if (kind < 4) {
    AddNumberKeyword(schema);
  } else if (kind < 6) {
    AddStringKeyword(schema);
  } else if (kind < 11) {
    AddObjectKeyword(schema, depth - 1);
  } else if (kind < 15) {
    AddArrayKeyword(schema, depth - 1);
  } else {
    AddCombination(schema, depth - 1);
  }
}

void RandomSchemas::AddNumberKeyword(Json& schema) {
  constexpr std::array kBounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
  if (OneIn(4)) {
    schema["multipleOf"] = OneOf(std::array<double, 4>{1, 2, 0.5, 3});
  } else {
    schema[OneOf(kBounds)] = OneOf(kNumbers);
  }
}

void RandomSchemas::AddStringKeyword(Json& schema) {
  switch (Below(3)) {
    case 0:
      schema["minLength"] = Below(3);
      break;
    case 1:
      schema["maxLength"] = Below(4);
      break;
    default:
      schema["pattern"] = OneOf(kPatterns);
  }
}

void RandomSchemas::AddObjectKeyword(Json& schema, int depth) {
  switch (Below(14)) {
    case 0:
    case 1:
    case 2:
      schema["properties"] = NamedSchemas(kNames, depth);
      break;
    case 3:
      schema["patternProperties"] = NamedSchemas(kPatterns, depth);
      break;
    case 4:
    case 5:
      schema["additionalProperties"] = OneIn(2) ? Json(false) : Schema(depth);
      break;
    case 6:
    case 7:
      schema["required"] = Names();
      break;
    case 8:
      schema["minProperties"] = Below(4);
      break;
    case 9:
      schema["maxProperties"] = Below(4);
      break;
    case 10:
      schema["propertyNames"] = Schema(0);
      break;
    case 11:
      schema["dependentRequired"][std::string(OneOf(kNames))] = Names();
      break;
    case 12:
      schema["dependentSchemas"][std::string(OneOf(kNames))] = Schema(depth);
      break;
    default:
      schema["unevaluatedProperties"] = OneIn(2) ? Json(false) : Schema(depth);
  }
}

void RandomSchemas::AddArrayKeyword(Json& schema, int depth) {
  switch (Below(9)) {
    case 0:
      schema["prefixItems"] = Schemas(depth);
      break;
    case 1:
      schema["items"] = Schema(depth);
      break;
    case 2:
    case 3:
      schema["contains"] = Schema(depth);
      if (OneIn(2)) schema["minContains"] = Below(3);
      if (OneIn(2)) schema["maxContains"] = Below(3);
      break;
    case 4:
      schema["minItems"] = Below(4);
      break;
    case 5:
      schema["maxItems"] = Below(4);
      break;
    case 6:
    case 7:
      schema["uniqueItems"] = true;
      break;
    default:
      schema["unevaluatedItems"] = OneIn(2) ? Json(false) : Schema(depth);
  }
}

void RandomSchemas::AddCombination(Json& schema, int depth) {
  switch (Below(8)) {
    case 0:
      schema["allOf"] = Schemas(depth);
      break;
    case 1:
    case 2:
      schema["anyOf"] = Schemas(depth);
      break;
    case 3:
    case 4:
      schema["oneOf"] = Schemas(depth);
      break;
    case 5:
      schema["not"] = Schema(depth);
      break;
    case 6:
      schema["if"] = Schema(depth);
      if (!OneIn(3)) schema["then"] = Schema(depth);
      if (!OneIn(3)) schema["else"] = Schema(depth);
      break;
    default:
      schema["$ref"] = OneOf(std::array{"#", "#/$defs/x", "#/$defs/y"});
  }
}

RandomSchemas::Json RandomSchemas::Schemas(int depth) {
  Json schemas = Json::array();
  const uint32_t count = 1 + Below(3);
  for (uint32_t i = 0; i < count; ++i) schemas.push_back(Schema(depth));
  return schemas;
}

RandomSchemas::Json RandomSchemas::NamedSchemas(std::span<const std::string_view> names,
                                                int depth) {
  Json schemas = Json::object();
  const uint32_t count = 1 + Below(3);
  for (uint32_t i = 0; i < count; ++i) schemas[std::string(OneOf(names))] = Schema(depth);
  return schemas;
}

RandomSchemas::Json RandomSchemas::Names() {
  Json names = Json::array();
  for (const std::string_view name : kNames) {
    if (OneIn(3)) names.push_back(name);
  }
  return names;
}

RandomSchemas::Json RandomSchemas::Value(int depth) {
  switch (Below(depth <= 0 ? 6 : 11)) {
    case 0:
      return nullptr;
    case 1:
      return OneIn(2);
    case 2:
    case 3: {
      const double number = OneOf(kNumbers);
      if (number != static_cast<int>(number) || OneIn(4)) return number;
      return static_cast<int>(number);
    }
    case 4:
    case 5:
      return OneOf(kTexts);
    case 6:
    case 7: {
      Json items = Json::array();
      const uint32_t count = Below(4);
      for (uint32_t i = 0; i < count; ++i) items.push_back(Value(depth - 1));
      return items;
    }
    default: {
      Json object = Json::object();
      const uint32_t count = Below(4);
      for (uint32_t i = 0; i < count; ++i) object[std::string(OneOf(kNames))] = Value(depth - 1);
      return object;
    }
  }
}

}  // namespace weft
