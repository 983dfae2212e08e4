// Whether there is a value at all.
#include "grammar/schema/schema_solver.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/grammar/schema/read_schema.h"

namespace weft {
namespace {

bool HasValue(const std::string& text) {
  auto logic = SchemaLogic::Create(std::make_shared<const SchemaDocument>(ReadText(text)));
  EXPECT_TRUE(logic) << text;
  if (!logic) return false;
  SchemaSolver solver(&*logic, {.any_order = true});
  const bool has_value = solver.IsSatisfiable(logic->root());
  EXPECT_FALSE(solver.has_given_up()) << text;
  return has_value;
}

TEST(SchemaSolverTest, HasNoValue) {
  for (const std::string text : {
           R"(false)",
           R"({"type": "integer", "minimum": 2, "maximum": 1})",
           R"({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2})",
           R"({"type": "number", "not": {}})",
           R"({"type": "string", "minLength": 2, "maxLength": 1})",
           R"({"type": "string", "pattern": "^a$", "not": {"const": "a"}})",
           R"({"const": 1, "type": "string"})",
           R"({"enum": [1, 2], "minimum": 3})",
           R"({"allOf": [{"const": {"a": 1}}, {"const": {"a": 2}}]})",
           R"({"type": "object", "required": ["a"], "properties": {"a": false}})",
           R"({"type": "object", "required": ["ab"], "propertyNames": {"maxLength": 1}})",
           R"({"type": "object", "required": ["a", "b"], "maxProperties": 1})",
           R"({"type": "object", "minProperties": 2, "maxProperties": 1})",
           R"({"type": "object", "minProperties": 3, "propertyNames": {"enum": ["a", "b"]}})",
           R"({"type": "object", "minProperties": 2, "properties": {"a": {}, "b": false},
               "additionalProperties": false})",
           R"({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})",
           R"({"type": "array", "minItems": 1, "items": {"$ref": "#"}})",
           R"({"type": "array", "minItems": 2, "maxItems": 1})",
           R"({"type": "array", "minItems": 2, "prefixItems": [{}], "items": false})",
           R"({"type": "array", "contains": false})",
           R"({"type": "array", "contains": {"type": "null"}, "items": {"type": "string"}})",
           R"({"type": "array", "contains": {}, "minContains": 3, "maxItems": 2})",
           R"({"type": "array", "contains": {}, "minContains": 2, "maxContains": 1})",
           R"({"type": "array", "minItems": 3, "uniqueItems": true, "items": {"enum": [1, 2]}})",
           R"({"type": "array", "contains": {"type": "null"}, "minContains": 2,
               "uniqueItems": true})",
           R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 1}], "minItems": 2,
               "uniqueItems": true})",
           R"({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"const": {"a": 1}}})",
       }) {
    EXPECT_FALSE(HasValue(text)) << text;
  }
}

TEST(SchemaSolverTest, HasOne) {
  for (const std::string text : {
           R"({})",
           R"({"type": "integer", "minimum": 2, "maximum": 2})",
           R"({"type": "object", "minProperties": 3, "propertyNames": {"enum": ["a", "b", "c"]}})",
           R"({"type": "object", "minProperties": 1000})",
           R"({"type": "object", "properties": {"a": {"$ref": "#"}}})",
           R"({"type": "object", "required": ["a"],
               "properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}})",
           R"({"type": "array", "items": {"$ref": "#"}})",
           R"({"type": "array", "minItems": 1, "contains": {"const": 1}, "maxContains": 1})",
           R"({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"enum": [1, 2]}})",
           R"({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"type": "object"}})",
           R"({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"type": "object",
               "required": ["a"], "additionalProperties": false,
               "properties": {"a": {"type": "string"}}}})",
           R"({"type": "array", "minItems": 1000, "uniqueItems": true,
               "items": {"type": "array", "items": {"type": "integer"}}})",
           R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "minItems": 2,
               "uniqueItems": true})",
           R"({"oneOf": [{"type": "array"}, {"items": false, "uniqueItems": true}]})",
           R"({"type": "object", "not": {"properties": {"a": {"type": "null"}}}})",
       }) {
    EXPECT_TRUE(HasValue(text)) << text;
  }
}

}  // namespace
}  // namespace weft
