// Constraints on what is generated, from the request to the answer.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/server/raw_client.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

RawResponse Chat(const TestServer& server, const std::string& fields) {
  return server.PostTo(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":200,)" + fields + "}");
}

json ChoiceOf(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body)["choices"][0];
}

json RefusalOf(const RawResponse& response) {
  EXPECT_EQ(response.status, 400) << response.body;
  return json::parse(response.body)["error"];
}

constexpr auto kSize =
    R"("response_format":{"type":"json_schema","json_schema":{"name":"size","schema":
       {"type":"object","properties":{"size":{"enum":["S","M","L"]}},"required":["size"],
        "additionalProperties":false}}})";

TEST(StructuredOutputTest, AnAnswerFitsItsSchema) {
  // The model wants to say something else.
  const TestServer server(Saying("Hello, this is no JSON at all, but text that goes on and on."));
  for (int seed = 0; seed < 5; ++seed) {
    const json choice =
        ChoiceOf(Chat(server, kSize + std::string(R"(,"seed":)") + std::to_string(seed)));
    EXPECT_EQ(choice["finish_reason"], "stop");
    const json answer = json::parse(choice["message"]["content"].get<std::string>());
    EXPECT_THAT(answer["size"], testing::AnyOf("S", "M", "L"));
    EXPECT_EQ(answer.size(), 1U);
  }
}

TEST(StructuredOutputTest, WhatBreaksOffSaysSo) {
  const TestServer server(Saying("x"));
  const RawResponse response = server.PostTo(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":3,)" + std::string(kSize) + "}");
  EXPECT_EQ(ChoiceOf(response)["finish_reason"], "length");
}

TEST(StructuredOutputTest, CompletionsAreConstrained) {
  const TestServer server;
  const auto complete = [&](const std::string& fields) {
    const RawResponse response =
        server.PostTo("/v1/completions", R"({"prompt":"Hi","max_tokens":50,)" + fields + "}");
    return ChoiceOf(response)["text"].get<std::string>();
  };
  EXPECT_THAT(complete(R"("structured_outputs":{"choice":["yes","no"]})"),
              testing::AnyOf("yes", "no"));
  EXPECT_THAT(complete(R"("structured_outputs":{"regex":"[xyz]{3}-[0-9]"})"),
              testing::ContainsRegex("^[xyz]{3}-[0-9]$"));
  EXPECT_THAT(complete(R"x("grammar":"root ::= \"(\" root \")\" | \"o\"")x"), HasSubstr("o"));
}

TEST(StructuredOutputTest, ThoughtsComeFirst) {
  TestModelOptions options = Saying("<think>\nIs it {\"size\": 1}?</think>\n\n{\"size\": \"M\"}");
  options.chat_template = "{#- </think> -#}" + options.chat_template;
  const TestServer server(options);
  const json message = ChoiceOf(Chat(server, kSize))["message"];
  EXPECT_EQ(message["reasoning_content"], "Is it {\"size\": 1}?");
  EXPECT_EQ(message["content"], "{\"size\": \"M\"}");
}

TEST(StructuredOutputTest, ATemplateWithoutThoughtsHasNone) {
  const TestServer server(Saying("<think>\nHm.</think>\n\n{\"size\": \"M\"}"));
  const json message = ChoiceOf(Chat(server, kSize))["message"];
  EXPECT_FALSE(message.contains("reasoning_content"));
  EXPECT_TRUE(json::accept(message["content"].get<std::string>()));
}

TEST(StructuredOutputTest, CallsFitTheSchemasOfTools) {
  constexpr auto kTools = R"("tools":[{"type":"function","function":{"name":"weather","strict":true,
      "parameters":{"type":"object","properties":{"days":{"type":"integer","maximum":9,
      "minimum":1}},"required":["days"],"additionalProperties":false}}}])";
  const TestServer server(
      Saying("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
             "</tool_call>"));
  const json message = ChoiceOf(Chat(server, kTools + std::string(R"(,"seed":3)")))["message"];
  ASSERT_EQ(message["tool_calls"].size(), 1U);
  const json arguments =
      json::parse(message["tool_calls"][0]["function"]["arguments"].get<std::string>());
  EXPECT_EQ(arguments.size(), 1U);
  EXPECT_GE(arguments["days"].get<int>(), 1);

  // With an answer that must fit, too, it is one of both.
  const json answer = ChoiceOf(Chat(TestServer(Saying("{\"size\": \"L\"}")),
                                    kTools + std::string(R"(,"seed":3,)") + kSize))["message"];
  EXPECT_EQ(answer["content"], "{\"size\": \"L\"}");
  const json call =
      ChoiceOf(Chat(server, kTools + std::string(R"(,"seed":3,)") + kSize))["message"];
  EXPECT_EQ(call["tool_calls"].size(), 1U);
}

// Of bytes that must finish: in every number of tokens that the shortest text fits into.
TEST(StructuredOutputTest, WhatMustFinishDoes) {
  const TestServer server(Saying("x"));
  const auto send = [&](int max_tokens, const std::string& fields) {
    return server.PostTo("/v1/chat/completions",
                         R"({"messages":[{"role":"user","content":"Hi"}],"temperature":2,
                             "finish_by_length":true,"max_tokens":)" +
                             std::to_string(max_tokens) + "," + fields + "}");
  };
  constexpr auto kNote =
      R"("response_format":{"type":"json_schema","json_schema":{"name":"note","schema":
         {"type":"object","properties":{"text":{"type":"string"},"tags":{"type":"array",
          "items":{"type":"string"}}},"required":["text"],"additionalProperties":false}}})";
  const json refusal = RefusalOf(send(1, kNote));
  EXPECT_EQ(refusal["param"], "max_tokens");
  const auto message = refusal["message"].get<std::string>();
  EXPECT_THAT(message, HasSubstr("but 'max_tokens' is 1"));
  const int least = std::stoi(message.substr(message.find("takes ") + 6));
  EXPECT_EQ(RefusalOf(send(least - 1, kNote))["param"], "max_tokens");
  for (int max_tokens = least; max_tokens < least + 30; ++max_tokens) {
    const json choice =
        ChoiceOf(send(max_tokens, kNote + std::string(R"(,"seed":)") + std::to_string(max_tokens)));
    EXPECT_EQ(choice["finish_reason"], "stop");
    const auto text = choice["message"]["content"].get<std::string>();
    const json answer = json::parse(text, nullptr, false);
    EXPECT_TRUE(answer.is_object() && answer["text"].is_string()) << text;
  }
  // Calls, too.
  constexpr auto kTool =
      R"("tool_choice":"required","tools":[{"type":"function","function":{"name":"weather",
         "strict":true,"parameters":{"type":"object","properties":{"city":{"type":"string"}},
         "required":["city"],"additionalProperties":false}}}])";
  const json call = ChoiceOf(send(90, kTool));
  EXPECT_EQ(call["finish_reason"], "tool_calls");
  const json arguments = json::parse(
      call["message"]["tool_calls"][0]["function"]["arguments"].get<std::string>(), nullptr, false);
  EXPECT_TRUE(arguments["city"].is_string()) << arguments;
}

TEST(StructuredOutputTest, WhatCannotFinishIsRefused) {
  const TestServer server(Saying("x"));
  EXPECT_EQ(RefusalOf(Chat(server, R"("finish_by_length":true)"))["param"], "finish_by_length");
  EXPECT_EQ(RefusalOf(Chat(server, R"("structured_outputs":{"finish_by_length":true})"))["param"],
            "finish_by_length");
  const json endless = RefusalOf(
      Chat(server, R"("finish_by_length":true,"structured_outputs":{"regex":"([ab]{1000}){25}"})"));
  EXPECT_EQ(endless["code"], "constraint_too_large");
  EXPECT_THAT(endless["message"].get<std::string>(), HasSubstr("finish_by_length"));
  const json beams =
      RefusalOf(server.PostTo("/v1/completions",
                              R"({"prompt":"Hi","max_tokens":9,"use_beam_search":true,"regex":"a",
                                  "finish_by_length":true})"));
  EXPECT_EQ(beams["param"], "finish_by_length");
}

TEST(StructuredOutputTest, ALimitThatIsMetInTheMiddleOfATextIsTheRequests) {
  TestModelOptions options = Saying("x");
  options.constraint_bytes = size_t{2} << 20;
  const TestServer server(options);
  // Each token leads to a state of its own.
  const std::string regex = R"("structured_outputs":{"regex":"[ab]*a[ab]{200}"},"seed":1)";
  const json refusal = RefusalOf(Chat(server, regex));
  EXPECT_EQ(refusal["code"], "constraint_too_large");
  EXPECT_THAT(refusal["message"].get<std::string>(), HasSubstr("are for one request"));
  const json choice = ChoiceOf(server.PostTo(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":3,)" + regex + "}"));
  EXPECT_EQ(choice["finish_reason"], "length");
}

TEST(StructuredOutputTest, RefusalsNameTheKeyword) {
  const TestServer server(Saying("x"));
  const json schema =
      RefusalOf(Chat(server, R"("response_format":{"type":"json_schema","json_schema":
      {"name":"n","schema":{"properties":{"a":{"minLength":"1"}}}}})"));
  EXPECT_EQ(schema["param"], "response_format.json_schema.schema/properties/a/minLength");
  EXPECT_EQ(schema["code"], "invalid_schema");
  EXPECT_THAT(schema["message"].get<std::string>(), HasSubstr("minLength"));

  const std::string tool =
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",
         "properties":{"a":{"format":"no-such-format"}}},"strict":)";
  const json strict = RefusalOf(Chat(server, tool + "true}}]"));
  EXPECT_EQ(strict["param"], "tools[0].function.parameters/properties/a/format");
  EXPECT_EQ(strict["code"], "unsupported_schema");

  // One that is not strict is held to what can be had, and counted.
  EXPECT_EQ(Chat(server, tool + "false}}]").status, 200);
  RawClient client(server.endpoint());
  client.Send(Get("/metrics"));
  EXPECT_THAT(client.Read().body, HasSubstr("weft_loose_tools_total 1"));
}

}  // namespace
}  // namespace weft
