// POST /v1/responses through a socket: what comes back for what was sent.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/responses_requests.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kTools =
    R"("tools":[{"type":"function","name":"weather","parameters":{"type":"object"}}])";

// The output as a client puts it together from the events of its items.
json OutputOf(const std::vector<json>& events) {
  json output = json::array();
  for (const json& event : events) {
    const std::string type = event["type"];
    if (type == "response.output_item.added") {
      EXPECT_EQ(event["output_index"], output.size());
      output.push_back(event["item"]);
      EXPECT_EQ(event["item"]["status"], "in_progress");
      continue;
    }
    if (!event.contains("output_index")) continue;
    json& item = output.at(event["output_index"].get<size_t>());
    EXPECT_EQ(event.value("item_id", item["id"].get<std::string>()), item["id"]);
    if (type == "response.content_part.added") {
      EXPECT_EQ(event["content_index"], item["content"].size());
      item["content"].push_back(event["part"]);
    } else if (type == "response.function_call_arguments.delta") {
      item["arguments"] = item["arguments"].get<std::string>() + event["delta"].get<std::string>();
    } else if (type.ends_with("_text.delta")) {
      json& part = item["content"].at(event["content_index"].get<size_t>());
      part["text"] = part["text"].get<std::string>() + event["delta"].get<std::string>();
      if (event.contains("logprobs")) {
        for (const json& logprob : event["logprobs"]) part["logprobs"].push_back(logprob);
      }
    } else if (type == "response.function_call_arguments.done") {
      EXPECT_EQ(event["arguments"], item["arguments"]);
    } else if (type.ends_with("_text.done")) {
      EXPECT_EQ(event["text"], item["content"][0]["text"]);
    } else if (type == "response.content_part.done") {
      EXPECT_EQ(event["part"], item["content"][0]);
    } else if (type == "response.output_item.done") {
      item["status"] = event["item"]["status"];
      EXPECT_EQ(event["item"], item);
    }
  }
  return output;
}

// What differs from one response to the next.
json WithoutIds(json response) {
  for (const char* const name : {"id", "created_at", "completed_at"}) response.erase(name);
  for (json& item : response["output"]) {
    item.erase("id");
    item.erase("call_id");
  }
  return response;
}

TEST(ResponsesTest, AnswersWithTheWholeObject) {
  const TestServer server(Saying("Hello, Łódź!"));
  const json body = Created(server, R"("model":"test-model","metadata":{"a":"b"},"temperature":0.5,
      "instructions":"Be kind.","max_output_tokens":50,"user":"u","reasoning":{"effort":"low"})");
  EXPECT_EQ(body["object"], "response");
  EXPECT_THAT(body["id"].get<std::string>(), StartsWith("resp_"));
  EXPECT_EQ(body["status"], "completed");
  EXPECT_GE(body["completed_at"], body["created_at"]);
  EXPECT_EQ(body["model"], "test-model");
  ASSERT_EQ(body["output"].size(), 1U);
  const json& message = body["output"][0];
  EXPECT_THAT(message["id"].get<std::string>(), StartsWith("msg_"));
  EXPECT_EQ(message["type"], "message");
  EXPECT_EQ(message["role"], "assistant");
  EXPECT_EQ(message["status"], "completed");
  EXPECT_EQ(message["content"], json({{{"type", "output_text"},
                                       {"text", "Hello, Łódź!"},
                                       {"annotations", json::array()},
                                       {"logprobs", json::array()}}}));
  EXPECT_EQ(body["usage"], json({{"input_tokens", kPromptBytes},
                                 {"input_tokens_details", {{"cached_tokens", 0}}},
                                 {"output_tokens", 16},
                                 {"output_tokens_details", {{"reasoning_tokens", 0}}},
                                 {"total_tokens", kPromptBytes + 16}}));
  // The request, repeated; defaults filled in.
  const json expected = {{"error", nullptr},
                         {"incomplete_details", nullptr},
                         {"metadata", {{"a", "b"}}},
                         {"temperature", 0.5},
                         {"instructions", "Be kind."},
                         {"max_output_tokens", 50},
                         {"user", "u"},
                         {"reasoning", {{"effort", "low"}, {"summary", nullptr}}},
                         {"store", true},
                         {"background", false},
                         {"tools", json::array()},
                         {"tool_choice", "auto"},
                         {"top_p", 1.0},
                         {"top_logprobs", 0},
                         {"truncation", "disabled"},
                         {"parallel_tool_calls", true},
                         {"service_tier", "default"},
                         {"previous_response_id", nullptr},
                         {"max_tool_calls", nullptr},
                         {"presence_penalty", 0.0},
                         {"frequency_penalty", 0.0},
                         {"safety_identifier", nullptr},
                         {"prompt_cache_key", nullptr},
                         {"text", {{"format", {{"type", "text"}}}, {"verbosity", "medium"}}}};
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(body[name], value) << name;
}

TEST(ResponsesTest, AStreamTellsTheSameStory) {
  const TestServer server(
      Saying("<think>\nHm.\n</think>\n\nSee.\n<tool_call>\n{\"name\": \"weather\", "
             "\"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"));
  const json whole = Created(server, kTools);
  const RawResponse response = Create(server, std::string(kTools) + R"(,"stream":true)");
  EXPECT_THAT(response.headers.at("content-type"), HasSubstr("text/event-stream"));
  EXPECT_THAT(response.body, testing::EndsWith("data: [DONE]\n\n"));
  const std::vector<json> events = EventsOf(response);
  EXPECT_THAT(
      TypesOf(events),
      ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                  "response.content_part.added", "response.reasoning_text.delta",
                  "response.reasoning_text.done", "response.content_part.done",
                  "response.output_item.done", "response.output_item.added",
                  "response.content_part.added", "response.output_text.delta",
                  "response.output_text.done", "response.content_part.done",
                  "response.output_item.done", "response.output_item.added",
                  "response.function_call_arguments.delta", "response.function_call_arguments.done",
                  "response.output_item.done", "response.completed"));
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_EQ(events[0]["response"]["output"], json::array());
  EXPECT_EQ(events[0]["response"]["usage"], nullptr);
  EXPECT_EQ(events[0]["response"]["id"], events.back()["response"]["id"]);
  EXPECT_EQ(WithoutIds(events.back()["response"]), WithoutIds(whole));
  EXPECT_EQ(OutputOf(events), events.back()["response"]["output"]);

  const json& output = whole["output"];
  ASSERT_EQ(output.size(), 3U);
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[0]["summary"], json::array());
  EXPECT_EQ(output[0]["content"], json({{{"type", "reasoning_text"}, {"text", "Hm."}}}));
  EXPECT_EQ(output[1]["content"][0]["text"], "See.");
  EXPECT_EQ(output[2]["name"], "weather");
  EXPECT_EQ(output[2]["arguments"], "{\"city\": \"Oslo\"}");
  EXPECT_THAT(output[2]["call_id"].get<std::string>(), StartsWith("call_"));
  EXPECT_EQ(whole["usage"]["output_tokens_details"]["reasoning_tokens"], 14);
  EXPECT_EQ(whole["tools"][0]["name"], "weather");
  EXPECT_EQ(whole["tools"][0]["description"], nullptr);
}

TEST(ResponsesTest, LengthMakesItIncomplete) {
  const TestServer server(Saying("Hello"));
  const json body = Created(server, R"("max_output_tokens":3)");
  EXPECT_EQ(body["status"], "incomplete");
  EXPECT_EQ(body["incomplete_details"], json({{"reason", "max_output_tokens"}}));
  EXPECT_EQ(body["completed_at"], nullptr);
  EXPECT_EQ(body["output"][0]["status"], "incomplete");
  EXPECT_EQ(body["output"][0]["content"][0]["text"], "Hel");
  const std::vector<json> events =
      EventsOf(Create(server, R"("max_output_tokens":3,"stream":true)"));
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  EXPECT_EQ(OutputOf(events), events.back()["response"]["output"]);
}

TEST(ResponsesTest, AnEmptyReplyIsAnEmptyMessage) {
  const TestServer server(Saying("<think>Hm.</think>"));
  const json output = Created(server, "")["output"];
  ASSERT_EQ(output.size(), 2U);
  EXPECT_EQ(output[1]["content"][0]["text"], "");
}

TEST(ResponsesTest, LogprobsAreThoseOfTheText) {
  const TestServer server(Saying("<think>Hm.</think>Yes."));
  const std::string fields =
      R"("include":["message.output_text.logprobs"],"top_logprobs":2,"stream":true)";
  const std::vector<json> events = EventsOf(Create(server, fields));
  const json output = OutputOf(events);
  EXPECT_EQ(output, events.back()["response"]["output"]);
  std::string text;
  for (const json& entry : output[1]["content"][0]["logprobs"]) {
    text += entry["token"].get<std::string>();
    EXPECT_EQ(entry["bytes"], json({entry["token"].get<std::string>()[0]}));
    EXPECT_EQ(entry["top_logprobs"].size(), 2U);
  }
  EXPECT_EQ(text, "Yes.");
}

TEST(ResponsesTest, APreviousResponseIsTheConversationSoFar) {
  TestModelOptions options = Saying("");
  options.reply.clear();  // letters that depend on the whole context
  const TestServer server(options);
  const std::string fields = R"("seed":5,"max_output_tokens":8)";
  const json first = Created(server, fields, R"("one")");
  const std::string text = first["output"][0]["content"][0]["text"];
  const json second = Created(
      server, fields + R"(,"previous_response_id":")" + first["id"].get<std::string>() + '"',
      R"("two")");
  const json whole = Created(server, fields,
                             R"([{"role":"user","content":"one"},{"role":"assistant","content":")" +
                                 text + R"("},{"role":"user","content":"two"}])");
  EXPECT_EQ(second["output"][0]["content"], whole["output"][0]["content"]);
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  const json alone = Created(server, fields, R"("two")");
  EXPECT_NE(second["output"][0]["content"], alone["output"][0]["content"]);

  // So does what an item refers to.
  const json referred = Created(
      server, fields,
      R"([{"role":"user","content":"one"},{"type":"item_reference","id":")" +
          first["output"][0]["id"].get<std::string>() + R"("},{"role":"user","content":"two"}])");
  EXPECT_EQ(referred["output"][0]["content"], whole["output"][0]["content"]);
}

// A short body can mean much work: what it refers to counts.
TEST(ResponsesTest, LongConversationsGoToThePreparationThread) {
  const std::string told =
      R"([{"role":"user","content":")" + std::string(400, 'x') + R"(","id":"msg_mine"}])";
  constexpr auto kOnce = R"([{"type":"item_reference","id":"msg_mine"}])";
  constexpr auto kTwice =
      R"([{"type":"item_reference","id":"msg_mine"},{"type":"item_reference","id":"msg_mine"}])";
  for (const int32_t max_preparations : {0, 1}) {
    ServerOptions options;
    options.inline_body_bytes = 600;
    options.max_preparations = max_preparations;
    const TestServer server(Saying("Hello"), options);
    const std::string first = Created(server, "", told)["id"];
    const RawResponse once = Create(server, "", kOnce);
    EXPECT_EQ(once.status, 200) << once.body;
    const RawResponse continued = Create(server, R"("previous_response_id":")" + first + '"');
    const RawResponse twice = Create(server, "", kTwice);
    for (const RawResponse& response : {continued, twice}) {
      EXPECT_EQ(response.status, max_preparations == 0 ? 503 : 200) << response.body;
      if (response.status == 503) {
        EXPECT_EQ(ErrorOf(response)["code"], "overloaded");
      }
    }
  }
}

TEST(ResponsesTest, InstructionsAreThoseOfTheRequestAlone) {
  TestModelOptions options = Saying("");
  options.reply.clear();
  const TestServer server(options);
  const std::string fields = R"("seed":5,"max_output_tokens":8)";
  const json told = Created(server, fields + R"(,"instructions":"Be kind.")", R"("one")");
  const json system =
      Created(server, fields,
              R"([{"role":"system","content":"Be kind."},{"role":"user","content":"one"}])");
  EXPECT_EQ(told["output"][0]["content"], system["output"][0]["content"]);
  const json next =
      Created(server, fields + R"(,"previous_response_id":")" + told["id"].get<std::string>() + '"',
              R"("two")");
  const std::string text = told["output"][0]["content"][0]["text"];
  const json whole = Created(server, fields,
                             R"([{"role":"user","content":"one"},{"role":"assistant","content":")" +
                                 text + R"("},{"role":"user","content":"two"}])");
  EXPECT_EQ(next["output"][0]["content"], whole["output"][0]["content"]);
}

TEST(ResponsesTest, WhatIsNotStoredCannotBeContinued) {
  const TestServer server(Saying("Hello"));
  const json body = Created(server, R"("store":false)");
  EXPECT_EQ(body["store"], false);
  const RawResponse gone =
      Create(server, R"("previous_response_id":")" + body["id"].get<std::string>() + '"');
  EXPECT_EQ(gone.status, 400);
  EXPECT_EQ(ErrorOf(gone)["code"], "previous_response_not_found");
  EXPECT_EQ(ErrorOf(gone)["param"], "previous_response_id");
  const RawResponse item = Create(server, "", R"([{"type":"item_reference","id":"msg_1"}])");
  EXPECT_EQ(item.status, 400);
  EXPECT_EQ(ErrorOf(item)["param"], "input[0].id");
}

TEST(ResponsesTest, AServerWithoutAStoreSaysSo) {
  ServerOptions options;
  options.response_store_bytes = 0;
  const TestServer server(Saying("Hello"), options);
  EXPECT_EQ(Created(server, "")["store"], false);
  const RawResponse refused = Create(server, R"("store":true)");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["param"], "store");
}

TEST(ResponsesTest, OneTooLargeForTheStoreSaysSo) {
  ServerOptions options;
  options.response_store_bytes = 100;
  const TestServer server(Saying("Hello"), options);
  EXPECT_EQ(Created(server, "")["store"], false);
}

TEST(ResponsesTest, ErrorsNameTheFieldsAsTheyAreCalledHere) {
  const TestServer server(Saying("x"));
  const RawResponse refused = Create(server, "", R"("refuse")");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["param"], "input");
  const RawResponse length = Create(server, R"("max_output_tokens":1000)");
  EXPECT_EQ(ErrorOf(length)["param"], "max_output_tokens");
  EXPECT_EQ(ErrorOf(length)["code"], "context_length_exceeded");
  const RawResponse model = Create(server, R"("model":"other")");
  EXPECT_EQ(model.status, 404);
  const TestServer none;
  EXPECT_EQ(ErrorOf(Create(none, ""))["code"], "no_chat_template");
}

TEST(ResponsesTest, AFailedStepFailsTheResponse) {
  TestServer server(Saying("Hello"));
  server.model.FailNextStep();
  const RawResponse answer = Create(server, R"("stream":true)");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(ErrorOf(answer)["code"], "generation_failed");
}

}  // namespace
}  // namespace weft
