// Responses that are kept: fetched, listed, deleted, and made in the background.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/responses/responses_job.h"
#include "server/http/server_context.h"
#include "tests/server/responses_requests.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

RawResponse Ask(const TestServer& server, const std::string& method, const std::string& path) {
  RawClient client(server.port());
  client.Send(method + " /v1/responses/" + path + " HTTP/1.1\r\nHost: localhost\r\n" +
              (method == "POST" ? "Content-Length: 0\r\n" : "") + "\r\n");
  return client.Read();
}

json Asked(const TestServer& server, const std::string& method, const std::string& path) {
  const RawResponse response = Ask(server, method, path);
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

// The data of each event but the last, "[DONE]".
std::vector<json> DataOf(const RawResponse& response) {
  std::vector<json> events;
  constexpr std::string_view kData = "\ndata: {";
  size_t at = 0;
  while ((at = response.body.find(kData, at)) != std::string::npos) {
    at += kData.size() - 1;
    events.push_back(json::parse(response.body.substr(at, response.body.find("\n\n", at) - at)));
  }
  return events;
}

TEST(StoredResponsesTest, ItsStreamIsMadeAgain) {
  const TestServer server(
      Saying("<think>\nHm.\n</think>\n\nSee.\n<tool_call>\n{\"name\": \"crm__find\", "
             "\"arguments\": {\"who\": \"Eve\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"note\", "
             "\"arguments\": {\"input\": \"a\\nb\"}}\n</tool_call>"));
  const RawResponse streamed =
      Create(server, R"("stream":true,"include":["reasoning.encrypted_content"],"tools":[
                {"type":"namespace","name":"crm","tools":[{"type":"function","name":"find"}]},
                {"type":"custom","name":"note"}])");
  const std::vector<json> first = DataOf(streamed);
  ASSERT_FALSE(first.empty());
  const std::string id = first[0]["response"]["id"];
  const RawResponse again = Ask(server, "GET", id + "?stream=true");
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.headers.at("content-type"), HasSubstr("text/event-stream"));
  EXPECT_THAT(again.body, testing::EndsWith("data: [DONE]\n\n"));
  // The same but for the pieces, of which each text has one.
  const auto without_numbers = [](const std::vector<json>& events) {
    std::vector<json> whole;
    for (json event : events) {
      event.erase("sequence_number");
      const bool is_piece = event["type"].get<std::string>().ends_with(".delta");
      if (is_piece && whole.back()["type"] == event["type"]) {
        whole.back()["delta"] =
            whole.back()["delta"].get<std::string>() + event["delta"].get<std::string>();
      } else {
        whole.push_back(std::move(event));
      }
    }
    return whole;
  };
  const std::vector<json> second = DataOf(again);
  EXPECT_EQ(without_numbers(second), without_numbers(first));
  const std::vector<json> rest = DataOf(Ask(server, "GET", id + "?stream=true&starting_after=4"));
  EXPECT_EQ(rest, std::vector<json>(second.begin() + 5, second.end()));
}

TEST(StoredResponsesTest, ItsStreamWaitsForItsEnd) {
  TestServer server(Saying("Hello"));
  server.model.HoldSteps();
  const std::string id = Created(server, R"("background":true)")["id"];
  RawClient client(server.endpoint());
  client.Send(Get("/v1/responses/" + id + "?stream=true"));
  EXPECT_FALSE(client.IsClosedWithin(std::chrono::milliseconds(50)));
  server.model.ReleaseSteps();
  const std::vector<json> events = DataOf(client.Read());
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["type"], "response.completed");
  EXPECT_EQ(events.back()["response"]["id"], id);
}

TEST(StoredResponsesTest, IsFetchedAndDeleted) {
  const TestServer server(Saying("Hello"));
  const json made = Created(server, "");
  const std::string id = made["id"];
  EXPECT_EQ(Asked(server, "GET", id), made);
  EXPECT_EQ(Asked(server, "GET", id + "?stream=false&include[]=message.output_text.logprobs"),
            made);
  EXPECT_EQ(ErrorOf(Ask(server, "GET", id + "?stream=maybe"))["param"], "stream");
  EXPECT_EQ(ErrorOf(Ask(server, "GET", id + "?starting_after=3"))["param"], "starting_after");
  for (const char* const after : {"-1", "x", "1.5", ""}) {
    const RawResponse refused =
        Ask(server, "GET", id + "?stream=true&starting_after=" + std::string(after));
    EXPECT_EQ(ErrorOf(refused)["param"], "starting_after") << after;
  }
  const RawResponse cancelled = Ask(server, "POST", id + "/cancel");
  EXPECT_EQ(cancelled.status, 400);  // it was not in the background
  EXPECT_EQ(ErrorOf(cancelled)["param"], "response_id");

  EXPECT_EQ(Asked(server, "DELETE", id),
            json({{"id", id}, {"object", "response"}, {"deleted", true}}));
  const std::vector<std::pair<std::string, std::string>> gone = {
      {"GET", id}, {"DELETE", id}, {"POST", id + "/cancel"}, {"GET", id + "/input_items"}};
  for (const auto& [method, path] : gone) {
    const RawResponse response = Ask(server, method, path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(ErrorOf(response)["code"], "response_not_found");
  }
}

TEST(StoredResponsesTest, SeveralMethodsOnOnePath) {
  const TestServer server(Saying("Hello"));
  const RawResponse patch = Ask(server, "PATCH", "resp_1");
  EXPECT_EQ(patch.status, 405);
  EXPECT_EQ(patch.headers.at("allow"), "GET, HEAD, DELETE");
  EXPECT_EQ(Ask(server, "GET", "resp_1/cancel").headers.at("allow"), "POST");
  EXPECT_EQ(Ask(server, "DELETE", "resp_1/input_items").status, 405);
}

std::vector<std::string> TextsOf(const json& list) {
  std::vector<std::string> texts;
  for (const json& item : list["data"]) texts.push_back(item["content"][0]["text"]);
  return texts;
}

TEST(StoredResponsesTest, ListsWhatTheModelWasGiven) {
  const TestServer server(Saying("Hello"));
  const std::string first = Created(server, "", R"("one")")["id"];
  const std::string id = Created(
      server, R"("previous_response_id":")" + first + '"',
      R"([{"role":"user","content":"two","id":"msg_mine"},{"role":"user","content":"three"}])")
      ["id"];
  const json all = Asked(server, "GET", id + "/input_items?order=asc");
  EXPECT_EQ(all["object"], "list");
  EXPECT_THAT(TextsOf(all), ElementsAre("one", "Hello", "two", "three"));
  EXPECT_EQ(all["has_more"], false);
  EXPECT_EQ(all["first_id"], all["data"][0]["id"]);
  EXPECT_EQ(all["last_id"], all["data"][3]["id"]);
  EXPECT_EQ(all["data"][2]["id"], "msg_mine");
  // Newest first, unless asked otherwise.
  EXPECT_THAT(TextsOf(Asked(server, "GET", id + "/input_items")),
              ElementsAre("three", "two", "Hello", "one"));
  const json page = Asked(server, "GET", id + "/input_items?limit=2&after=msg_mine");
  EXPECT_THAT(TextsOf(page), ElementsAre("Hello", "one"));
  EXPECT_EQ(page["has_more"], false);
  EXPECT_EQ(Asked(server, "GET", id + "/input_items?limit=1&after=msg_mine")["has_more"], true);
  const std::string last = all["data"][0]["id"];
  const json none = Asked(server, "GET", id + "/input_items?after=" + last);
  EXPECT_EQ(none["data"], json::array());
  EXPECT_EQ(none["first_id"], nullptr);
  for (const char* const wrong :
       {"limit=0", "limit=101", "limit=x", "limit=1x", "order=up", "after=x"}) {
    const RawResponse refused = Ask(server, "GET", id + "/input_items?" + wrong);
    EXPECT_EQ(refused.status, 400) << wrong;
    const std::string field(wrong, std::string_view(wrong).find('='));
    EXPECT_EQ(ErrorOf(refused)["param"], field);
  }
}

TEST(StoredResponsesTest, GoesOnInTheBackground) {
  TestServer server(Saying("Hello"));
  server.model.HoldSteps();
  const json begun = Created(server, R"("background":true)");
  EXPECT_EQ(begun["status"], "queued");
  EXPECT_EQ(begun["background"], true);
  EXPECT_EQ(begun["output"], json::array());
  const std::string id = begun["id"];
  EXPECT_EQ(Asked(server, "GET", id), begun);
  const RawResponse early = Create(server, R"("previous_response_id":")" + id + '"');
  EXPECT_EQ(early.status, 400);
  EXPECT_EQ(ErrorOf(early)["param"], "previous_response_id");
  server.model.ReleaseSteps();
  EXPECT_TRUE(Eventually([&] { return Asked(server, "GET", id)["status"] == "completed"; }));
  const json ended = Asked(server, "GET", id);
  EXPECT_EQ(ended["output"][0]["content"][0]["text"], "Hello");
  EXPECT_EQ(ended["usage"]["output_tokens"], 6);
  EXPECT_EQ(Asked(server, "POST", id + "/cancel"), ended);  // too late: it stays as it is
  EXPECT_EQ(Create(server, R"("previous_response_id":")" + id + '"').status, 200);
}

TEST(StoredResponsesTest, FailsInTheBackgroundIfItOutgrowsTheMemoryForLogprobs) {
  ServerOptions options;
  options.request_memory_bytes = 145'000;
  const TestServer server(Saying("Hello"), options);
  const std::string wanted =
      R"("background":true,"include":["message.output_text.logprobs"],"top_logprobs":)";
  // In so little memory connections that were closed just now leave no room for another.
  const auto answered = [](const auto& ask) {
    RawResponse response;
    EXPECT_TRUE(Eventually([&] {
      response = ask();
      return response.status != 503;
    }));
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  };
  const auto ended = [&](const std::string& count) {
    const std::string id = answered([&] { return Create(server, wanted + count); })["id"];
    json response;
    EXPECT_TRUE(Eventually([&] {
      response = answered([&] { return Ask(server, "GET", id); });
      return response["status"] != "queued" && response["status"] != "in_progress";
    }));
    return response;
  };
  EXPECT_EQ(ended("1")["status"], "completed");
  const json outgrown = ended("20");
  EXPECT_EQ(outgrown["status"], "failed");
  EXPECT_THAT(outgrown["error"]["message"].get<std::string>(), HasSubstr("log probabilities"));
  EXPECT_EQ(ended("1")["status"], "completed");  // what it held has been given back
}

// So that what nobody ends does not end while a test looks: some 700 tokens.
constexpr std::chrono::milliseconds kLongStep{50};

TEST(StoredResponsesTest, IsCancelledInTheBackground) {
  TestModelOptions options = Saying("");
  options.reply.clear();
  TestServer server(options);
  server.model.SetStepTime(kLongStep);
  const std::string id = Created(server, R"("background":true,"ignore_eos":true)")["id"];
  EXPECT_TRUE(Eventually([&] { return Asked(server, "GET", id)["status"] == "in_progress"; }));
  const json cancelled = Asked(server, "POST", id + "/cancel");
  EXPECT_EQ(cancelled["status"], "cancelled");
  EXPECT_EQ(cancelled["output"][0]["status"], "incomplete");
  EXPECT_EQ(Asked(server, "POST", id + "/cancel"), cancelled);
  EXPECT_EQ(Asked(server, "GET", id), cancelled);
  EXPECT_TRUE(Eventually([&] { return server.model.used_blocks() == 0; }));
}

TEST(StoredResponsesTest, IsDeletedInTheBackground) {
  TestModelOptions options = Saying("");
  options.reply.clear();
  TestServer server(options);
  server.model.SetStepTime(kLongStep);
  const std::string id = Created(server, R"("background":true,"ignore_eos":true)")["id"];
  EXPECT_TRUE(Eventually([&] { return server.model.used_blocks() > 0; }));
  EXPECT_EQ(Asked(server, "DELETE", id)["deleted"], true);
  EXPECT_EQ(Ask(server, "GET", id).status, 404);
  EXPECT_TRUE(Eventually([&] { return server.model.used_blocks() == 0; }));
  EXPECT_EQ(Ask(server, "GET", id).status, 404);
}

TEST(StoredResponsesTest, FailsInTheBackground) {
  TestServer server(Saying("Hello"));
  server.model.FailNextStep();
  const std::string id = Created(server, R"("background":true)")["id"];
  EXPECT_TRUE(Eventually([&] { return Asked(server, "GET", id)["status"] == "failed"; }));
  const json failed = Asked(server, "GET", id);
  EXPECT_EQ(failed["error"]["code"], "generation_failed");
  EXPECT_THAT(failed["error"]["message"].get<std::string>(), testing::Not(testing::IsEmpty()));
}

TEST(StoredResponsesTest, TheBackgroundNeedsRoomInTheStore) {
  ServerOptions options;
  options.response_store_bytes = 100;
  const TestServer server(Saying("Hello"), options);
  const RawResponse refused = Create(server, R"("background":true)");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "overloaded");
  options.response_store_bytes = 0;
  const TestServer none(Saying("Hello"), options);
  EXPECT_EQ(ErrorOf(Create(none, R"("background":true)"))["param"], "background");
}

TEST(StoredResponsesTest, AShutdownWaitsForTheBackground) {
  TestServer server(Saying("Hello"));
  server.model.SetStepTime(std::chrono::milliseconds(5));
  Created(server, R"("background":true)");
  server.server->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  EXPECT_THAT(server.model.metrics()->Render(),
              HasSubstr("weft_choices_finished_total{model=\"test-model\",reason=\"stop\"} 1"));
}

// Those whose events nobody takes any more, because the io threads have ended.
TEST(StoredResponsesTest, WhatGoesOnInTheBackgroundCanBeForgotten) {
  boost::asio::io_context io;  // outlives the engine's thread, which posts to it
  TestModel model(Saying("Hello"));
  ServerContext context({}, RegistryOf({model.Served()}), model.metrics(), *Access::Load({}),
                        std::make_shared<Tracer>());
  RequestModels models(*context.models);
  auto job = PrepareResponse(
      R"({"input":"Hi","background":true})",
      {.models = models, .rules = context.options.rules, .responses = &context.responses});
  ASSERT_TRUE(job) << job.error().message;
  job->answer->Begin("1", 0);
  const auto executor = boost::asio::make_strand(io);
  ASSERT_TRUE(context.background.Start(*std::move(job), executor, context));
  model.engine().Shutdown(std::chrono::steady_clock::now());
  EXPECT_EQ(context.active_requests, 1);
  context.background.Clear();
  EXPECT_EQ(context.active_requests, 0);
}

}  // namespace
}  // namespace weft
