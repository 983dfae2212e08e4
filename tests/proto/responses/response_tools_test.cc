// The tools of /v1/responses: what the model hears, and how calls and choices find back.
#include "proto/responses/response_tools.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/responses/response_items.h"
#include "proto/responses/responses_request.h"
#include "proto/responses/sealed_text.h"

namespace weft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string WithTools(const std::string& tools, const std::string& fields = "") {
  return R"({"input":"Hi","tools":[)" + tools + "]" + (fields.empty() ? "" : "," + fields) + "}";
}

ResponsesRequest Parsed(const std::string& body) {
  ApiResult<ResponsesRequest> request = ParseResponsesRequest(body);
  EXPECT_TRUE(request) << request.error().message;
  return *std::move(request);
}

ApiError ErrorOf(const std::string& body) {
  const ApiResult<ResponsesRequest> request = ParseResponsesRequest(body);
  EXPECT_FALSE(request) << body;
  return request ? ApiError() : request.error();
}

std::vector<std::string> HeardNames(const ResponsesRequest& request) {
  std::vector<std::string> names;
  for (const ordered_json& tool : request.chat.tools) names.push_back(tool["function"]["name"]);
  return names;
}

constexpr auto kCrm = R"({"type":"namespace","name":"crm","description":"Customers.","tools":[
    {"type":"function","name":"find","description":"Finds.","defer_loading":true,
     "parameters":{"type":"object"}},
    {"type":"custom","name":"note"}]})";

TEST(ResponseToolsTest, NamespacesAreFlattened) {
  const ResponsesRequest request =
      Parsed(WithTools(std::string(R"({"type":"function","name":"find"},)") + kCrm +
                       R"(,{"type":"namespace","name":"mcp__x__","description":"X.","tools":[
                             {"type":"function","name":"find"}]})"));
  EXPECT_THAT(HeardNames(request), ElementsAre("find", "crm__find", "crm__note", "mcp__x__find"));
  EXPECT_EQ(request.tools.at("crm__find"), (ResponseTool{"crm", "find", false}));
  EXPECT_EQ(request.tools.at("crm__note"), (ResponseTool{"crm", "note", true}));
  EXPECT_EQ(request.tools.at("mcp__x__find"), (ResponseTool{"mcp__x__", "find", false}));
  // What the namespace is stands with its first tool.
  EXPECT_EQ(request.chat.tools[1]["function"]["description"], "Customers.\n\nFinds.");
  EXPECT_FALSE(request.chat.tools[2]["function"].contains("description"));
  EXPECT_EQ(request.chat.tool_paths.FunctionOf(2), "tools[1].tools[1]");
  EXPECT_EQ(request.echo["tools"][1]["type"], "namespace");
  EXPECT_EQ(request.echo["tools"][1]["tools"][0]["name"], "find");
  EXPECT_EQ(request.echo["tools"][1]["tools"][1]["type"], "custom");
}

TEST(ResponseToolsTest, FlatNamesGetOutOfTheWay) {
  const ResponsesRequest request = Parsed(
      WithTools(R"({"type":"namespace","name":"a","tools":[{"type":"function","name":"b__c"}]},
                   {"type":"namespace","name":"a__b","tools":[{"type":"function","name":"c"}]},
                   {"type":"function","name":"a__b__c_2"},
                   {"type":"function","name":"a__b__c"})"));
  EXPECT_THAT(HeardNames(request), ElementsAre("a__b__c_3", "a__b__c_4", "a__b__c_2", "a__b__c"));
  EXPECT_EQ(request.tools.at("a__b__c_4"), (ResponseTool{"a__b", "c", false}));
  EXPECT_EQ(HeardName(request.tools, "a__b", "c"), "a__b__c_4");
  EXPECT_EQ(HeardName(request.tools, "", "a__b__c"), "a__b__c");
  EXPECT_EQ(HeardName(request.tools, "gone", "f"), "gone__f");
}

TEST(ResponseToolsTest, CustomToolsAreFunctionsWithOneInput) {
  const ResponsesRequest request = Parsed(WithTools(
      R"({"type":"custom","name":"code","description":"Runs.","format":{"type":"text"}},
         {"type":"custom","name":"sum","format":{"type":"grammar","syntax":"lark",
          "definition":"start: \"1\""}},
         {"type":"custom","name":"date","format":{"type":"grammar","syntax":"regex",
          "definition":"[0-9]+"}})"));
  EXPECT_EQ(request.chat.tools[0].dump(),
            R"({"type":"function","function":{"name":"code","description":"Runs.",)"
            R"("parameters":{"type":"object","properties":{"input":{"type":"string"}},)"
            R"("required":["input"],"additionalProperties":false}}})");
  EXPECT_THAT(request.chat.tools[1]["function"]["parameters"]["properties"]["input"]["description"]
                  .get<std::string>(),
              HasSubstr("start: \"1\""));
  ASSERT_EQ(request.chat.inputs.size(), 2U);
  EXPECT_EQ(request.chat.inputs.at("sum").kind, OutputKind::kGrammar);
  EXPECT_EQ(request.chat.inputs.at("date").kind, OutputKind::kRegex);
  EXPECT_EQ(request.chat.inputs.at("date").path, "tools[2].format.definition");
}

TEST(ResponseToolsTest, HostedToolsStandApart) {
  const ResponsesRequest request =
      Parsed(WithTools(R"({"type":"web_search","search_context_size":"low"},
                   {"type":"function","name":"f"},{"type":"mcp","server_label":"x"})"));
  EXPECT_THAT(HeardNames(request), ElementsAre("f"));
  EXPECT_THAT(request.chat.dropped_tools, ElementsAre("web_search", "mcp"));
  EXPECT_EQ(request.echo["tools"].size(), 1U);
  const ResponsesRequest none = Parsed(WithTools(R"({"type":"web_search"})"));
  EXPECT_EQ(none.chat.tool_choice.kind, ToolChoiceKind::kNone);
}

TEST(ResponseToolsTest, ChoicesNameToolsAsTheClientDoes) {
  const auto heard = [](const std::string& choice) {
    return Parsed(WithTools(kCrm, R"("tool_choice":)" + choice)).chat.tool_choice.function;
  };
  EXPECT_EQ(heard(R"({"type":"function","name":"find","namespace":"crm"})"), "crm__find");
  EXPECT_EQ(heard(R"({"type":"custom","name":"note","namespace":"crm"})"), "crm__note");
  const ResponsesRequest allowed =
      Parsed(WithTools(kCrm, R"("tool_choice":{"type":"allowed_tools","mode":"required","tools":[
                            {"type":"custom","name":"note","namespace":"crm"}]})"));
  EXPECT_THAT(HeardNames(allowed), ElementsAre("crm__note"));
  EXPECT_EQ(allowed.chat.tool_paths.FunctionOf(0), "tools[0].tools[1]");
}

TEST(ResponseToolsTest, RefusesByPath) {
  struct Case {
    std::string body;
    std::string param;
    std::string code = "invalid_value";
  };
  const auto choose = [](const std::string& choice) {
    return WithTools(kCrm, R"("tool_choice":)" + choice);
  };
  const Case cases[] = {
      {WithTools(R"({"type":"mystery"})"), "tools[0].type", "unsupported_value"},
      {WithTools(R"({"type":"namespace","name":"a b","tools":[]})"), "tools[0].name"},
      {WithTools(R"({"type":"namespace","name":"a"})"), "tools[0].tools",
       "missing_required_parameter"},
      {WithTools(R"({"type":"namespace","name":"a","tools":[{"type":"web_search"}]})"),
       "tools[0].tools[0].type", "unsupported_value"},
      {WithTools(R"({"type":"namespace","name":"a","tools":[{"type":"function","name":"f"},
                     {"type":"custom","name":"f"}]})"),
       "tools[0].tools[1].name"},
      {WithTools(R"({"type":"custom","name":"a","format":{"type":"json"}})"),
       "tools[0].format.type"},
      {WithTools(R"({"type":"custom","name":"a","format":{"type":"grammar","syntax":"gbnf",
                     "definition":"x"}})"),
       "tools[0].format.syntax"},
      {WithTools(R"({"type":"custom","name":"a","format":{"type":"grammar","syntax":"lark",
                     "definition":""}})"),
       "tools[0].format.definition"},
      {choose(R"({"type":"web_search_preview"})"), "tool_choice.type", "unsupported_value"},
      {choose(R"({"type":"function","name":"find"})"), "tool_choice.name"},
      {choose(R"({"type":"custom","name":"find","namespace":"crm"})"), "tool_choice.name"},
      {choose(R"({"type":"allowed_tools","tools":[{"type":"web_search"}]})"),
       "tool_choice.tools[0].type", "unsupported_value"},
  };
  for (const Case& each : cases) {
    const ApiError error = ErrorOf(each.body);
    EXPECT_EQ(error.param, each.param) << each.body;
    EXPECT_EQ(error.code, each.code) << each.body;
  }
}

TEST(ResponseToolsTest, CallsOfTheHistoryHaveTheNamesThatTheModelHears) {
  const ResponsesRequest request = Parsed(R"({"tools":[)" + std::string(kCrm) + R"(],"input":[
        {"type":"function_call","call_id":"1","namespace":"crm","name":"find","arguments":"{}"},
        {"type":"function_call_output","call_id":"1","output":"x"},
        {"type":"custom_tool_call","call_id":"2","namespace":"crm","name":"note","input":"a\"b"},
        {"type":"custom_tool_call_output","call_id":"2","output":[
          {"type":"input_text","text":"done"}]},
        {"type":"message","role":"assistant","phase":"commentary","content":"so"}]})");
  EXPECT_EQ(request.input[0]["namespace"], "crm");
  EXPECT_EQ(request.input[4]["phase"], "commentary");
  const std::vector<ordered_json> items(request.input.begin(), request.input.end());
  const auto messages = MessagesOfItems(items, 0, std::nullopt, request.tools);
  ASSERT_TRUE(messages) << messages.error().message;
  EXPECT_EQ((*messages)[0]["tool_calls"][0]["function"]["name"], "crm__find");
  EXPECT_EQ((*messages)[2]["tool_calls"][0]["function"]["name"], "crm__note");
  EXPECT_EQ((*messages)[2]["tool_calls"][0]["function"]["arguments"], R"({"input":"a\"b"})");
  EXPECT_EQ((*messages)[3]["name"], "crm__note");
  EXPECT_EQ((*messages)[3]["content"], "done");
}

TEST(ResponseToolsTest, SealedTextsComeBack) {
  const std::string sealed = SealText("thoughts é");
  EXPECT_EQ(UnsealText(sealed), "thoughts é");
  EXPECT_EQ(UnsealText("gAAAAABo"), std::nullopt);
  EXPECT_EQ(UnsealText(""), std::nullopt);
  const std::string reasoning = R"({"input":[{"type":"reasoning","summary":[],)"
                                R"("encrypted_content":")" +
                                sealed + R"("}]})";
  EXPECT_EQ(Parsed(reasoning).input[0]["content"][0]["text"], "thoughts é");
  const std::string compaction = R"({"input":[{"type":"compaction","encrypted_content":"x"}]})";
  EXPECT_EQ(ErrorOf(compaction).param, "input[0].encrypted_content");
}

}  // namespace
}  // namespace weft
