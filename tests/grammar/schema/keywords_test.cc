#include "grammar/schema/keywords.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(KeywordsTest, ALetterAwayIsASlip) {
  for (const auto& [name, meant] : std::vector<std::pair<std::string, std::string>>{
           {"additionalProperites", "additionalProperties"},  // two changed about
           {"addtionalProperties", "additionalProperties"},
           {"additionalproperties", "additionalProperties"},
           {"additional_properties", "additionalProperties"},
           {"require", "required"},
           {"requires", "required"},
           {"requred", "required"},
           {"maxmimum", "maximum"},
           {"emum", "enum"},
           {"ref", "$ref"},
           {"#ref", "$ref"},
           {"type:", "type"},
           {"properties ", "properties"},
           {"item", "items"},
           {"oneof", "oneOf"},
           {"Not", "not"},
           {"IF", "if"},
       }) {
    EXPECT_EQ(SlipOf(name), meant) << name;
  }
}

TEST(KeywordsTest, OtherNamesAreNone) {
  for (const std::string name : {"type",
                                 "$ref",
                                 "not",
                                 "extends",  // keywords
                                 "note",
                                 "id",
                                 "is",
                                 "of",
                                 "nor",  // near short ones, but words
                                 "descripton",
                                 "titel",
                                 "example",
                                 "readonly",
                                 "definition",  // near what asserts nothing
                                 "_format",
                                 "_uniqueItems",
                                 "@type",
                                 "x-type",
                                 "nullable",
                                 "discriminator",
                                 "typ3s",
                                 "unevaluatedPropertiesss",
                                 ""}) {
    EXPECT_EQ(SlipOf(name), std::nullopt) << name;
  }
}

TEST(KeywordsTest, WhereSchemasStand) {
  EXPECT_EQ(HoldingOf("not"), SchemaHolding::kOne);
  EXPECT_EQ(HoldingOf("allOf"), SchemaHolding::kList);
  EXPECT_EQ(HoldingOf("$defs"), SchemaHolding::kNamed);
  EXPECT_EQ(HoldingOf("unevaluatedProperties"), SchemaHolding::kOne);
  EXPECT_EQ(HoldingOf("items"), SchemaHolding::kOneOrList);
  EXPECT_EQ(HoldingOf("enum"), SchemaHolding::kNone);
  EXPECT_EQ(HoldingOf("x"), SchemaHolding::kNone);
}

}  // namespace
}  // namespace weft
