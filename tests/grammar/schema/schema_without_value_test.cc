// Where it is that a schema without a value has none.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/schema/json_schema.h"

namespace weft {
namespace {

TEST(SchemaWithoutValueTest, Pointer) {
  for (const auto& [text, pointer] : std::vector<std::pair<std::string, std::string>>{
           {"false", ""},
           {R"({"type": "integer", "minimum": 2, "maximum": 1})", ""},
           {R"({"type": "object", "required": ["a"], "properties": {"a": {"type": "object",
               "required": ["b"], "properties": {"b": false, "c": false}}}})",
            "/properties/a/properties/b"},
           {R"({"allOf": [{}, {"minimum": 2, "maximum": 1, "type": "number"}]})", "/allOf/1"},
           {R"({"allOf": [{"type": "null"}, {"type": "string"}]})", ""},
           {R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "contains": false}}})",
            "/$defs/a/contains"},
           {R"({"type": "array", "minItems": 2, "prefixItems": [{}, {"enum": []}]})",
            "/prefixItems/1"},
           {R"({"type": "array", "minItems": 2, "prefixItems": [{}], "items": false})", "/items"},
           {R"({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})",
            "/properties/a"},
           {R"({"anyOf": [{"oneOf": [false]}]})", "/anyOf/0/oneOf/0"},
       }) {
    const auto schema = JsonSchema::Compile(nlohmann::ordered_json::parse(text));
    ASSERT_FALSE(schema) << text;
    EXPECT_EQ(schema.error().pointer, pointer) << text;
    EXPECT_EQ(schema.error().message, "no value was found that satisfies it");
  }
}

}  // namespace
}  // namespace weft
