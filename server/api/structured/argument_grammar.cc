#include "server/api/structured/argument_grammar.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "grammar/avoiding_recognizer.h"
#include "grammar/regex/pattern.h"
#include "grammar/regex/text_recognizer.h"
#include "proto/tool_name.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr int kMostDictDepth = 16;

SchemaError Inexpressible(std::string pointer, std::string keyword, std::string_view why) {
  return {.code = ErrorCode::kUnsupported,
          .pointer = std::move(pointer),
          .keyword = std::move(keyword),
          .message = fmt::format("{} in the syntax of this model's calls", why)};
}

// A schema of objects alone.
ordered_json ObjectSchemaOf(const ordered_json& parameters) {
  if (!parameters.is_object()) return {{"type", "object"}};
  ordered_json schema = parameters;
  const auto reference = schema.find("$ref");
  if (reference != schema.end()) {  // up to draft 7 it hides what stands beside it
    schema["allOf"] = ordered_json::array({{{"$ref", *reference}}});
    schema.erase("$ref");
  }
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

bool HasType(const ordered_json& schema, std::string_view type) {
  if (!schema.is_object()) return false;
  const auto found = schema.find("type");
  return found != schema.end() && found->is_string() && *found == type;
}

bool HasStringsAlone(const ordered_json& schema) {
  const auto values = schema.find("enum");
  return HasType(schema, "string") ||
         (values != schema.end() && values->is_array() &&
          std::ranges::all_of(*values, [](const ordered_json& each) { return each.is_string(); }));
}

// What a member of `root` says, as a schema of its own.
ordered_json Detached(const ordered_json& schema, const ordered_json& root) {
  ordered_json detached;
  for (const char* const name : {"$schema", "$defs", "definitions"}) {
    if (root.is_object() && root.contains(name)) detached[name] = root[name];
  }
  if (detached.empty()) return schema;
  detached["allOf"] = ordered_json::array({schema});
  return detached;
}

// Whether an object of the schema is its properties, each by itself.
SchemaResult<void> CheckSimple(const ordered_json& schema) {
  constexpr std::array kOthers = {"minProperties",
                                  "maxProperties",
                                  "patternProperties",
                                  "propertyNames",
                                  "dependentRequired",
                                  "dependentSchemas",
                                  "dependencies",
                                  "allOf",
                                  "anyOf",
                                  "oneOf",
                                  "not",
                                  "if",
                                  "enum",
                                  "const",
                                  "$ref",
                                  "$dynamicRef",
                                  "$recursiveRef"};
  for (const char* const keyword : kOthers) {
    if (schema.contains(keyword)) {
      return tl::unexpected(
          Inexpressible(fmt::format("/{}", keyword), keyword, "cannot be enforced of an object"));
    }
  }
  if (!schema.contains("required")) return {};
  for (const ordered_json& name : schema["required"]) {
    if (!schema.contains("properties") || !schema["properties"].contains(name)) {
      return tl::unexpected(Inexpressible("/required", "required",
                                          "a name that is none of 'properties' cannot be written"));
    }
  }
  return {};
}

bool IsRequired(const ordered_json& schema, const std::string& name) {
  const auto required = schema.find("required");
  return required != schema.end() &&
         std::any_of(required->begin(), required->end(),
                     [&](const ordered_json& each) { return each == name; });
}

// Errors of a property: `pointer` is its own.
SchemaError At(const std::string& pointer, SchemaError error) {
  constexpr std::string_view kDetached = "/allOf/0";
  if (error.pointer.starts_with(kDetached)) error.pointer.erase(0, kDetached.size());
  error.pointer.insert(0, pointer);
  return error;
}

std::string PropertyPointer(std::string_view name) {
  std::string pointer = "/properties/";
  for (const char c : name) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return pointer;
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxReplyNameBytes &&
         name.find_first_of("<>\"{}[]:,= \t\r\n") == std::string_view::npos;
}

SchemaError BadName(std::string_view name) {
  return Inexpressible(PropertyPointer(name), "properties",
                       fmt::format("the name '{}' cannot be written", name));
}

}  // namespace

GrammarExpr ArgumentWriter::JsonTerminal(JsonSchema schema, const Words& without) {
  return tags_.builder().Terminal(
      [schema = std::move(schema), options = options_,
       words = std::vector<std::string>(without.begin(),
                                        without.end())]() -> std::unique_ptr<Recognizer> {
        if (words.empty()) return schema.NewMachine(options);
        const Words views(words.begin(), words.end());
        return std::make_unique<AvoidingRecognizer>(schema.NewMachine(options), views);
      });
}

SchemaResult<GrammarExpr> ArgumentWriter::JsonValue(const ordered_json& schema,
                                                    const Words& without) {
  SchemaResult<JsonSchema> compiled = JsonSchema::Compile(schema);
  if (!compiled) return tl::unexpected(std::move(compiled).error());
  return JsonTerminal(*std::move(compiled), without);
}

SchemaResult<GrammarExpr> ArgumentWriter::Json(const ordered_json& parameters) {
  return JsonValue(ObjectSchemaOf(parameters), {});
}

GrammarExpr ArgumentWriter::AnyJson() { return *Json(nullptr); }

SchemaResult<GrammarExpr> ArgumentWriter::RawString(const ordered_json& schema,
                                                    std::string_view end, bool on_lines) {
  const SchemaResult<JsonSchema> compiled = JsonSchema::Compile(schema);
  if (!compiled) return tl::unexpected(compiled.error());
  StringLanguage strings = compiled->Strings();
  RegexArena& arena = strings.regexes;
  const RegexId any = arena.AnyText();
  const RegexId has_end[] = {any, arena.Literal(end), any};
  RegexId texts = arena.And(strings.texts, arena.Not(arena.Concat(has_end)));
  if (on_lines) {  // on lines of its own, or with no line end at its ends
    const RegexId line_end = arena.Literal("\n");
    const RegexId framed[] = {line_end, texts, line_end};
    const RegexId inside[] = {texts, arena.Not(arena.Concat(line_end, any)),
                              arena.Not(arena.Concat(any, line_end))};
    texts = arena.Or(arena.Concat(framed), arena.And(inside));
  }
  const bool is_empty = arena.IsEmpty(texts);
  if (const Result<void> status = arena.status(); !status) {
    return tl::unexpected(SchemaError{status.error().code, "", "", status.error().message});
  }
  if (is_empty) {
    return tl::unexpected(
        Inexpressible("", "", fmt::format("a string with '{}' in it cannot be written", end)));
  }
  return tags_.builder().Terminal(
      [arena = std::make_shared<const RegexArena>(std::move(arena)), texts] {
        return std::make_unique<TextRecognizer>(*arena, texts);
      });
}

SchemaResult<GrammarExpr> ArgumentWriter::XmlValue(const XmlCallSyntax& syntax,
                                                   const ordered_json& schema, bool is_string) {
  if (is_string) return RawString(schema, syntax.value_close, syntax.on_lines);
  SchemaResult<GrammarExpr> value = JsonValue(schema, {syntax.value_close});
  if (!value) return value;
  return tags_.builder().Sequence({tags_.Space(), *value, tags_.Space()});
}

SchemaResult<GrammarExpr> ArgumentWriter::Xml(const XmlCallSyntax& syntax,
                                              const ordered_json& parameters) {
  GrammarBuilder& builder = tags_.builder();
  const ordered_json schema = ObjectSchemaOf(parameters);
  if (const auto whole = JsonSchema::Compile(schema); !whole) return tl::unexpected(whole.error());
  WEFT_RETURN_IF_ERROR(CheckSimple(schema));
  std::vector<GrammarExpr> parts = {tags_.Space()};
  const ordered_json properties = schema.value("properties", ordered_json::object());
  for (const auto& [name, property] : properties.items()) {
    if (!IsPlainName(name)) return tl::unexpected(BadName(name));
    const SchemaResult<GrammarExpr> value =
        XmlValue(syntax, Detached(property, schema), HasType(property, "string"));
    if (!value) return tl::unexpected(At(PropertyPointer(name), value.error()));
    const GrammarExpr value_open =
        syntax.value_open.empty()
            ? builder.Literal("")
            : builder.Sequence({tags_.Space(), tags_.Text(syntax.value_open)});
    const GrammarExpr parameter = builder.Sequence(
        {tags_.Text(syntax.key_open), builder.Literal(name), tags_.Text(syntax.key_close),
         value_open, *value, tags_.Text(syntax.value_close), tags_.Space()});
    parts.push_back(IsRequired(schema, name) ? parameter : builder.Optional(parameter));
  }
  return builder.Sequence(parts);
}

GrammarExpr ArgumentWriter::AnyXml(const XmlCallSyntax& syntax, const ordered_json& parameters) {
  GrammarBuilder& builder = tags_.builder();
  const GrammarExpr value_open =
      syntax.value_open.empty() ? builder.Literal("")
                                : builder.Sequence({tags_.Space(), tags_.Text(syntax.value_open)});
  const GrammarExpr parameter = builder.Sequence(
      {tags_.Text(syntax.key_open), AnyName(parameters), tags_.Text(syntax.key_close), value_open,
       tags_.TextWithout({syntax.value_close}), tags_.Text(syntax.value_close), tags_.Space()});
  return builder.Sequence({tags_.Space(), builder.Repeat(parameter, 0, std::nullopt)});
}

GrammarExpr ArgumentWriter::AnyName(const ordered_json& parameters) {
  RegexArena& arena = tags_.builder().regexes();
  std::vector<std::string> names;
  if (parameters.is_object() && parameters.contains("properties") &&
      parameters["properties"].is_object()) {
    for (const auto& [name, schema] : parameters["properties"].items()) {
      if (std::ranges::all_of(name, IsToolNameCharacter)) names.push_back(name);
    }
  }
  if (!names.empty()) return tags_.builder().Regex(arena.Words(names));
  return tags_.builder().Regex(
      ParsePattern(&arena, "[A-Za-z_][A-Za-z0-9_]{0,63}", PatternDialect::kRe2)
          .value_or(RegexArena::Nothing()));
}

GrammarExpr ArgumentWriter::Listed(const std::vector<Member>& members) {
  GrammarBuilder& builder = tags_.builder();
  const GrammarExpr comma =
      builder.Sequence({builder.Literal(","), builder.Optional(builder.Literal(" "))});
  // What follows where nothing has come yet, and where something has.
  GrammarExpr first = builder.Literal("");
  GrammarExpr more = first;
  for (size_t i = members.size(); i-- > 0;) {
    const Member& member = members[i];
    const GrammarExpr begins = builder.Sequence({member.text, more});
    const GrammarExpr goes_on = builder.Sequence({comma, member.text, more});
    first = member.required ? begins : builder.Choice({begins, first});
    more = member.required ? goes_on : builder.Choice({goes_on, more});
  }
  return first;
}

// What JSON and Python read differently in strings: \/ and halves of surrogate pairs.
SchemaResult<GrammarExpr> ArgumentWriter::Python(std::string_view open,
                                                 const ordered_json& parameters) {
  GrammarBuilder& builder = tags_.builder();
  const ordered_json schema = ObjectSchemaOf(parameters);
  if (const auto whole = JsonSchema::Compile(schema); !whole) return tl::unexpected(whole.error());
  WEFT_RETURN_IF_ERROR(CheckSimple(schema));
  std::vector<Member> members;
  const ordered_json properties = schema.value("properties", ordered_json::object());
  for (const auto& [name, property] : properties.items()) {
    const std::string pointer = PropertyPointer(name);
    if (name.empty() || !std::ranges::all_of(name, IsToolNameCharacter))
      return tl::unexpected(BadName(name));
    SchemaResult<JsonSchema> compiled = JsonSchema::Compile(Detached(property, schema));
    if (!compiled) return tl::unexpected(At(pointer, std::move(compiled).error()));
    std::vector<GrammarExpr> values;
    constexpr std::array kConstants = {std::pair("true", "True"), std::pair("false", "False"),
                                       std::pair("null", "None")};
    for (const auto& [json, python] : kConstants) {
      const std::unique_ptr<JsonMachine> machine = compiled->NewMachine(options_);
      Recognizer::State state = machine->Start();
      for (const char* c = json; *c != '\0' && state != Recognizer::kDead; ++c)
        state = machine->Step(state, static_cast<uint8_t>(*c));
      if (state != Recognizer::kDead && machine->Accepts(state))
        values.push_back(builder.Literal(python));
    }
    values.push_back(JsonTerminal(*std::move(compiled), {"\\/", "\\ud", "\\uD", open}));
    members.push_back({builder.Sequence({builder.Literal(name + "="), builder.Choice(values)}),
                       IsRequired(schema, name)});
  }
  return Listed(members);
}

GrammarExpr ArgumentWriter::AnyPython(std::string_view open, const ordered_json& parameters) {
  GrammarBuilder& builder = tags_.builder();
  const GrammarExpr value = *JsonValue(ordered_json::object(), {"\\/", "\\ud", "\\uD", open});
  const GrammarExpr argument = builder.Sequence({AnyName(parameters), builder.Literal("="), value});
  const GrammarExpr more = builder.Repeat(
      builder.Sequence({builder.Literal(","), builder.Optional(builder.Literal(" ")), argument}), 0,
      std::nullopt);
  return builder.Optional(builder.Sequence({argument, more}));
}

SchemaResult<GrammarExpr> ArgumentWriter::Dict(std::string_view quote,
                                               const ordered_json& parameters) {
  const ordered_json schema = ObjectSchemaOf(parameters);
  if (const auto whole = JsonSchema::Compile(schema); !whole) return tl::unexpected(whole.error());
  return DictObject(quote, schema, schema, 0);
}

SchemaResult<GrammarExpr> ArgumentWriter::DictObject(std::string_view quote,
                                                     const ordered_json& schema,
                                                     const ordered_json& root, int depth) {
  GrammarBuilder& builder = tags_.builder();
  WEFT_RETURN_IF_ERROR(CheckSimple(schema));
  std::vector<Member> members;
  const ordered_json properties = schema.value("properties", ordered_json::object());
  for (const auto& [name, property] : properties.items()) {
    if (!IsPlainName(name)) return tl::unexpected(BadName(name));
    const SchemaResult<GrammarExpr> value = DictValue(quote, property, root, depth + 1);
    if (!value) return tl::unexpected(At(PropertyPointer(name), value.error()));
    members.push_back(
        {builder.Sequence({builder.Literal(name + ":"), *value}), IsRequired(schema, name)});
  }
  return builder.Sequence({builder.Literal("{"), Listed(members), builder.Literal("}")});
}

SchemaResult<GrammarExpr> ArgumentWriter::DictArray(std::string_view quote,
                                                    const ordered_json& schema,
                                                    const ordered_json& root, int depth) {
  GrammarBuilder& builder = tags_.builder();
  for (const char* const keyword :
       {"prefixItems", "contains", "uniqueItems", "enum", "const", "allOf", "anyOf", "oneOf", "not",
        "if", "$ref", "$dynamicRef", "$recursiveRef", "unevaluatedItems"}) {
    if (schema.contains(keyword)) {
      return tl::unexpected(
          Inexpressible(fmt::format("/{}", keyword), keyword, "cannot be enforced of an array"));
    }
  }
  const ordered_json items = schema.value("items", ordered_json(true));
  const SchemaResult<GrammarExpr> item = DictValue(quote, items, root, depth + 1);
  if (!item) return tl::unexpected(At("/items", item.error()));
  const auto least = schema.value("minItems", int64_t{0});
  const auto most = schema.value("maxItems", int64_t{-1});
  const GrammarExpr next =
      builder.Sequence({builder.Literal(","), builder.Optional(builder.Literal(" ")), *item});
  constexpr int64_t kMostItems = 1'000'000;
  if (least > kMostItems || most > kMostItems)
    return tl::unexpected(Inexpressible("", "maxItems", "so many items cannot be counted"));
  GrammarExpr list = builder.Literal("");
  if (most != 0) {
    const auto more = builder.Repeat(
        next, static_cast<int32_t>(std::max<int64_t>(least - 1, 0)),
        most < 0 ? std::nullopt : std::optional<int32_t>(static_cast<int32_t>(most - 1)));
    list = builder.Sequence({*item, more});
    if (least == 0) list = builder.Optional(list);
  }
  return builder.Sequence({builder.Literal("["), list, builder.Literal("]")});
}

SchemaResult<GrammarExpr> ArgumentWriter::DictValue(std::string_view quote,
                                                    const ordered_json& schema,
                                                    const ordered_json& root, int depth) {
  GrammarBuilder& builder = tags_.builder();
  if (depth > kMostDictDepth)
    return tl::unexpected(Inexpressible("", "", "so deep a value cannot be written"));
  if (!schema.is_object())
    return tl::unexpected(Inexpressible("", "", "any value at all cannot be written"));
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_array()) {
    std::vector<GrammarExpr> choices;
    for (const ordered_json& each : *type) {
      ordered_json one = schema;
      one["type"] = each;
      WEFT_ASSIGN_OR_RETURN(const GrammarExpr value, DictValue(quote, one, root, depth + 1));
      choices.push_back(value);
    }
    return builder.Choice(choices);
  }
  if (HasStringsAlone(schema)) {
    WEFT_ASSIGN_OR_RETURN(const GrammarExpr text, RawString(Detached(schema, root), quote, false));
    return builder.Sequence({tags_.Text(quote), text, tags_.Text(quote)});
  }
  if (HasType(schema, "object")) return DictObject(quote, schema, root, depth);
  if (HasType(schema, "array")) return DictArray(quote, schema, root, depth);
  if (type != schema.end()) return JsonValue(Detached(schema, root), {});  // of no strings
  const auto choices = schema.find("anyOf");
  const bool is_choice =
      choices != schema.end() && std::ranges::all_of(schema.items(), [](const auto& member) {
        return member.key() == "anyOf" || member.key() == "description" ||
               member.key() == "title" || member.key() == "default";
      });
  if (!is_choice) {
    return tl::unexpected(
        Inexpressible("", "type", "a value of no type that it names cannot be written"));
  }
  std::vector<GrammarExpr> values;
  for (const ordered_json& each : *choices) {
    WEFT_ASSIGN_OR_RETURN(const GrammarExpr value, DictValue(quote, each, root, depth + 1));
    values.push_back(value);
  }
  return builder.Choice(values);
}

GrammarExpr ArgumentWriter::AnyDict(std::string_view quote, const ordered_json& parameters) {
  GrammarBuilder& builder = tags_.builder();
  const GrammarExpr value = builder.Rule("value");
  const GrammarExpr comma =
      builder.Sequence({builder.Literal(","), builder.Optional(builder.Literal(" "))});
  const auto listed = [&](GrammarExpr item) {
    return builder.Optional(
        builder.Sequence({item, builder.Repeat(builder.Sequence({comma, item}), 0, std::nullopt)}));
  };
  const auto object = [&](GrammarExpr name) {
    const GrammarExpr member = builder.Sequence({name, builder.Literal(":"), value});
    return builder.Sequence({builder.Literal("{"), listed(member), builder.Literal("}")});
  };
  const GrammarExpr scalar = *JsonValue({{"type", {"number", "boolean", "null"}}}, {});
  builder.Define(
      value,
      builder.Choice(
          {scalar,
           builder.Sequence({tags_.Text(quote), tags_.TextWithout({quote}), tags_.Text(quote)}),
           builder.Sequence({builder.Literal("["), listed(value), builder.Literal("]")}),
           object(AnyName(nullptr))}));
  return object(AnyName(parameters));
}

}  // namespace weft
