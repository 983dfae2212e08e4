// What the operator decides about requests, on every endpoint that generates.
#include "proto/request_rules.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/chat/chat_request.h"
#include "proto/completions/completion_request.h"
#include "proto/messages/messages_request.h"
#include "proto/responses/responses_request.h"

namespace weft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;

RequestRules Defaults() {
  RequestRules rules;
  rules.sampling.temperature = 0.5;
  rules.sampling.top_k = 7;
  rules.sampling.stop = {"###"};
  rules.sampling.stop_token_ids = {3};
  rules.sampling.logit_bias = {{5, 1.0}};
  rules.template_variables = R"({"enable_thinking":false,"style":"plain"})";
  return rules;
}

const std::string kMessages = R"("messages":[{"role":"user","content":"Hi"}])";

// The chats that bodies of all conversation endpoints with these fields become.
std::vector<ChatRequest> Chats(const std::string& fields, const RequestRules& rules) {
  const std::string more = fields.empty() ? "" : "," + fields;
  const auto chat = ParseChatRequest("{" + kMessages + more + "}", rules);
  const auto message =
      ParseMessagesRequest(R"({"max_tokens":2000,)" + kMessages + more + "}", rules);
  const auto response = ParseResponsesRequest(R"({"input":"Hi")" + more + "}", rules);
  EXPECT_TRUE(chat && message && response) << fields;
  return {*chat, message->chat, response->chat};
}

TEST(RequestRulesTest, RequestsThatDoNotSayGetTheDefaults) {
  std::vector<SamplingFields> all;
  for (const ChatRequest& chat : Chats("", Defaults())) all.push_back(chat.sampling);
  all.push_back(ParseCompletionRequest(R"({"prompt":"a"})", Defaults())->sampling);
  for (const SamplingFields& sampling : all) {
    EXPECT_EQ(sampling.temperature, 0.5);
    EXPECT_EQ(sampling.top_k, 7);
    EXPECT_THAT(sampling.stop, ElementsAre("###"));
  }
}

TEST(RequestRulesTest, WhatRequestsSayWins) {
  const std::string fields =
      R"("temperature":0.25,"top_k":0,"stop_token_ids":[4],"logit_bias":{"6":2})";
  std::vector<SamplingFields> all;
  for (const ChatRequest& chat : Chats(fields, Defaults())) all.push_back(chat.sampling);
  all.push_back(ParseCompletionRequest(R"({"prompt":"a",)" + fields + "}", Defaults())->sampling);
  for (const SamplingFields& sampling : all) {
    EXPECT_EQ(sampling.temperature, 0.25);
    EXPECT_EQ(sampling.top_k, 0);
    EXPECT_THAT(sampling.stop_token_ids, ElementsAre(4));
    EXPECT_THAT(sampling.logit_bias, ElementsAre(std::pair(6, 2.0)));
  }
  const auto stopped = ParseMessagesRequest(
      R"({"max_tokens":9,"stop_sequences":["x"],)" + kMessages + "}", Defaults());
  EXPECT_THAT(stopped->chat.sampling.stop, ElementsAre("x"));
}

TEST(RequestRulesTest, ASearchOfBeamsHasNoneOfThem) {
  const auto request =
      ParseCompletionRequest(R"({"prompt":"a","use_beam_search":true})", Defaults());
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->sampling.temperature, 1);
}

TEST(RequestRulesTest, TemplatesGetTheVariablesThatRequestsDoNotSet) {
  for (const ChatRequest& chat : Chats("", Defaults())) {
    EXPECT_EQ(chat.template_variables,
              ordered_json({{"enable_thinking", false}, {"style", "plain"}}));
  }
  const auto variables = [](const auto& request) { return request->template_variables; };
  EXPECT_EQ(
      variables(ParseChatRequest(
          R"({"chat_template_kwargs":{"enable_thinking":true},)" + kMessages + "}", Defaults())),
      ordered_json({{"enable_thinking", true}, {"style", "plain"}}));
  EXPECT_EQ(ParseMessagesRequest(
                R"({"max_tokens":9,"thinking":{"type":"adaptive"},)" + kMessages + "}", Defaults())
                ->chat.template_variables,
            ordered_json({{"enable_thinking", true}, {"style", "plain"}}));
  RequestRules effort;
  effort.template_variables = R"({"reasoning_effort":"low"})";
  EXPECT_EQ(variables(ParseChatRequest(R"({"reasoning_effort":"high",)" + kMessages + "}", effort)),
            ordered_json({{"reasoning_effort", "high"}}));
}

TEST(RequestRulesTest, ImagesAreRefusedOrLeftOut) {
  const std::string chat = R"({"messages":[{"role":"user","content":[
      {"type":"image_url","image_url":{"url":"data:,"}}]}]})";
  const std::string message = R"({"max_tokens":9,"messages":[{"role":"user","content":[
      {"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{}}]}]}]})";
  const std::string response = R"({"input":[{"role":"user","content":[
      {"type":"input_image","image_url":"data:,"}]}]})";
  EXPECT_EQ(ParseChatRequest(chat).error().param, "messages[0].content[0].type");
  EXPECT_EQ(ParseMessagesRequest(message).error().param, "messages[0].content[0].content[0].type");
  EXPECT_EQ(ParseResponsesRequest(response).error().param, "input[0].content[0].type");
  RequestRules rules;
  rules.drops_images = true;
  const ordered_json left_out =
      ordered_json::parse(R"([{"type":"text","text":"[image left out]"}])");
  EXPECT_EQ(ParseChatRequest(chat, rules)->messages[0]["content"], left_out);
  EXPECT_EQ(ParseMessagesRequest(message, rules)->chat.messages[0]["content"], left_out);
  EXPECT_EQ(ParseResponsesRequest(response, rules)->input[0]["content"][0]["text"],
            "[image left out]");
}

TEST(RequestRulesTest, ToolsOfAnthropicsServersAreLeftOutOrRefused) {
  const std::string tools = R"("tools":[{"type":"web_search_20250305","name":"web_search"},
      {"name":"read","input_schema":{"type":"object"}},
      {"type":"mcp_toolset","mcp_server_name":"x"}])";
  const auto parse = [&](const std::string& more, const RequestRules& rules) {
    return ParseMessagesRequest(R"({"max_tokens":9,)" + kMessages + "," + tools + more + "}",
                                rules);
  };
  const auto dropped = parse("", {});
  ASSERT_TRUE(dropped) << dropped.error().message;
  EXPECT_THAT(dropped->chat.dropped_tools, ElementsAre("web_search_20250305", "mcp_toolset"));
  ASSERT_EQ(dropped->chat.tools.size(), 1U);
  EXPECT_EQ(dropped->chat.tools[0]["function"]["name"], "read");
  EXPECT_EQ(dropped->chat.tool_paths.FunctionOf(0), "tools[1]");
  const auto chosen = parse(R"(,"tool_choice":{"type":"tool","name":"web_search"})", {});
  EXPECT_EQ(chosen.error().param, "tool_choice.name");
  EXPECT_EQ(chosen.error().message,
            "'tool_choice.name' is the string \"web_search\", but that tool was left out "
            "(--hosted-tools drop): no server here runs it");
  RequestRules refuse;
  refuse.drops_hosted_tools = false;
  const std::string search = R"({"web_search_options":{},)" + kMessages + "}";
  EXPECT_THAT(ParseChatRequest(search)->dropped_tools, ElementsAre("web_search_options"));
  EXPECT_EQ(ParseChatRequest(search, refuse).error().param, "web_search_options");
  EXPECT_EQ(parse("", refuse).error().param, "tools[0].type");
}

}  // namespace
}  // namespace weft
