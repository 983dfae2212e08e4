// Keywords and the fields that they become.
#include "grammar/schema/schema_reader.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/grammar/schema/read_schema.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::string> Pointers(const SchemaDocument& document,
                                  const std::vector<SchemaId>& schemas) {
  std::vector<std::string> pointers;
  for (const SchemaId schema : schemas) pointers.push_back(document.nodes[schema].pointer);
  return pointers;
}

TEST(SchemaReaderTest, BooleanSchemas) {
  EXPECT_EQ(RootOf("true").boolean_schema, true);
  EXPECT_EQ(RootOf("false").boolean_schema, false);
  EXPECT_EQ(RootOf("{}").boolean_schema, std::nullopt);
}

TEST(SchemaReaderTest, Types) {
  const SchemaNode one = RootOf(R"({"type": "integer"})");
  EXPECT_TRUE(one.types->Has(JsonType::kInteger));
  EXPECT_FALSE(one.types->Has(JsonType::kNumber));
  const SchemaNode two = RootOf(R"({"type": ["null", "array", "null"]})");
  EXPECT_TRUE(two.types->Has(JsonType::kNull));
  EXPECT_TRUE(two.types->Has(JsonType::kArray));
  EXPECT_FALSE(two.types->Has(JsonType::kObject));
  EXPECT_EQ(RootOf("{}").types, std::nullopt);
}

TEST(SchemaReaderTest, AnIntegerOfDraft4IsASpelling) {
  const SchemaNode node =
      RootOf(R"({"type": ["integer", "null"]})", {.default_draft = SchemaDraft::k4});
  EXPECT_TRUE(node.types->Has(JsonType::kPlainInteger));
  EXPECT_TRUE(node.types->Has(JsonType::kNull));
  EXPECT_FALSE(node.types->Has(JsonType::kInteger));
}

TEST(SchemaReaderTest, Values) {
  const SchemaNode node = RootOf(R"({"enum": [1, "a", {"b": null}], "const": [2]})");
  EXPECT_EQ(nlohmann::ordered_json(*node.enum_values).dump(), R"([1,"a",{"b":null}])");
  EXPECT_EQ(node.const_value->dump(), "[2]");
  EXPECT_EQ(RootOf(R"({"const": null})").const_value, nlohmann::ordered_json());
  EXPECT_TRUE(RootOf(R"({"enum": []})").enum_values->empty());
}

TEST(SchemaReaderTest, NumbersAreText) {
  const SchemaNode node = RootOf(
      R"({"minimum": -9223372036854775808, "maximum": 18446744073709551615,
          "exclusiveMinimum": 1e300, "exclusiveMaximum": 2.50, "multipleOf": 0.01})");
  EXPECT_EQ(node.minimum, "-9223372036854775808");
  EXPECT_EQ(node.maximum, "18446744073709551615");
  EXPECT_EQ(node.exclusive_minimum, "1e+300");
  EXPECT_EQ(node.exclusive_maximum, "2.5");
  EXPECT_EQ(node.multiple_of, "0.01");
}

TEST(SchemaReaderTest, ABooleanMakesALimitExclusive) {
  const SchemaNode node = RootOf(
      R"({"minimum": 1, "exclusiveMinimum": true, "exclusiveMaximum": false, "maximum": 2})");
  EXPECT_EQ(node.minimum, std::nullopt);
  EXPECT_EQ(node.exclusive_minimum, "1");
  EXPECT_EQ(node.maximum, "2");
  EXPECT_EQ(node.exclusive_maximum, std::nullopt);
  EXPECT_EQ(RootOf(R"({"exclusiveMaximum": true, "maximum": 2})").exclusive_maximum, "2");
}

TEST(SchemaReaderTest, CountsMayBeWrittenAsAnyNumber) {
  const SchemaNode node = RootOf(
      R"({"minLength": 2.0, "maxLength": 1e30, "minItems": 18446744073709551615, "maxItems": 3,
          "minProperties": 0, "maxProperties": 4, "minContains": 5, "maxContains": 6,
          "contains": true})");
  EXPECT_EQ(node.min_length, 2);
  EXPECT_EQ(node.max_length, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(node.min_items, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(node.max_items, 3);
  EXPECT_EQ(node.min_properties, 0);
  EXPECT_EQ(node.max_properties, 4);
  EXPECT_EQ(node.min_contains, 5);
  EXPECT_EQ(node.max_contains, 6);
}

TEST(SchemaReaderTest, Strings) {
  const SchemaNode node = RootOf(R"({"pattern": "^a$", "format": "date"})");
  EXPECT_EQ(node.pattern, "^a$");
  EXPECT_EQ(node.format, "date");
}

TEST(SchemaReaderTest, Objects) {
  const SchemaDocument document = ReadText(
      R"({"properties": {"b": true, "a/c": {}}, "patternProperties": {"^x": {}},
          "additionalProperties": false, "unevaluatedProperties": false, "propertyNames": {},
          "required": ["b", "a", "b"], "dependentRequired": {"b": ["a"]},
          "dependentSchemas": {"b": {}}})");
  const SchemaNode& node = document.nodes[document.root];
  ASSERT_THAT(node.properties, ElementsAre(Pair("b", testing::_), Pair("a/c", testing::_)));
  EXPECT_EQ(document.nodes[node.properties[0].second].boolean_schema, true);
  EXPECT_EQ(document.nodes[node.properties[1].second].pointer, "/properties/a~1c");
  ASSERT_THAT(node.pattern_properties, ElementsAre(Pair("^x", testing::_)));
  EXPECT_THAT(Pointers(document, {node.pattern_properties[0].second, *node.additional_properties,
                                  *node.unevaluated_properties, *node.property_names}),
              ElementsAre("/patternProperties/^x", "/additionalProperties",
                          "/unevaluatedProperties", "/propertyNames"));
  EXPECT_THAT(node.required, ElementsAre("b", "a"));
  EXPECT_THAT(node.dependent_required, ElementsAre(Pair("b", ElementsAre("a"))));
  ASSERT_THAT(node.dependent_schemas, ElementsAre(Pair("b", testing::_)));
}

TEST(SchemaReaderTest, DependenciesAreNamesOrSchemas) {
  const SchemaNode node = RootOf(R"({"dependencies": {"a": ["b", "c"], "d": {"minItems": 1}}})");
  EXPECT_THAT(node.dependent_required, ElementsAre(Pair("a", ElementsAre("b", "c"))));
  EXPECT_THAT(node.dependent_schemas, ElementsAre(Pair("d", testing::_)));
}

TEST(SchemaReaderTest, Arrays) {
  const SchemaDocument document =
      ReadText(R"({"prefixItems": [{}, false], "items": {"type": "null"}, "contains": {},
                   "unevaluatedItems": true, "uniqueItems": true})");
  const SchemaNode& node = document.nodes[document.root];
  EXPECT_THAT(Pointers(document, node.prefix_items),
              ElementsAre("/prefixItems/0", "/prefixItems/1"));
  EXPECT_THAT(Pointers(document, {*node.items, *node.contains, *node.unevaluated_items}),
              ElementsAre("/items", "/contains", "/unevaluatedItems"));
  EXPECT_TRUE(node.unique_items);
  EXPECT_FALSE(RootOf(R"({"uniqueItems": false})").unique_items);
}

TEST(SchemaReaderTest, AnArrayOfItemsIsAPrefix) {
  const SchemaDocument document = ReadText(R"({"additionalItems": false, "items": [{}, {}]})");
  const SchemaNode& node = document.nodes[document.root];
  EXPECT_THAT(Pointers(document, node.prefix_items), ElementsAre("/items/0", "/items/1"));
  EXPECT_THAT(Pointers(document, {*node.items}), ElementsAre("/additionalItems"));
  // Without an array additionalItems says nothing.
  EXPECT_EQ(RootOf(R"({"additionalItems": false})").items, std::nullopt);
  EXPECT_THAT(ReadText(R"({"additionalItems": false, "items": true})").nodes.size(), 2u);
}

TEST(SchemaReaderTest, SchemasOfTheSamePlace) {
  const SchemaDocument document =
      ReadText(R"({"allOf": [{}], "anyOf": [{}, {}], "oneOf": [true], "not": {}, "if": {},
                   "then": {}, "else": false})");
  const SchemaNode& node = document.nodes[document.root];
  EXPECT_THAT(Pointers(document, node.all_of), ElementsAre("/allOf/0"));
  EXPECT_THAT(Pointers(document, node.any_of), ElementsAre("/anyOf/0", "/anyOf/1"));
  EXPECT_THAT(Pointers(document, node.one_of), ElementsAre("/oneOf/0"));
  EXPECT_THAT(
      Pointers(document, {*node.not_schema, *node.if_schema, *node.then_schema, *node.else_schema}),
      ElementsAre("/not", "/if", "/then", "/else"));
}

TEST(SchemaReaderTest, WhatSaysNothingAloneIsLeftOut) {
  const SchemaNode node = RootOf(R"({"then": {}, "else": {}, "minContains": 2, "maxContains": 3})");
  EXPECT_EQ(node.then_schema, std::nullopt);
  EXPECT_EQ(node.else_schema, std::nullopt);
  EXPECT_EQ(node.min_contains, std::nullopt);
  EXPECT_EQ(node.max_contains, std::nullopt);
}

TEST(SchemaReaderTest, AnnotationsSayNothing) {
  const SchemaDocument document = ReadText(
      R"({"title": 1, "description": 2, "default": 3, "examples": 4, "deprecated": 5,
          "readOnly": 6, "$comment": 7, "contentEncoding": "base64", "contentSchema": {},
          "nullable": true, "discriminator": {"type": 5}, "x-any": {"type": 5}, "$id": "a",
          "$anchor": "b", "$vocabulary": {}, "$defs": {"unused": {"type": 5}}})");
  EXPECT_EQ(document.nodes.size(), 1u);
  EXPECT_EQ(document.nodes[0].types, std::nullopt);
}

TEST(SchemaReaderTest, OldSchemasWithReferencesAreNothingElse) {
  const std::string text = R"({"$defs": {"a": {}}, "$ref": "#/$defs/a", "minLength": 3})";
  for (const auto draft : {SchemaDraft::k4, SchemaDraft::k6, SchemaDraft::k7}) {
    EXPECT_EQ(RootOf(text, {.default_draft = draft}).min_length, std::nullopt);
  }
  for (const auto draft : {SchemaDraft::k2019_09, SchemaDraft::k2020_12}) {
    EXPECT_EQ(RootOf(text, {.default_draft = draft}).min_length, 3);
  }
}

TEST(SchemaReaderTest, SchemaNamesTheDraft) {
  const std::string rest = R"(", "$defs": {"a": {}}, "$ref": "#/$defs/a", "minLength": 3})";
  for (const std::string old :
       {"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema#"}) {
    EXPECT_EQ(RootOf(std::string(R"({"$schema": ")").append(old).append(rest)).min_length,
              std::nullopt)
        << old;
  }
  for (const std::string recent :
       {"https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema#", "http://json-schema.org/schema#"}) {
    EXPECT_EQ(RootOf(std::string(R"({"$schema": ")").append(recent).append(rest)).min_length, 3)
        << recent;
  }
}

}  // namespace
}  // namespace weft
