// What the text of an answer must be, in the words of every dialect: what it comes to, and what
// every refusal names.
#include "proto/output_fields.h"

#include <ostream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/chat/chat_request.h"
#include "proto/completions/completion_request.h"
#include "proto/messages/messages_request.h"
#include "proto/responses/responses_request.h"

namespace weft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

// An endpoint, by what makes a request of these fields.
enum class Dialect { kCompletions, kChat, kResponses, kMessages };

ApiResult<GenerationRequest> Parse(Dialect dialect, const std::string& fields) {
  const std::string more = fields.empty() ? "}" : "," + fields + "}";
  const std::string messages = R"({"messages":[{"role":"user","content":"a"}],"max_tokens":99)";
  const auto common = [](auto request, auto part) -> ApiResult<GenerationRequest> {
    if (!request) return tl::unexpected(std::move(request).error());
    return GenerationRequest(part(*request));
  };
  const auto whole = [](const auto& request) -> const GenerationRequest& { return request; };
  const auto chat = [](const auto& request) -> const GenerationRequest& { return request.chat; };
  switch (dialect) {
    case Dialect::kCompletions:
      return common(ParseCompletionRequest(R"({"prompt":"a")" + more), whole);
    case Dialect::kChat:
      return common(ParseChatRequest(messages + more), whole);
    case Dialect::kResponses:
      return common(ParseResponsesRequest(R"({"input":"a")" + more), chat);
    case Dialect::kMessages:
      return common(ParseMessagesRequest(messages + more), chat);
  }
  return GenerationRequest();
}

GenerationRequest Parsed(Dialect dialect, const std::string& fields) {
  ApiResult<GenerationRequest> request = Parse(dialect, fields);
  EXPECT_TRUE(request) << fields << ": " << (request ? "" : request.error().message);
  if (!request) return {};
  EXPECT_EQ(request->unknown_field_count, 0) << fields;
  return *std::move(request);
}

// What a format has: the schema, the text or the choices.
std::string ContentOf(const OutputFormat& output) {
  switch (output.kind) {
    case OutputKind::kJsonSchema:
    case OutputKind::kStructuralTag:
      return output.schema.dump();
    case OutputKind::kChoice:
      return fmt::format("{}", fmt::join(output.choices, "|"));
    default:
      return output.text;
  }
}

struct Meaning {
  std::string fields;
  OutputKind kind;
  std::string path;
  std::string content;
};

void PrintTo(const Meaning& meaning, std::ostream* stream) { *stream << meaning.fields; }

void ExpectMeaning(Dialect dialect, const Meaning& meaning) {
  const OutputFormat output = Parsed(dialect, meaning.fields).output;
  EXPECT_EQ(output.kind, meaning.kind);
  EXPECT_EQ(output.path, meaning.path);
  EXPECT_EQ(ContentOf(output), meaning.content);
}

// What all endpoints have.
class SharedOutputTest : public testing::TestWithParam<Meaning> {};

TEST_P(SharedOutputTest, MeansTheSameEverywhere) {
  for (const Dialect dialect :
       {Dialect::kCompletions, Dialect::kChat, Dialect::kResponses, Dialect::kMessages}) {
    SCOPED_TRACE(static_cast<int>(dialect));
    ExpectMeaning(dialect, GetParam());
  }
}

const Meaning kSharedMeanings[] = {
    {"", OutputKind::kText, "", ""},
    {R"("structured_outputs":{"json":{"z":1,"a":{"y":1,"b":2}}})", OutputKind::kJsonSchema,
     "structured_outputs.json", R"({"z":1,"a":{"y":1,"b":2}})"},
    {R"("structured_outputs":{"json":"{\"z\":1,\"a\":2}"})", OutputKind::kJsonSchema,
     "structured_outputs.json", R"({"z":1,"a":2})"},
    {R"("structured_outputs":{"regex":"[0-9]+"})", OutputKind::kRegex, "structured_outputs.regex",
     "[0-9]+"},
    {R"("structured_outputs":{"choice":["yes","no"]})", OutputKind::kChoice,
     "structured_outputs.choice", "yes|no"},
    {R"("structured_outputs":{"grammar":"root ::= \"a\""})", OutputKind::kGrammar,
     "structured_outputs.grammar", R"(root ::= "a")"},
    {R"("structured_outputs":{"json_object":true})", OutputKind::kJsonObject,
     "structured_outputs.json_object", ""},
    {R"("structured_outputs":{"structural_tag":"{\"format\":{\"type\":\"any_text\"}}"})",
     OutputKind::kStructuralTag, "structured_outputs.structural_tag",
     R"({"format":{"type":"any_text"}})"},
    {R"("structural_tag":{"structures":[{"begin":"<a>","end":"</a>"}],"triggers":["<"]})",
     OutputKind::kStructuralTag, "structural_tag",
     R"({"structures":[{"begin":"<a>","end":"</a>"}],"triggers":["<"]})"},
    {R"("guided_json":{"z":1,"a":2})", OutputKind::kJsonSchema, "guided_json", R"({"z":1,"a":2})"},
    {R"("guided_json":"{}")", OutputKind::kJsonSchema, "guided_json", "{}"},
    {R"("guided_regex":"a|b","guided_decoding_backend":"xgrammar:no-fallback")", OutputKind::kRegex,
     "guided_regex", "a|b"},
    {R"("guided_choice":["a"])", OutputKind::kChoice, "guided_choice", "a"},
    {R"("guided_grammar":"start: \"a\"")", OutputKind::kGrammar, "guided_grammar", R"(start: "a")"},
    {R"("guided_json_object":true)", OutputKind::kJsonObject, "guided_json_object", ""},
    {R"("grammar":"root ::= \"a\"")", OutputKind::kGrammar, "grammar", R"(root ::= "a")"},
    {R"("json_schema":{"z":1,"a":2})", OutputKind::kJsonSchema, "json_schema", R"({"z":1,"a":2})"},
    {R"("regex":"a*")", OutputKind::kRegex, "regex", "a*"},
    {R"("ebnf":"root ::= \"a\"")", OutputKind::kGrammar, "ebnf", R"(root ::= "a")"},
    // What says nothing stands beside what does.
    {R"("grammar":"","json_schema":null,"guided_json_object":false,"grammar_lazy":false,
        "grammar_triggers":[],"structured_outputs":{"json_object":false,"regex":null},
        "guided_regex":"a")",
     OutputKind::kRegex, "guided_regex", "a"},
    {R"("structured_outputs":{})", OutputKind::kText, "", ""},
};
INSTANTIATE_TEST_SUITE_P(All, SharedOutputTest, testing::ValuesIn(kSharedMeanings));

class TypedOutputTest : public testing::TestWithParam<std::pair<Dialect, Meaning>> {};

TEST_P(TypedOutputTest, MeansWhatItsEndpointSays) {
  ExpectMeaning(GetParam().first, GetParam().second);
}

std::vector<std::pair<Dialect, Meaning>> TypedMeanings() {
  std::vector<std::pair<Dialect, Meaning>> meanings;
  for (const Dialect dialect : {Dialect::kCompletions, Dialect::kChat}) {
    for (const Meaning& meaning : std::initializer_list<Meaning>{
             {R"("response_format":{"type":"text"},"guided_regex":"a")", OutputKind::kRegex,
              "guided_regex", "a"},
             {R"("response_format":{"type":"json_object","json_schema":null})",
              OutputKind::kJsonObject, "response_format", ""},
             {R"("response_format":{"type":"json_object","schema":{"z":1,"a":2}})",
              OutputKind::kJsonSchema, "response_format.schema", R"({"z":1,"a":2})"},
             {R"("response_format":{"type":"json_schema","schema":{"z":1,"a":2}})",
              OutputKind::kJsonSchema, "response_format.schema", R"({"z":1,"a":2})"},
             {R"("response_format":{"type":"json_schema","json_schema":{"name":"n",
                 "description":"d","strict":true,"schema":{"z":1,"a":2}}})",
              OutputKind::kJsonSchema, "response_format.json_schema.schema", R"({"z":1,"a":2})"},
             {R"("response_format":{"type":"json_schema",
                 "json_schema":{"strict":false,"schema":{}}})",
              OutputKind::kJsonSchema, "response_format.json_schema.schema", "{}"},
             {R"("response_format":{"type":"structural_tag","format":{"type":"any_text"}})",
              OutputKind::kStructuralTag, "response_format",
              R"({"type":"structural_tag","format":{"type":"any_text"}})"},
         }) {
      meanings.emplace_back(dialect, meaning);
    }
  }
  const std::string schema =
      R"({"type":"json_schema","name":"n","strict":true,"schema":{"z":1,"a":2}})";
  const auto add = [&](Dialect dialect, const std::string& fields, OutputKind kind,
                       const std::string& path) {
    const std::string content = kind == OutputKind::kJsonSchema ? R"({"z":1,"a":2})" : "";
    meanings.emplace_back(dialect, Meaning{fields, kind, path, content});
  };
  add(Dialect::kResponses, R"("text":{"format":{"type":"text"}})", OutputKind::kText, "");
  add(Dialect::kResponses, R"("text":{"format":{"type":"json_object"}})", OutputKind::kJsonObject,
      "text.format");
  add(Dialect::kResponses, R"("text":{"format":)" + schema + "}", OutputKind::kJsonSchema,
      "text.format.schema");
  add(Dialect::kMessages, R"("output_config":{"effort":"low","format":)" + schema + "}",
      OutputKind::kJsonSchema, "output_config.format.schema");
  add(Dialect::kMessages, R"("output_config":{"format":null},"output_format":)" + schema,
      OutputKind::kJsonSchema, "output_format.schema");
  return meanings;
}
INSTANTIATE_TEST_SUITE_P(All, TypedOutputTest, testing::ValuesIn(TypedMeanings()));

TEST(OutputFieldsTest, TheAnswerOfResponsesRepeatsTheFormat) {
  const auto repeated = [](const std::string& text) {
    return ParseResponsesRequest(R"({"input":"a","text":)" + text + "}")->echo["text"].dump();
  };
  EXPECT_EQ(repeated("null"), R"({"format":{"type":"text"},"verbosity":"medium"})");
  EXPECT_EQ(repeated(R"({"format":{"type":"json_object"}})"),
            R"({"format":{"type":"json_object"},"verbosity":"medium"})");
  EXPECT_EQ(
      repeated(
          R"({"format":{"strict":true,"schema":{"z":1,"a":2},"name":"n","type":"json_schema"}})"),
      R"({"format":{"type":"json_schema","name":"n","description":null,)"
      R"("schema":{"z":1,"a":2},"strict":true},"verbosity":"medium"})");
}

TEST(OutputFieldsTest, PatternsOfWhiteSpaceAllowWhatComes) {
  struct Pattern {
    std::string text;
    OutputSpace space;
  };
  for (const Pattern& pattern : {
           Pattern{"", OutputSpace::kNone},
           Pattern{" ?", OutputSpace::kAfterSeparators},
           Pattern{"[ ]?", OutputSpace::kAfterSeparators},
           Pattern{"[ ]*", OutputSpace::kAfterSeparators},
           Pattern{"[ \\n]*", OutputSpace::kAfterSeparators},
           Pattern{"[\n\t ]*", OutputSpace::kAfterSeparators},
           Pattern{"\\s?", OutputSpace::kAfterSeparators},
           Pattern{"[ \\t\\r\\n]?", OutputSpace::kAfterSeparators},
           Pattern{"[\\n]*", OutputSpace::kNone},
           Pattern{"\\s*", OutputSpace::kAny},
           Pattern{"[\\s]*", OutputSpace::kAny},
           Pattern{"[ \\t\\r\\n]*", OutputSpace::kAny},
           Pattern{"[\n\t\r ]*", OutputSpace::kAny},
       }) {
    const std::string text = ordered_json(pattern.text).dump();
    const auto space = [&](const std::string& fields) {
      return Parsed(Dialect::kChat, fields).output.space;
    };
    EXPECT_EQ(space(R"("guided_whitespace_pattern":)" + text), pattern.space) << text;
    EXPECT_EQ(space(R"("structured_outputs":{"json":{},"whitespace_pattern":)" + text + "}"),
              pattern.space)
        << text;
    EXPECT_EQ(space(R"("structured_outputs":{"disable_any_whitespace":true,"json":{},
                       "whitespace_pattern":)" +
                    text + "}"),
              OutputSpace::kNone)
        << text;
  }
  EXPECT_EQ(Parsed(Dialect::kChat, "").output.space, OutputSpace::kAfterSeparators);
  for (const char* other : {" ", "\\s+", "[ ]{0,3}", "[^a]*", "[]*", "[ a]*", "a*", "( )*", "*",
                            "[ \\n", "[ \\w]?", "  ?", "[ \\]*"}) {
    const std::string text = ordered_json(other).dump();
    const ApiResult<GenerationRequest> request =
        Parse(Dialect::kChat, R"("guided_whitespace_pattern":)" + text);
    ASSERT_FALSE(request) << other;
    EXPECT_EQ(request.error().param, "guided_whitespace_pattern");
    EXPECT_EQ(request.error().code, "unsupported_value");
  }
}

TEST(OutputFieldsTest, OptionsStandBesideAnyFormat) {
  const GenerationRequest request =
      Parsed(Dialect::kChat, R"("response_format":{"type":"json_object"},"finish_by_length":true,
         "structured_outputs":{"any_order":true,"disable_fallback":true,
                               "disable_additional_properties":false,
                               "whitespace_pattern":"\\s*"},
         "n":2,"stream":true,"logprobs":true,
         "tools":[{"type":"function","function":{"name":"f","strict":true}}])");
  EXPECT_EQ(request.output.kind, OutputKind::kJsonObject);
  EXPECT_TRUE(request.output.any_order && request.finish_by_length);
  EXPECT_EQ(request.output.space, OutputSpace::kAny);
  EXPECT_TRUE(
      Parsed(Dialect::kChat, R"("structured_outputs":{"regex":"a","finish_by_length":true})")
          .finish_by_length);
  const GenerationRequest without = Parsed(Dialect::kChat, "");
  EXPECT_FALSE(without.output.any_order || without.finish_by_length);
  EXPECT_EQ(Parsed(Dialect::kCompletions, R"("use_beam_search":true,"regex":"a")").output.kind,
            OutputKind::kRegex);
}

struct Refusal {
  Dialect dialect;
  std::string fields;
  std::string param;
  std::string message_part;
};

void PrintTo(const Refusal& refusal, std::ostream* stream) { *stream << refusal.fields; }

class OutputRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(OutputRefusalTest, NamesThePathAndSaysWhatToDo) {
  const Refusal& refusal = GetParam();
  const ApiResult<GenerationRequest> request = Parse(refusal.dialect, refusal.fields);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().status, 400);
  EXPECT_EQ(request.error().param, refusal.param);
  EXPECT_THAT(request.error().message, HasSubstr(refusal.message_part));
  EXPECT_LT(request.error().message.size(), 400U);
}

std::string Format(const std::string& format) { return R"("response_format":)" + format; }
std::string Structured(const std::string& members) {
  return R"("structured_outputs":{)" + members + "}";
}

const Refusal kFormatRefusals[] = {
    {Dialect::kChat, Format("\"text\""), "response_format", "an object"},
    {Dialect::kChat, Format("{}"), "response_format.type", "not null"},
    {Dialect::kChat, Format(R"({"type":5})"), "response_format.type", "not the number 5"},
    {Dialect::kChat, Format(R"({"type":"xml"})"), "response_format.type",
     "\"structural_tag\" only"},
    {Dialect::kCompletions, Format(R"({"type":"regex","value":"a"})"), "response_format.type",
     "is the string \"regex\""},
    {Dialect::kChat, Format(R"({"type":"text","schema":{}})"), "response_format.schema",
     "may have type here"},
    {Dialect::kChat, Format(R"({"type":"json_object","value":{}})"), "response_format.value",
     "nothing that this server knows"},
    {Dialect::kChat, Format(R"({"type":"json_object","schema":5})"), "response_format.schema",
     "a JSON schema (an object)"},
    {Dialect::kChat, Format(R"({"type":"json_schema"})"), "response_format.json_schema",
     "is missing"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":[]})"),
     "response_format.json_schema", "an object"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":{}})"),
     "response_format.json_schema.schema", "is missing"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":{"schema":"{}"}})"),
     "response_format.json_schema.schema", "a JSON schema (an object), not"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":{"schema":{},"name":5}})"),
     "response_format.json_schema.name", "a string"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":{"schema":{},"strict":"yes"}})"),
     "response_format.json_schema.strict", "true or false"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":{"schema":{},"order":1}})"),
     "response_format.json_schema.order", "nothing that this server knows"},
    {Dialect::kChat, Format(R"({"type":"json_schema","json_schema":{"schema":{}},"schema":{}})"),
     "response_format.schema", "nothing that this server knows"},
    {Dialect::kChat, Format(R"({"type":"structural_tag"})"), "response_format.structures",
     "is missing"},
    {Dialect::kChat, Format(R"({"type":"structural_tag","format":5})"), "response_format.format",
     "an object"},
    {Dialect::kChat, Format(R"({"type":"structural_tag","format":{},"triggers":[]})"),
     "response_format.triggers", "nothing that this server knows"},
    {Dialect::kChat, Format(R"({"type":"structural_tag","structures":[{}],"triggers":[]})"),
     "response_format.triggers", "at least one"},
    {Dialect::kResponses, R"("text":{"format":{"type":"json_schema","name":"n"}})",
     "text.format.schema", "is missing"},
    {Dialect::kResponses, R"("text":{"format":{"type":"json_schema","json_schema":{}}})",
     "text.format.json_schema", "nothing that this server knows"},
    {Dialect::kResponses, R"("text":{"format":{"type":"structural_tag"}})", "text.format.type",
     "\"json_schema\" only"},
    {Dialect::kResponses, Format(R"({"type":"json_object"})"), "response_format", "not supported"},
    {Dialect::kMessages, Format(R"({"type":"json_object"})"), "response_format", "not supported"},
    {Dialect::kMessages, R"("output_config":{"format":{"type":"json_schema"}})",
     "output_config.format.schema", "is missing"},
    {Dialect::kMessages,
     R"("output_config":{"format":{"type":"text"}},"output_format":{"type":"text"})",
     "output_format", "send one of them"},
};
INSTANTIATE_TEST_SUITE_P(Formats, OutputRefusalTest, testing::ValuesIn(kFormatRefusals));

const Refusal kSharedRefusals[] = {
    {Dialect::kChat, R"("structured_outputs":[])", "structured_outputs", "an object"},
    {Dialect::kChat, Structured(R"("jsn":{})"), "structured_outputs.jsn", "may have json, regex"},
    {Dialect::kChat, Structured(R"("json":[])"), "structured_outputs.json", "or its JSON text"},
    {Dialect::kChat, Structured(R"("json":"[]")"), "structured_outputs.json", "not an empty array"},
    {Dialect::kChat, Structured(R"("json":"{,}")"), "structured_outputs.json",
     "the JSON text in 'structured_outputs.json' is not valid JSON"},
    {Dialect::kChat, Structured(R"("json":"{\"a\":1,\"a\":2}")"), "structured_outputs.json",
     "the key 'a' appears twice"},
    {Dialect::kChat, Structured(R"("regex":5)"), "structured_outputs.regex",
     "a regular expression"},
    {Dialect::kChat, Structured(R"("choice":[])"), "structured_outputs.choice", "at least one"},
    {Dialect::kChat, Structured(R"("choice":["a",5])"), "structured_outputs.choice[1]", "a string"},
    {Dialect::kChat, Structured(R"("grammar":"")"), "structured_outputs.grammar", "of a grammar"},
    {Dialect::kChat, Structured(R"("json_object":"yes")"), "structured_outputs.json_object",
     "true or false"},
    {Dialect::kChat, Structured(R"("structural_tag":{"type":"tag","format":{}})"),
     "structured_outputs.structural_tag.type", "\"structural_tag\""},
    {Dialect::kChat, Structured(R"("disable_additional_properties":true)"),
     "structured_outputs.disable_additional_properties", "means what it says"},
    {Dialect::kChat, Structured(R"("disable_any_whitespace":1)"),
     "structured_outputs.disable_any_whitespace", "true or false"},
    {Dialect::kChat, Structured(R"("any_order":1)"), "structured_outputs.any_order",
     "true or false"},
    {Dialect::kChat, Structured(R"("whitespace_pattern":5)"),
     "structured_outputs.whitespace_pattern", "a regular expression"},
    {Dialect::kChat,
     Structured(R"("whitespace_pattern":"")") + R"(,"guided_whitespace_pattern":" ?")",
     "guided_whitespace_pattern", "differ"},
    {Dialect::kChat, R"("guided_decoding_backend":5)", "guided_decoding_backend", "a string"},
    {Dialect::kChat, R"("finish_by_length":1)", "finish_by_length", "true or false"},
    {Dialect::kChat, Structured(R"("finish_by_length":1)"), "structured_outputs.finish_by_length",
     "true or false"},
    {Dialect::kChat, R"("grammar":5)", "grammar", "the text of a grammar"},
    {Dialect::kChat, R"("json_schema":"{}")", "json_schema", "(an object), not"},
    {Dialect::kChat, R"("grammar":"a","grammar_lazy":true)", "grammar_lazy", "not supported"},
    {Dialect::kChat, R"("grammar":"a","grammar_triggers":[{}])", "grammar_triggers",
     "not supported"},
    // Twice.
    {Dialect::kChat, Structured(R"("json":{},"regex":"a")"), "structured_outputs.regex",
     "'structured_outputs.json' both say"},
    {Dialect::kChat, Format(R"({"type":"json_object"},"guided_choice":["a"])"), "guided_choice",
     "'response_format' both say"},
    {Dialect::kCompletions, R"("json_schema":{},"grammar":"a")", "grammar", "'json_schema' both"},
    {Dialect::kResponses, R"("text":{"format":{"type":"json_object"}},"regex":"a")", "regex",
     "'text.format' both say"},
    {Dialect::kMessages, R"("output_format":{"type":"json_schema","schema":{}},"guided_json":{})",
     "guided_json", "'output_format.schema' both say"},
};
INSTANTIATE_TEST_SUITE_P(Shared, OutputRefusalTest, testing::ValuesIn(kSharedRefusals));

TEST(OutputFieldsTest, APromptOfManyTokensIsReadWithoutAFormatOnly) {
  std::string ids = "1";
  for (int i = 1; i < (1 << 20) + 8; ++i) ids += ",1";
  EXPECT_TRUE(ParseCompletionRequest(R"({"prompt":[)" + ids + "]}"));
  const auto request = ParseCompletionRequest(R"({"regex":"a","prompt":[)" + ids + "]}");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, "too_many_values");
}

}  // namespace
}  // namespace weft
