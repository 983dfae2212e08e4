// What texts the machine takes under which schema. Combinations at random: random_schema_test.cc.
#include "grammar/schema/json_machine.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/schema/json_schema.h"

namespace weft {
namespace {

bool Takes(const std::string& schema, const std::string& text, const JsonMachineOptions& options) {
  const auto compiled = JsonSchema::Compile(nlohmann::ordered_json::parse(schema));
  EXPECT_TRUE(compiled) << schema << ": " << ToError(compiled.error()).message;
  if (!compiled) return false;
  const std::unique_ptr<JsonMachine> machine = compiled->NewMachine(options);
  Recognizer::State state = machine->Start();
  for (const char byte : text) {
    if (state == Recognizer::kDead) return false;
    state = machine->Step(state, static_cast<uint8_t>(byte));
  }
  return state != Recognizer::kDead && machine->Accepts(state);
}

struct Case {
  std::string schema;
  std::vector<std::string> taken;
  std::vector<std::string> refused;
};

void ExpectAll(const std::vector<Case>& cases, const JsonMachineOptions& options = {}) {
  for (const Case& each : cases) {
    for (const std::string& text : each.taken) {
      EXPECT_TRUE(Takes(each.schema, text, options)) << each.schema << " " << text;
    }
    for (const std::string& text : each.refused) {
      EXPECT_FALSE(Takes(each.schema, text, options)) << each.schema << " " << text;
    }
  }
}

TEST(JsonMachineTest, AnyValue) {
  ExpectAll(
      {{"{}",
        {"null", "true", "false", "0", "-1.5e+3", R"("")", "[]", "{}", R"([1, {"a": [null]}])"},
        {"", "nul", "nulll", "01", "1.", "+1", ".5", "[1,]", "[,1]", R"({"a":})", R"({"a":1,})",
         R"({a:1})", "[1 2]", "'a'", "NaN", "1 ", " 1"}}});
}

TEST(JsonMachineTest, PlainIntegers) {
  ExpectAll(
      {
          {R"({"type": "integer"})", {"0", "1", "-10"}, {"-0", "1.0", "10.", "1e0"}},
          {R"({"type": "integer", "multipleOf": 2.5})", {"5", "10"}, {"5.0", "7"}},
          {R"({"enum": [1, -20, "1.0"]})", {"1", "-20", R"("1.0")"}, {"1.0", "-20.0"}},
          {R"({"allOf": [{"type": "integer"}, {"not": {"const": 1}}]})", {"2"}, {"2.0", "1"}},
          // What is no integer may come, too.
          {R"({"enum": [1, 1.5]})", {"1", "1.0", "1.50"}, {}},
          {R"({"type": "number"})", {"-0", "1.0", "1e0", "1.5"}, {}},
          {R"({"type": "number", "minimum": 0})", {"1.0", "1e0"}, {}},
          {R"({"not": {"type": "integer"}})", {"1.5"}, {"1.0", "1"}},
      },
      {.plain_integers = true});
}

TEST(JsonMachineTest, Types) {
  ExpectAll({
      {R"({"type": "null"})", {"null"}, {"0", "false"}},
      {R"({"type": "boolean"})", {"true", "false"}, {"null", "1"}},
      {R"({"type": "integer"})", {"1", "-0", "1.0"}, {"1.5", R"("1")"}},
      {R"({"type": "number"})", {"1", "1.5", "1e5"}, {"null"}},
      {R"({"type": ["string", "array"]})", {R"("a")", "[]"}, {"{}", "1"}},
  });
}

TEST(JsonMachineTest, Draft4IntegersHaveNoFraction) {
  ExpectAll({{R"({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"})",
              {"1", "-10"},
              {"1.0", "1e1"}}});
}

TEST(JsonMachineTest, ConstantsByWhatTheyMean) {
  ExpectAll({
      {R"({"const": 1})", {"1", "1.0", "1.00"}, {"2", "1.01", "10", R"("1")", "true"}},
      {R"({"const": 0})", {"0", "-0", "0.0"}, {"1", "null", "false"}},
      {R"({"const": 1e2})", {"100", "100.0"}, {"1", "10"}},
      {R"({"enum": [1.5, "a", null, [1, {}]]})",
       {"1.50", R"("\u0061")", "null", "[1,{}]", "[1.0,{}]"},
       {"1", R"("b")", "[1]", "[1,{},1]"}},
      {R"({"const": {"a": 1, "b": [true]}})",
       {R"({"a":1,"b":[true]})", R"({"\u0061":1.0,"b":[true]})"},
       {"{}", R"({"a":1})", R"({"a":1,"b":[false]})", R"({"a":1,"b":[true],"c":1})"}},
      {R"({"not": {"const": 1}})", {"2", "1.5", "11", "null"}, {"1", "1.0"}},
  });
}

TEST(JsonMachineTest, SpellingOfStrings) {
  ExpectAll({
      {R"({"const": "a\"é😀"})",
       {R"("a\"é😀")", R"("\u0061\u0022\u00e9\uD83D\uDE00")", R"("a\"\u00E9😀")"},
       {R"("a\"é\ud83d")", R"("a\"é")"}},
      {R"({"const": "/"})", {R"("/")", R"("\/")", R"("\u002f")"}, {R"("\\/")"}},
      {R"({"type": "string"})",
       {R"("\b\f\n\r\t\\")", R"("\ud83d\ude00")"},
       {R"("\x")", R"("\ud83d")", R"("\ude00")", R"("\ud83d\ud83d")", R"("\u12")", "\"\n\"",
        "\"\x01\"", "\"\xC3\"", "\"\xED\xA0\x80\"", "\"\xFF\""}},
      {R"({"maxLength": 1})", {R"("")", R"("😀")", R"("\ud83d\ude00")"}, {R"("ab")"}},
      {R"({"minLength": 2, "type": "string"})", {R"("éé")"}, {R"("é")"}},
      {R"({"pattern": "^a+$", "maxLength": 2})", {R"("a")", R"("aa")", "1"}, {R"("")", R"("aaa")"}},
  });
}

TEST(JsonMachineTest, Numbers) {
  ExpectAll({
      {R"({"minimum": 1, "exclusiveMaximum": 3})",
       {"1", "1.0", "2.99"},
       {"0.99", "3", "3.0", "-2"}},
      {R"({"multipleOf": 0.5})", {"1", "1.5", "-0.50"}, {"0.25"}},
      {R"({"type": "integer", "minimum": -1, "maximum": 10})", {"-1", "0", "10"}, {"11", "-2"}},
      {R"({"not": {"type": "integer"}, "type": "number"})", {"1.5"}, {"1", "1.0", "2.50e1"}},
  });
}

TEST(JsonMachineTest, Objects) {
  ExpectAll({
      {R"({"type": "object", "properties": {"a": {"type": "integer"}}})",
       {"{}", R"({"a":1})", R"({"a":1,"b":null})"},
       {R"({"a":"x"})", "[]"}},
      {R"({"properties": {"a": true}, "additionalProperties": false})",
       {"{}", R"({"a":[]})", "1"},
       {R"({"b":1})", R"({"aa":1})", R"({"":1})"}},
      {R"({"type": "object", "required": ["a"]})",
       {R"({"a":1})", R"({"b":1,"a":1})"},
       {"{}", R"({"b":1})"}},
      {R"({"patternProperties": {"^x": {"type": "null"}, "y$": false}})",
       {R"({"x":null})", R"({"a":1})"},
       {R"({"x":1})", R"({"xy":null})", R"({"y":1})"}},
      {R"({"type": "object", "minProperties": 1, "maxProperties": 2})",
       {R"({"a":1})", R"({"a":1,"b":1})"},
       {"{}", R"({"a":1,"b":1,"c":1})"}},
      {R"({"propertyNames": {"maxLength": 1}})", {"{}", R"({"a":1})"}, {R"({"ab":1})"}},
      {R"({"dependentRequired": {"a": ["b"]}})",
       {R"({"b":1})", R"({"a":1,"b":1})"},
       {R"({"a":1})"}},
      {R"({"dependentSchemas": {"a": {"maxProperties": 1}}})",
       {R"({"a":1})", R"({"b":1,"c":1})"},
       {R"({"a":1,"b":1})"}},
  });
}

TEST(JsonMachineTest, NamesAreComparedByWhatTheyMean) {
  ExpectAll({
      {R"({"properties": {"a": {"type": "null"}}})", {R"({"\u0061":null})"}, {R"({"\u0061":1})"}},
      {"{}",
       {R"({"a":1,"b":1})"},
       {R"({"a":1,"a":1})", R"({"a":1,"\u0061":1})", R"({"\ud83d\ude00":1,"😀":1})"}},
  });
}

TEST(JsonMachineTest, OrderOfProperties) {
  const std::string schema = R"({"properties": {"b": {}, "a": {}}, "required": ["a"]})";
  const std::vector<std::string> in_order = {R"({"b":1,"a":1})", R"({"a":1})",
                                             R"({"b":1,"a":1,"c":1})"};
  const std::vector<std::string> others = {R"({"a":1,"b":1})", R"({"c":1,"a":1})"};
  ExpectAll({{schema, in_order, others}});
  std::vector<std::string> all = in_order;
  all.insert(all.end(), others.begin(), others.end());
  ExpectAll({{schema, all, {R"({"b":1})", R"({"a":1,"b":1,"a":1})"}}}, {.any_order = true});
}

TEST(JsonMachineTest, Arrays) {
  ExpectAll({
      {R"({"prefixItems": [{"type": "null"}], "items": {"type": "integer"}})",
       {"[]", "[null]", "[null,1,2]"},
       {"[1]", "[null,null]"}},
      {R"({"type": "array", "minItems": 1, "maxItems": 2})", {"[1]", "[1,2]"}, {"[]", "[1,2,3]"}},
      {R"({"contains": {"type": "null"}})", {"[null]", "[1,null,1]", "1"}, {"[]", "[1]"}},
      {R"({"contains": {"type": "null"}, "minContains": 0, "maxContains": 1})",
       {"[]", "[1]", "[1,null]"},
       {"[null,null]"}},
      {R"({"contains": {"minimum": 5}, "minContains": 2, "maxItems": 3})",
       {"[5,6]", "[1,5,6]"},
       {"[5]", "[1,2,5]"}},
  });
}

TEST(JsonMachineTest, UniqueItems) {
  ExpectAll({
      {R"({"uniqueItems": true})",
       {"[]", "[1,2]", "[1,true]", R"(["1",1])", R"([{"a":1},{"a":2}])", "[[1],[2]]", "[1e400,2]"},
       {"[1,1.0]", "[0,-0]", R"(["a","\u0061"])", R"([{"a":1,"b":2},{"b":2,"a":1}])",
        R"([[1,{"a":[]}],[1.0,{"\u0061":[]}]])", "[null,null]"}},
      {R"({"uniqueItems": true, "items": {"enum": [1, 2]}})", {"[1,2]"}, {"[1,2,1]", "[2,2]"}},
      {R"({"anyOf": [{"uniqueItems": true}, {"maxItems": 2}]})", {"[1,1]", "[1,2,3]"}, {"[1,1,1]"}},
      {R"({"uniqueItems": true, "contains": {"const": "x"}})",
       {R"(["y","x"])", R"(["x",1])"},
       {R"(["y"])", R"(["x","x"])"}},
  });
}

TEST(JsonMachineTest, Combinations) {
  ExpectAll({
      {R"({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]})", {"2", "3"}, {"6", "5", "0"}},
      {R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"})",
       {R"({"a":1})", R"({"b":1,"c":1})"},
       {"{}", R"({"a":1,"b":1})"}},
      {R"({"anyOf": [{"required": ["a"]}, {"properties": {"b": {"const": 1}}}]})",
       {"{}", R"({"b":1})", R"({"b":2,"a":1})"},
       {R"({"b":2})", R"({"b":2,"c":1})"}},
      {R"({"not": {"required": ["a"], "properties": {"a": {"type": "null"}}}})",
       {R"({"b":1})", R"({"a":1})"},
       {"1", R"({"a":null})"}},
      {R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
           "then": {"required": ["b"]}, "else": {"maxProperties": 1}})",
       {R"({"a":1,"b":1})", R"({"a":2})", "{}"},
       {R"({"a":1})", R"({"a":2,"b":1})"}},
      {R"({"not": {"not": {"type": "string"}}})", {R"("a")"}, {"1"}},
      {R"({"allOf": [{"oneOf": [{"minimum": 2}, {"maximum": 5}]}, {"type": "number"}]})",
       {"1", "6"},
       {"2", "5", "3.5"}},
      {R"({"items": {"oneOf": [{"type": "number"}, {"minimum": 2}]}})", {"[1,\"a\"]"}, {"[3]"}},
  });
}

TEST(JsonMachineTest, Unevaluated) {
  ExpectAll({
      {R"({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false})",
       {"{}", R"({"a":1})"},
       {R"({"b":1})"}},
      {R"({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
                     {"properties": {"b": {}}}], "unevaluatedProperties": {"type": "null"}})",
       {R"({"a":1})", R"({"a":null})", R"({"a":1,"b":2})", R"({"b":2,"c":null})"},
       {R"({"a":2})", R"({"a":1,"c":1})"}},
      {R"({"prefixItems": [{}], "contains": {"const": 1}, "unevaluatedItems": false})",
       {"[1]", "[2,1]", "[2,1,1]"},
       {"[1,2]"}},
      {R"({"dependentSchemas": {"a": {"properties": {"b": {}}}}, "properties": {"a": {}},
           "unevaluatedProperties": false})",
       {R"({"a":1,"b":1})"},
       {R"({"b":1})"}},
  });
}

TEST(JsonMachineTest, Recursion) {
  ExpectAll({
      {R"({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false})",
       {"{}", R"({"next":{"next":{}}})"},
       {R"({"next":1})", R"({"next":{"next":1}})"}},
      {R"({"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]})",
       {"[[null,[]]]"},
       {"[[1]]"}},
  });
}

TEST(JsonMachineTest, Space) {
  const std::string dense = R"({"a":[1,2],"b":{}})";
  const std::string spaced = R"({"a": [1, 2], "b": {}})";
  const std::string free = " { \"a\"\t:\n[ 1 ,2 ]\r, \"b\":{ }  } ";
  ExpectAll({{"{}", {dense}, {spaced, free}}}, {.space = JsonSpace::kNone});
  ExpectAll({{"{}", {dense, spaced, R"({"a": [1,2],"b": {}})"}, {free, "[1,  2]", "[ 1]", "1 "}}},
            {.space = JsonSpace::kAfterSeparators});
  ExpectAll({{R"({"uniqueItems": true})", {dense, spaced, free, "[1 , [2 ] ]"}, {"[1 , 1.0 ]"}}},
            {.space = JsonSpace::kAny});
}

// Numbers that are asked about several things at once are spelled alike in all: without exponents
// where one of them is about a certain number.
TEST(JsonMachineTest, NumbersBesideOthersThatMustDiffer) {
  ExpectAll({{R"({"contains": {"type": "array", "uniqueItems": true}, "maxContains": 1})",
              {"[[0e5,90000,54]]", "[[1,1],[1,2]]"},
              {"[[0e5,9],[9,54]]", "[[9e4],[1,2]]", "[[1,1]]"}}});
}

// Each of these took seconds once.
TEST(JsonMachineTest, ManyObjectsInAnEnum) {
  std::string values;
  for (int i = 0; i < 2000; ++i) {
    values += fmt::format(R"({}{{"id": {}, "name": "n{}"}})", i > 0 ? "," : "", i, i);
  }
  ExpectAll({{R"({"enum": [)" + values + "]}",
              {R"({"id":1999,"name":"n1999"})"},
              {R"({"id":1,"name":"n2"})", R"({"id":2000})", R"({"id":1})"}}});
}

TEST(JsonMachineTest, PatternsThatOverlap) {
  std::string patterns;
  std::string types;
  for (int i = 0; i < 20; ++i) {
    const char letter = static_cast<char>('a' + i);
    patterns += fmt::format(R"({}"{}": {{"minLength": {}}})", i > 0 ? "," : "", letter, i % 4);
    types += fmt::format(R"({}"{}": {{"type": "{}"}})", i > 0 ? "," : "", letter,
                         i % 2 == 0 ? "string" : "null");
  }
  ExpectAll({
      {R"({"patternProperties": {)" + patterns + "}}",
       {R"({"abc":"xx","zb":"x","z":""})"},
       {R"({"abc":"x"})", R"({"zb":""})"}},
      {R"({"additionalProperties": false, "patternProperties": {)" + types + "}}",
       {R"({"ace":"x","bdf":null})"},
       {R"({"ab)", R"({"z)", R"({"a":null})"}},
  });
}

TEST(JsonMachineTest, OneOfManyByWhatIsRequired) {
  for (const std::string others : {"", R"(, "additionalProperties": false)"}) {
    std::string schemas;
    for (int i = 0; i < 50; ++i) {
      schemas += fmt::format(
          R"({}{{"type": "object", "required": ["a{}"],
                "properties": {{"a{}": {{"type": "string"}}, "b": {{"type": "null"}}}}{}}})",
          i > 0 ? "," : "", i, i, others);
    }
    ExpectAll({{R"({"oneOf": [)" + schemas + "]}",
                {R"({"a7":"x","b":null})", R"({"b":null,"a49":"x"})"},
                {R"({"a7":"x","a8":"x"})", "{}", R"({"a7":1})"}}},
              {.any_order = true});
  }
}

// As many alternatives are written as one of their names tells apart.
TEST(JsonMachineTest, ManyConditionsOnOneName) {
  std::string kinds;
  std::string numbers;
  std::string texts_conditions;
  std::string numbers_conditions;
  for (int i = 0; i < 40; ++i) {
    const char* const comma = i > 0 ? "," : "";
    const auto condition = [&](const std::string& kind) {
      return fmt::format(
          R"({}{{"if": {{"properties": {{"kind": {{"const": {}}}}}}},
                 "then": {{"properties": {{"p{}": {{"type": "integer"}}}}, "required": ["p{}"]}}}})",
          comma, kind, i, i);
    };
    kinds += fmt::format(R"({}"k{}")", comma, i);
    numbers += fmt::format("{}{}", comma, i);
    texts_conditions += condition(fmt::format(R"("k{}")", i));
    numbers_conditions += condition(fmt::to_string(i));
  }
  const auto schema = [](const std::string& of_kind, const std::string& conditions) {
    return R"({"type": "object", "required": ["kind"], "properties": {"kind": {"enum": [)" +
           of_kind + R"(]}}, "allOf": [)" + conditions + "]}";
  };
  for (const bool any_order : {false, true}) {
    ExpectAll({{schema(kinds, texts_conditions),
                {R"({"kind":"k39","p39":1})", R"({"kind":"k0","p0":1,"p39":"x"})"},
                {R"({"kind":"k39","p38":1})", R"({"kind":"k39","p39":"x")", R"({"kind":"k40")"}},
               {schema(numbers, numbers_conditions),
                {R"({"kind":39,"p39":1})", R"({"kind":7.0,"p7":1})"},
                {R"({"kind":39,"p38":1})", R"({"kind":40,)"}}},
              {.any_order = any_order});
  }
}

// 1.0 is no integer of draft 4, so that nothing could come behind it.
TEST(JsonMachineTest, ListedNumbersAreSpelledAsTheyMustBe) {
  const auto schema = JsonSchema::Compile(nlohmann::ordered_json::parse(
      R"({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
          "required": ["v"], "properties": {"v": {"enum": [1, 1.5]}},
          "oneOf": [{"properties": {"v": {"type": "integer"}}},
                    {"properties": {"v": {"enum": [1.5]}}}]})"));
  ASSERT_TRUE(schema);
  const std::unique_ptr<JsonMachine> machine = schema->NewMachine({});
  Recognizer::State state = machine->Start();
  for (const char byte : std::string(R"({"v":1)")) {
    state = machine->Step(state, static_cast<uint8_t>(byte));
    ASSERT_NE(state, Recognizer::kDead);
  }
  EXPECT_NE(machine->Step(state, '}'), Recognizer::kDead);
  state = machine->Step(state, '.');
  ASSERT_NE(state, Recognizer::kDead);
  EXPECT_EQ(machine->Step(state, '0'), Recognizer::kDead);
  EXPECT_NE(machine->Step(state, '5'), Recognizer::kDead);
}

// What stands before it in the schema cannot come any more, so that its conditions hold.
TEST(JsonMachineTest, ConditionsOnANameThatIsOver) {
  std::string conditions;
  for (int i = 0; i < 40; ++i) {
    conditions += fmt::format(R"({}{{"if": {{"properties": {{"a": {{"const": {}}}}}}},
                                     "then": {{"properties": {{"b": {{"maximum": {}}}}}}}}})",
                              i > 0 ? "," : "", i, 100 - i);
  }
  ExpectAll(
      {{R"({"properties": {"a": {}, "b": {"type": "integer"}}, "allOf": [)" + conditions + "]}",
        {R"({"b":61})", R"({"a":3,"b":97})", R"({"a":"x","b":1000})"},
        {R"({"b":62})", R"({"a":3,"b":98})"}}});
}

}  // namespace
}  // namespace weft
