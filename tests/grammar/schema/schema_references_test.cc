// $ref, $dynamicRef and $recursiveRef: to which schema of the document they lead.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/grammar/schema/read_schema.h"

namespace weft {
namespace {

// The pointer of what the reference of the root leads to.
std::string TargetOf(const std::string& text, SchemaDraft draft = SchemaDraft::k2020_12) {
  const SchemaDocument document = ReadText(text, {.default_draft = draft});
  const SchemaNode& root = document.nodes[document.root];
  if (root.all_of.empty()) return "nothing";
  return document.nodes[root.all_of.front()].pointer;
}

TEST(SchemaReferencesTest, Pointers) {
  for (const auto& [reference, expected] : std::vector<std::pair<std::string, std::string>>{
           {"#/$defs/a", "/$defs/a"},
           {"#/$defs/a~1b~0c", "/$defs/a~1b~0c"},
           {"#/$defs/a%25b%20c", "/$defs/a%b c"},
           {"#/$defs/list/prefixItems/1", "/$defs/list/prefixItems/1"},
           {"#/x-shared/deep/0/s", "/x-shared/deep/0/s"},  // in a keyword that is unknown
           {"#/x-shared/deep/0/s/not", "/x-shared/deep/0/s/not"},
           {"#/$defs/a/const/s", "/$defs/a/const/s"},
       }) {
    EXPECT_EQ(TargetOf(R"({"$ref": ")" + reference +
                       R"(", "$defs": {"a": {"const": {"s": {}}}, "a/b~c": {}, "a%b c": {},
                                       "list": {"prefixItems": [{}, {}]}},
                           "x-shared": {"deep": [{"s": {"not": {}}}]}})"),
              expected);
  }
}

TEST(SchemaReferencesTest, ManyMembersOnTheWay) {
  std::string members;
  for (int i = 0; i < 100; ++i) members += fmt::format(R"("d{}": {{}},)", i);
  EXPECT_EQ(TargetOf(R"({"$ref": "#/$defs/d73", "$defs": {)" + members + R"("last": {}}})"),
            "/$defs/d73");
}

TEST(SchemaReferencesTest, NamesOfResources) {
  for (const auto& [reference, expected] : std::vector<std::pair<std::string, std::string>>{
           {"http://a.test/dir/item.json", "/$defs/item"},
           {"item.json", "/$defs/item"},
           {"/dir/item.json#", "/$defs/item"},
           {"item.json#/$defs/inner", "/$defs/item/$defs/inner"},
           {"item.json#here", "/$defs/item/$defs/inner"},
           {"sub/more.json", "/$defs/item/$defs/more"},
           {"#/$defs/item", "/$defs/item"},
           {"urn:example:1", "/$defs/urn"},
           {"root.json#top", "/$defs/top"},
           {"#old", "/$defs/old"},
       }) {
    EXPECT_EQ(TargetOf(R"({"$id": "http://a.test/dir/root.json", "$ref": ")" + reference +
                       R"(", "$defs": {
                           "item": {"$id": "item.json", "$defs": {"inner": {"$anchor": "here"},
                                    "more": {"$id": "sub/more.json"}}},
                           "urn": {"$id": "urn:example:1"},
                           "top": {"$anchor": "top"},
                           "old": {"$id": "#old"},
                           "misplaced": {"enum": [{"$id": "item.json"}, {"$anchor": "here"}]}}})"),
              expected);
  }
}

TEST(SchemaReferencesTest, Draft4HasIdWithoutADollar) {
  const std::string text =
      R"({"id": "http://a.test/root.json", "$ref": "item.json#x", "definitions": {
          "item": {"id": "item.json", "definitions": {"x": {"id": "#x"}}},
          "other": {"$id": "item.json"}, "id": {"type": "string"}}})";
  // Beside $ref `id` says nothing: the names stay relative.
  EXPECT_EQ(TargetOf(text, SchemaDraft::k4), "/definitions/item/definitions/x");
}

TEST(SchemaReferencesTest, UpToDraft7AReferenceHidesItsId) {
  const std::string text =
      R"({"allOf": [{"$id": "http://a.test/b/", "$ref": "foo.json"}],
          "$id": "http://a.test/a/", "$defs": {"a": {"$id": "http://a.test/a/foo.json"},
                                               "b": {"$id": "http://a.test/b/foo.json"}}})";
  for (const auto& [draft, expected] : std::vector<std::pair<SchemaDraft, std::string>>{
           {SchemaDraft::k7, "/$defs/a"}, {SchemaDraft::k2019_09, "/$defs/b"}}) {
    const SchemaDocument document = ReadText(text, {.default_draft = draft});
    const SchemaNode& referring = document.nodes[document.nodes[document.root].all_of.front()];
    EXPECT_EQ(document.nodes[referring.all_of.front()].pointer, expected);
  }
}

TEST(SchemaReferencesTest, TheDraftChangesWithTheResource) {
  const std::string inner = R"("$schema": "http://json-schema.org/draft-07/schema#",
                               "$ref": "http://a.test/x", "minLength": 3)";
  const std::string rest = R"(}, "$defs": {"x": {"$id": "http://a.test/x"}}})";
  const auto min_length = [&](const std::string& id) {
    const SchemaDocument document = ReadText(R"({"items": {)" + id + inner + rest);
    return document.nodes[*document.nodes[document.root].items].min_length;
  };
  EXPECT_EQ(min_length(R"("$id": "http://a.test/y",)"), std::nullopt);
  EXPECT_EQ(min_length(""), 3);
}

TEST(SchemaReferencesTest, ASchemaIsOneNodeHoweverOftenItIsReferredTo) {
  const SchemaDocument document =
      ReadText(R"({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}})");
  EXPECT_EQ(document.nodes.size(), 3u);
  for (const auto& [name, property] : document.nodes[document.root].properties) {
    EXPECT_EQ(document.nodes[property].all_of, std::vector<SchemaId>{document.root}) << name;
  }
}

// The extensible list of the specification's appendix: what `list` holds depends on who asks.
TEST(SchemaReferencesTest, DynamicReferencesLookFurtherOutFirst) {
  const SchemaDocument document = ReadText(
      R"({"$id": "http://a.test/root", "prefixItems": [{"$ref": "list"}, {"$ref": "strings"}],
          "$defs": {
            "strings": {"$id": "strings", "$ref": "list",
                        "$defs": {"entry": {"$dynamicAnchor": "entry", "type": "string"}}},
            "list": {"$id": "list", "items": {"$dynamicRef": "#entry"},
                     "$defs": {"entry": {"$dynamicAnchor": "entry"}}}}})");
  const auto& nodes = document.nodes;
  const auto entries_of = [&](SchemaId list) {
    return nodes[nodes[*nodes[list].items].all_of.front()].pointer;
  };
  const auto& prefix = nodes[document.root].prefix_items;
  EXPECT_EQ(entries_of(nodes[prefix[0]].all_of.front()), "/$defs/list/$defs/entry");
  const SchemaId strings = nodes[prefix[1]].all_of.front();
  EXPECT_EQ(entries_of(nodes[strings].all_of.front()), "/$defs/strings/$defs/entry");
}

TEST(SchemaReferencesTest, ADynamicReferenceToAPlainAnchorIsAReference) {
  const std::string text = R"({"$id": "http://a.test/root", "$ref": "list",
      "$defs": {"outer": {"$dynamicAnchor": "entry"},
                "list": {"$id": "list", "items": {"$dynamicRef": "#entry"},
                         "$defs": {"entry": {"$anchor": "entry"}}}}})";
  const SchemaDocument document = ReadText(text);
  const auto& nodes = document.nodes;
  const SchemaNode& list = nodes[nodes[document.root].all_of.front()];
  EXPECT_EQ(nodes[nodes[*list.items].all_of.front()].pointer, "/$defs/list/$defs/entry");
}

TEST(SchemaReferencesTest, RecursiveReferencesLeadOutWhereBothAnchorsSay) {
  const auto target = [](const std::string& outer, const std::string& inner) {
    const SchemaDocument document =
        ReadText(R"({"$id": "http://a.test/root", )" + outer + R"( "$ref": "tree",
                     "$defs": {"tree": {"$id": "tree", )" +
                     inner + R"( "items": {"$recursiveRef": "#"}}}})",
                 {.default_draft = SchemaDraft::k2019_09});
    const auto& nodes = document.nodes;
    const SchemaNode& tree = nodes[nodes[document.root].all_of.front()];
    return nodes[nodes[*tree.items].all_of.front()].pointer;
  };
  const std::string yes = R"("$recursiveAnchor": true,)";
  const std::string no = R"("$recursiveAnchor": false,)";
  EXPECT_EQ(target(yes, yes), "");
  EXPECT_EQ(target(yes, no), "/$defs/tree");
  EXPECT_EQ(target(no, yes), "/$defs/tree");
  EXPECT_EQ(target("", ""), "/$defs/tree");
}

TEST(SchemaReferencesTest, RecursiveAnchorsAreThoseOfResources) {
  const SchemaDocument document = ReadText(R"({"properties": {"a": {"$recursiveAnchor": true,
                   "items": {"$recursiveRef": "#"}}}})",
                                           {.default_draft = SchemaDraft::k2019_09});
  const auto& nodes = document.nodes;
  const SchemaNode& a = nodes[nodes[document.root].properties.front().second];
  EXPECT_EQ(nodes[*a.items].all_of, std::vector<SchemaId>{document.root});
}

TEST(SchemaReferencesTest, WhatLeadsNowhereIsRefused) {
  for (const auto& [reference, message] : std::vector<std::pair<std::string, std::string>>{
           {"http://b.test/x",
            "is 'http://b.test/x', which is not in this document, and nothing is fetched"},
           {"#/$defs/b", "is '#/$defs/b', but there is no 'b' on the way"},
           {"#/$defs/a/allOf/1", "is '#/$defs/a/allOf/1', but there is no '1' on the way"},
           {"#/$defs/a/allOf/00", "is '#/$defs/a/allOf/00', but there is no '00' on the way"},
           {"#/$defs/~2", "is '#/$defs/~2', but there is no '~2' on the way"},
           {"#$defs/a", "is '#$defs/a', but there is no schema with the anchor '$defs/a'"},
           {"#twice", "is '#twice', but several schemas have the anchor 'twice'"},
           {"double", "is 'double', which several schemas of this document say they are"},
           {"#%zz", "is '#%zz', where '%' stands without two hexadecimal digits"},
           {"#/title", "'t' is no schema, expected an object, true or false"},
       }) {
    EXPECT_EQ(RefusalOf(R"({"title": "t", "not": {"$ref": ")" + reference +
                        R"("}, "$defs": {"a": {"allOf": [{}]},
                            "t": {"$anchor": "twice"}, "u": {"$anchor": "twice"},
                            "v": {"$id": "double"}, "w": {"$id": "double"}}})"),
              "/not/$ref: $ref: " + message);
  }
}

TEST(SchemaReferencesTest, CirclesAreRefused) {
  const std::string message = "leads back to itself without a step into the instance";
  for (const auto& [text, where] : std::vector<std::pair<std::string, std::string>>{
           {R"({"$ref": "#"})", "/$ref: $ref"},
           {R"({"not": {"$ref": "#"}})", "/not/$ref: $ref"},
           {R"({"anyOf": [{"type": "null"}, {"allOf": [{"$dynamicRef": "#"}]}]})",
            "/anyOf/1/allOf/0/$dynamicRef: $dynamicRef"},
           {R"({"dependentSchemas": {"a": {"$recursiveRef": "#"}}})",
            "/dependentSchemas/a/$recursiveRef: $recursiveRef"},
           {R"({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"if": {"$ref": "#/$defs/b"}},
                                                          "b": {"oneOf": [{"$ref": "#/$defs/a"}]}}})",
            "/$defs/b/oneOf/0/$ref: $ref"},
       }) {
    EXPECT_EQ(RefusalOf(text), fmt::format("{}: {}", where, message)) << text;
  }
  for (const std::string text :
       {R"({"items": {"$ref": "#"}})", R"({"contains": {"$ref": "#"}})",
        R"({"propertyNames": {"$ref": "#"}})",
        R"({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#"}}}})",
        R"({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}],
                                     "$defs": {"a": {}}})"}) {
    EXPECT_EQ(RefusalOf(text), "") << text;
  }
}

}  // namespace
}  // namespace weft
