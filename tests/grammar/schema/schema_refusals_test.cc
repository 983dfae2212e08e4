// What is malformed, what is not enforced, and what is too much.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/grammar/schema/read_schema.h"

namespace weft {
namespace {

TEST(SchemaRefusalsTest, MalformedKeywords) {
  const std::string types = "expected null, boolean, integer, number, string, object or array";
  const std::string count = "expected a whole number, 0 or more";
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"5", "the schema: 5 is no schema, expected an object, true or false"},
           {R"({"type": 5})", "/type: type: is 5, " + types},
           {R"({"type": "any"})", "/type: type: is 'any', " + types},
           {R"({"type": ["null", {}]})", "/type/1: type: is an object, " + types},
           {R"({"type": []})", "/type: type: is an array, expected a type, or several"},
           {R"({"enum": "a"})", "/enum: enum: is 'a', expected an array of values"},
           {R"({"minLength": -1})", "/minLength: minLength: is -1, " + count},
           {R"({"maxItems": 1.5})", "/maxItems: maxItems: is 1.5, " + count},
           {R"({"maxItems": -1.0})", "/maxItems: maxItems: is -1.0, " + count},
           {R"({"minContains": "1"})", "/minContains: minContains: is '1', " + count},
           {R"({"minimum": "1"})", "/minimum: minimum: is '1', expected a number"},
           {R"({"maximum": true})", "/maximum: maximum: is true, expected a number"},
           {R"({"exclusiveMinimum": null})",
            "/exclusiveMinimum: exclusiveMinimum: is null, expected a number"},
           {R"({"exclusiveMaximum": true})",
            "/exclusiveMaximum: exclusiveMaximum: is true, expected a number, or maximum beside "
            "it"},
           {R"({"multipleOf": 0})", "/multipleOf: multipleOf: is 0, expected a number above 0"},
           {R"({"multipleOf": -2})", "/multipleOf: multipleOf: is -2, expected a number above 0"},
           {R"({"pattern": 5})", "/pattern: pattern: is 5, expected a string"},
           {R"({"format": []})", "/format: format: is an array, expected a string"},
           {R"({"uniqueItems": 1})", "/uniqueItems: uniqueItems: is 1, expected true or false"},
           {R"({"required": "a"})", "/required: required: is 'a', expected an array of names"},
           {R"({"required": true})", "/required: required: is true, expected an array of names"},
           {R"({"required": ["a", 1]})", "/required/1: required: is 1, expected a name"},
           {R"({"properties": []})",
            "/properties: properties: is an array, expected an object of schemas"},
           {R"({"properties": {"a/b": 5}})",
            "/properties/a~1b: properties: 5 is no schema, expected an object, true or false"},
           {R"({"items": 5})", "/items: items: 5 is no schema, expected an object, true or false"},
           {R"({"items": [{}, 5]})",
            "/items/1: items: 5 is no schema, expected an object, true or false"},
           {R"({"prefixItems": [{}], "items": [{}]})",
            "/items: items: is an array, expected a schema, beside prefixItems"},
           {R"({"allOf": {}})",
            "/allOf: allOf: is an object, expected an array of schemas, one or more"},
           {R"({"anyOf": []})",
            "/anyOf: anyOf: is an array, expected an array of schemas, one or more"},
           {R"({"oneOf": [{"not": 5}]})",
            "/oneOf/0/not: not: 5 is no schema, expected an object, true or false"},
           {R"({"$defs": 5})", "/$defs: $defs: is 5, expected an object of schemas"},
           {R"({"$ref": 5})", "/$ref: $ref: is 5, expected a string"},
           {R"({"$dynamicRef": 5})", "/$dynamicRef: $dynamicRef: is 5, expected a string"},
           {R"({"$recursiveRef": "#a"})", "/$recursiveRef: $recursiveRef: is '#a', expected '#'"},
           {R"({"dependentRequired": {"a": {}}})",
            "/dependentRequired/a: dependentRequired: is an object, expected an array of names"},
           {R"({"dependencies": []})",
            "/dependencies: dependencies: is an array, expected an object of schemas and arrays of "
            "names"},
           {R"({"dependencies": {"a": ["b", 1]}})",
            "/dependencies/a/1: dependencies: is 1, expected a name"},
       }) {
    EXPECT_EQ(RefusalOf(text), expected) << text;
  }
}

TEST(SchemaRefusalsTest, ErrorsSayKeywordAndKind) {
  const auto error_of = [](const std::string& text) {
    return ReadSchema(nlohmann::ordered_json::parse(text), {}).error();
  };
  const SchemaError malformed = error_of(R"({"properties": {"a": {"minLength": -1}}})");
  EXPECT_EQ(malformed.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(malformed.pointer, "/properties/a/minLength");
  EXPECT_EQ(malformed.keyword, "minLength");
  EXPECT_EQ(error_of(R"({"extends": {}})").code, ErrorCode::kUnsupported);
  EXPECT_EQ(error_of(R"({"$ref": "http://a.test"})").code, ErrorCode::kUnsupported);
}

TEST(SchemaRefusalsTest, Slips) {
  EXPECT_EQ(RefusalOf(R"({"properties": {"a": {"additionalProperites": false}}})"),
            "/properties/a/additionalProperites: additionalProperites: is no keyword, but near "
            "additionalProperties");
  EXPECT_EQ(RefusalOf(R"({"properties": {"additionalProperites": {}}})"), "");
}

TEST(SchemaRefusalsTest, DraftsThatAreNotRead) {
  for (const std::string uri : {"http://json-schema.org/draft-03/schema#", "http://a.test/meta"}) {
    EXPECT_EQ(RefusalOf(R"({"$schema": ")" + uri + R"("})"),
              "/$schema: $schema: is '" + uri +
                  "', expected draft 4, 6, 7, 2019-09 or 2020-12 of json-schema.org");
  }
  EXPECT_EQ(RefusalOf(R"({"$schema": 5})"), "/$schema: $schema: is 5, expected a string");
  for (const std::string keyword : {"disallow", "divisibleBy", "extends"}) {
    EXPECT_EQ(RefusalOf(R"({")" + keyword + R"(": 5})"),
              fmt::format("/{0}: {0}: is of draft 3, which is not enforced", keyword));
  }
}

TEST(SchemaRefusalsTest, ContainsIn2019_09BesideUnevaluatedItems) {
  const std::string text = R"({"unevaluatedItems": false, "allOf": [{"contains": {}}]})";
  EXPECT_THAT(RefusalOf(text, {.default_draft = SchemaDraft::k2019_09}),
              testing::StartsWith("/allOf/0/contains: contains: does not count as evaluating"));
  EXPECT_EQ(RefusalOf(text), "");
  EXPECT_EQ(RefusalOf(R"({"contains": {}})", {.default_draft = SchemaDraft::k2019_09}), "");
}

std::string Nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += R"({"not":)";
  return text + "true" + std::string(static_cast<size_t>(depth), '}');
}

TEST(SchemaRefusalsTest, Depth) {
  EXPECT_EQ(RefusalOf(Nested(256)), "");
  EXPECT_EQ(RefusalOf(Nested(257)), "the schema: is nested 257 deep, expected at most 256");
  EXPECT_EQ(RefusalOf(Nested(100'000)), "the schema: is nested 100000 deep, expected at most 256");
}

TEST(SchemaRefusalsTest, Extent) {
  const std::string text = R"({"enum": ["ab", 1]})";  // two names and strings, five values
  EXPECT_EQ(RefusalOf(text, {.max_values = 5, .max_text = 6}), "");
  EXPECT_EQ(RefusalOf(text, {.max_values = 4}),
            "the schema: has 5 values and names, expected at most 4");
  EXPECT_EQ(RefusalOf(text, {.max_text = 5}),
            "the schema: has 6 bytes of text, expected at most 5");
}

TEST(SchemaRefusalsTest, Nodes) {
  const std::string text = R"({"allOf": [{}, {}, {}], "$defs": {"unused": {}}})";
  EXPECT_EQ(RefusalOf(text, {.max_nodes = 4}), "");
  EXPECT_EQ(RefusalOf(text, {.max_nodes = 3}), "/allOf/2: allOf: comes to more than 3 schemas");
  EXPECT_EQ(RefusalOf(text, {.max_pointer_text = 24}), "");
  EXPECT_EQ(RefusalOf(text, {.max_pointer_text = 23}),
            "the schema: names of schemas come to more than 23 bytes");
}

// Each of the resources opens a dynamic scope of its own, in which the same values are read again.
TEST(SchemaRefusalsTest, DynamicScopesShareTheLimits) {
  std::string resources;
  for (int i = 0; i < 30; ++i) {
    resources += fmt::format(
        R"("r{0}": {{"$id": "r{0}", "$defs": {{"a": {{"$dynamicAnchor": "a"}}}}, "$ref": "big"}},)",
        i);
  }
  std::string list;
  for (int i = 0; i < 30; ++i) list += fmt::format(R"({}{{"$ref": "r{}"}})", i > 0 ? "," : "", i);
  std::string values = "0";
  for (int i = 1; i < 50; ++i) values += fmt::format(",{}", i);
  const std::string text = R"({"prefixItems": [)" + list + R"(], "$defs": {)" + resources +
                           R"("big": {"$id": "big", "enum": [)" + values + "]}}}";
  EXPECT_EQ(RefusalOf(text, {.max_values = 30 * 50 + 100}), "");
  EXPECT_THAT(RefusalOf(text, {.max_values = 30 * 50}),
              testing::StartsWith("/$defs/big/enum: enum: has values read again"));
}

TEST(SchemaRefusalsTest, NamesThatAreTooLong) {
  const std::string name(5000, 'a');
  EXPECT_EQ(RefusalOf(R"({"not": {"$id": ")" + name + R"("}})"),
            "/not/$id: $id: comes to a URI of 5000 bytes, expected at most 4096");
}

}  // namespace
}  // namespace weft
