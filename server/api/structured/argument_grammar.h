// The arguments of a call in the syntaxes that models write them in, as expressions of a grammar.
// Include from .cc files only.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/schema/json_schema.h"
#include "proto/reply/call_syntax.h"
#include "server/api/structured/tag_writer.h"

namespace weft {

// What is written is read by ReplyParser as arguments that satisfy the tool's schema,
// `parameters`; null: any object. Errors name the keyword that cannot be enforced in the syntax.
class ArgumentWriter {
 public:
  ArgumentWriter(TagWriter* tags, JsonMachineOptions options) : tags_(*tags), options_(options) {}

  // An object in JSON.
  SchemaResult<GrammarExpr> Json(const nlohmann::ordered_json& parameters);
  // Parameters between tags, with white space around them.
  SchemaResult<GrammarExpr> Xml(const XmlCallSyntax& syntax,
                                const nlohmann::ordered_json& parameters);
  // {a:1,s:"text"} with `quote` for ".
  SchemaResult<GrammarExpr> Dict(std::string_view quote, const nlohmann::ordered_json& parameters);
  // a=1, s="text". `open` must not stand in it.
  SchemaResult<GrammarExpr> Python(std::string_view open, const nlohmann::ordered_json& parameters);

  // The same whatever the values are; names are those of `parameters`, if it has some.
  GrammarExpr AnyJson();
  GrammarExpr AnyXml(const XmlCallSyntax& syntax, const nlohmann::ordered_json& parameters);
  GrammarExpr AnyDict(std::string_view quote, const nlohmann::ordered_json& parameters);
  GrammarExpr AnyPython(std::string_view open, const nlohmann::ordered_json& parameters);

 private:
  using Words = std::vector<std::string_view>;
  struct Member {
    GrammarExpr text;
    bool required = false;
  };

  GrammarExpr JsonTerminal(JsonSchema schema, const Words& without);
  SchemaResult<GrammarExpr> JsonValue(const nlohmann::ordered_json& schema, const Words& without);
  SchemaResult<GrammarExpr> XmlValue(const XmlCallSyntax& syntax,
                                     const nlohmann::ordered_json& schema, bool is_string);
  SchemaResult<GrammarExpr> DictValue(std::string_view quote, const nlohmann::ordered_json& schema,
                                      const nlohmann::ordered_json& root, int depth);
  SchemaResult<GrammarExpr> DictObject(std::string_view quote, const nlohmann::ordered_json& schema,
                                       const nlohmann::ordered_json& root, int depth);
  SchemaResult<GrammarExpr> DictArray(std::string_view quote, const nlohmann::ordered_json& schema,
                                      const nlohmann::ordered_json& root, int depth);
  // Strings of the schema, without quotes, in which `end` does not stand.
  SchemaResult<GrammarExpr> RawString(const nlohmann::ordered_json& schema, std::string_view end,
                                      bool on_lines);
  // In this order, parted by commas, those that are not required perhaps.
  GrammarExpr Listed(const std::vector<Member>& members);
  GrammarExpr AnyName(const nlohmann::ordered_json& parameters);

  TagWriter& tags_;
  const JsonMachineOptions options_;
};

}  // namespace weft
