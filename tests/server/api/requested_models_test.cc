// Models that are loaded when requests name them, through the socket.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/server/fake_disk.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RequestedModelsTest : public testing::Test {
 protected:
  RequestedModelsTest() {
    disk_.Add("a", 100);
    disk_.Add("b", 100);
    disk_.Add("large", 1000);
  }

  // With room for one of them.
  void Start(ServerOptions options = {}, milliseconds keep_alive = milliseconds(-1)) {
    options.port = 0;
    auto started = Server::Start(
        options, std::make_shared<ModelRegistry>(disk_.Options(300, keep_alive)),
        std::make_shared<Metrics>(), Access::Load(options).value(), std::make_shared<Tracer>());
    EXPECT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
  }

  RawResponse Send(std::string_view request) const {
    RawClient client{Endpoint(server_->port())};
    client.Send(request);
    return client.Read();
  }
  RawResponse PostTo(std::string_view path, const json& body, std::string_view headers = "") const {
    return Send(weft::Post(path, body.dump(), headers));
  }
  json Ask(std::string_view path) const { return json::parse(Send(Get(path)).body); }
  RawResponse Complete(const std::string& model) const {
    return PostTo("/v1/completions",
                  {{"model", model}, {"prompt", "x"}, {"max_tokens", 8}, {"temperature", 0}});
  }
  std::string StatusOf(const std::string& id) const {
    return Ask("/v1/models/" + id).at("status").at("value");
  }
  bool Becomes(const std::string& id, std::string_view status) const {
    return Eventually([&] { return StatusOf(id) == status; });
  }

  FakeDisk disk_;
  std::unique_ptr<Server> server_;
};

TEST_F(RequestedModelsTest, ARequestLoadsTheModelThatItNames) {
  Start();
  json list = Ask("/v1/models").at("data");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["id"], "a");
  EXPECT_EQ(list[0]["status"], json({{"value", "unloaded"}}));
  EXPECT_FALSE(list[0].contains("max_model_len"));
  EXPECT_EQ(list[0]["weft"]["memory"], nullptr);
  EXPECT_EQ(list[0]["weft"]["size_bytes"], 100);
  EXPECT_EQ(list[0]["weft"]["fits"], true);
  EXPECT_EQ(list[2]["weft"]["fits"], false);

  const RawResponse first = Complete("a");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(json::parse(first.body)["model"], "a");
  list = Ask("/models").at("data");
  EXPECT_EQ(list[0]["status"], json({{"value", "loaded"}}));
  EXPECT_EQ(list[0]["max_model_len"], 512);
  EXPECT_EQ(list[0]["weft"]["memory"],
            json({{"weight_bytes", 100}, {"kv_bytes", 100}, {"workspace_bytes", 0}}));

  // The other one takes its place, and it comes back the same.
  EXPECT_EQ(json::parse(Complete("b").body)["model"], "b");
  EXPECT_EQ(StatusOf("a"), "unloaded");
  EXPECT_EQ(TextOf(Complete("a")), TextOf(first));
  EXPECT_THAT(disk_.TakeEvents(),
              ElementsAre("open a", "load a in 200", "open b", "leave a", "load b in 200", "open a",
                          "leave b", "load a in 200"));
}

TEST_F(RequestedModelsTest, EveryEndpointLoadsWhatItNeeds) {
  Start();
  EXPECT_EQ(PostTo("/v1/embeddings", {{"model", "a"}, {"input", "x"}}).status, 200);
  EXPECT_EQ(PostTo("/tokenize", {{"model", "b"}, {"prompt", "x"}}).status, 200);
  EXPECT_EQ(PostTo("/v1/responses", {{"model", "a"}, {"input", "x"}}).status, 400);  // no template
  EXPECT_EQ(StatusOf("a"), "loaded");
}

TEST_F(RequestedModelsTest, WithoutANameTheOneUsedLastIsMeant) {
  Start();
  const json unnamed = {{"prompt", "x"}, {"max_tokens", 1}};
  const RawResponse refused = PostTo("/v1/completions", unnamed);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["code"], "model_required");
  EXPECT_THAT(ErrorOf(refused)["message"], HasSubstr("this server has 'a', 'b', 'large'"));
  EXPECT_EQ(Send(Get("/props")).status, 400);
  ASSERT_EQ(Complete("b").status, 200);
  EXPECT_EQ(json::parse(PostTo("/v1/completions", unnamed).body)["model"], "b");
  EXPECT_EQ(Ask("/props")["model_alias"], "b");
  EXPECT_EQ(Send(Get("/props?model=a")).status, 503);
  const RawResponse unknown = Complete("c");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(ErrorOf(unknown)["code"], "model_not_found");
}

TEST_F(RequestedModelsTest, AModelThatAnswersStays) {
  ServerOptions options;
  options.model_patience = milliseconds(300);
  disk_.step_time = milliseconds(5);
  Start(options);
  RawClient stream{Endpoint(server_->port())};
  stream.Send(CompletionPost(
      R"({"model":"a","prompt":"x","max_tokens":500,"ignore_eos":true,"stream":true})"));
  ASSERT_TRUE(stream.ReadUntil("data: "));
  const RawResponse busy = Complete("b");
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(ErrorOf(busy)["code"], "models_busy");
  EXPECT_EQ(busy.headers.count("retry-after"), 1U);
  // Who needs no room is served all the same.
  EXPECT_EQ(Complete("a").status, 200);
  stream.Close();
  EXPECT_TRUE(Eventually([&] { return Complete("b").status == 200; }));
}

TEST_F(RequestedModelsTest, WhoCannotWaitIsTurnedAway) {
  ServerOptions options;
  options.model_patience = milliseconds(30);
  disk_.HoldLoads();
  Start(options);
  const RawResponse late = Complete("a");
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(ErrorOf(late)["code"], "model_loading");
  disk_.ReleaseLoads();
  EXPECT_TRUE(Becomes("a", "loaded"));
}

TEST_F(RequestedModelsTest, WhoHasGoneHasLeftTheLine) {
  disk_.HoldLoads();
  Start();
  RawClient first{Endpoint(server_->port())};
  first.Send(CompletionPost(R"({"model":"a","prompt":"x","max_tokens":1})"));
  ASSERT_TRUE(Becomes("a", "loading"));
  RawClient gone{Endpoint(server_->port())};
  gone.Send(CompletionPost(R"({"model":"b","prompt":"x"})"));
  gone.Close();
  // Only when the server has noticed: until then b may be loaded in a's place.
  ASSERT_TRUE(Eventually([&] {
    const std::string metrics = Send(Get("/metrics")).body;
    return metrics.find(R"(requests_total{route="/v1/completions",status=)") != std::string::npos;
  }));
  disk_.ReleaseLoads();
  EXPECT_EQ(first.Read().status, 200);
  EXPECT_EQ(StatusOf("a"), "loaded");
  EXPECT_EQ(StatusOf("b"), "unloaded");
  EXPECT_THAT(disk_.TakeEvents(), ElementsAre("open a", "load a in 200"));
}

TEST_F(RequestedModelsTest, WhatNeverFitsIsRefusedByName) {
  Start();
  const RawResponse refused = Complete("large");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["code"], "model_too_large");
  EXPECT_EQ(ErrorOf(refused)["param"], "model");
  disk_.Break("a", "/nowhere/a");
  EXPECT_EQ(StatusOf("a"), "unloaded");  // looks at the disk
  const RawResponse broken = Complete("a");
  EXPECT_EQ(broken.status, 500);
  EXPECT_EQ(ErrorOf(broken)["code"], "model_not_loadable");
  EXPECT_EQ(Ask("/v1/models/a")["status"], json({{"value", "failed"}, {"error", "it is broken"}}));
}

TEST_F(RequestedModelsTest, OperatorsLoadAndUnload) {
  const TemporaryDirectory directory;
  ServerOptions options;
  options.api_key_path = directory.Write("keys", "alice:sk-alice-0123456789\n");
  options.operator_key_path = directory.Write("operators", "olga:sk-olga-01234567890\n");
  constexpr std::string_view kAlice = "Authorization: Bearer sk-alice-0123456789\r\n";
  constexpr std::string_view kOlga = "x-api-key: sk-olga-01234567890\r\n";
  Start(options);
  const json a = {{"model", "a"}};
  EXPECT_EQ(PostTo("/models/load", a).status, 401);
  const RawResponse refused = PostTo("/models/load", a, kAlice);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(ErrorOf(refused)["code"], "operator_key_required");
  EXPECT_EQ(PostTo("/models/load", a, kOlga).body, R"({"success":true})");
  EXPECT_EQ(PostTo("/models/load", a, kOlga).status, 200);
  EXPECT_EQ(json::parse(Send(Get("/v1/models/a", kAlice)).body)["status"]["value"], "loaded");
  EXPECT_EQ(PostTo("/models/unload", a, kAlice).status, 403);
  EXPECT_EQ(PostTo("/models/unload", a, kOlga).body, R"({"success":true})");
  EXPECT_TRUE(Eventually([&] {
    return json::parse(Send(Get("/v1/models/a", kOlga)).body)["status"]["value"] == "unloaded";
  }));
  EXPECT_EQ(PostTo("/models/unload", {{"model", "c"}}, kOlga).status, 404);
  EXPECT_EQ(ErrorOf(PostTo("/models/load", json::object(), kOlga))["param"], "model");
  EXPECT_THAT(Send(Get("/metrics", kOlga)).body, HasSubstr("key=\"alice\""));
  EXPECT_THAT(Send(Get("/metrics", kAlice)).body, testing::Not(HasSubstr("key=\"olga\"")));
}

TEST_F(RequestedModelsTest, WithKeysAndNoOperatorNobodyDoes) {
  const TemporaryDirectory directory;
  ServerOptions options;
  options.api_key_path = directory.Write("keys", "alice:sk-alice-0123456789\n");
  Start(options);
  EXPECT_EQ(
      PostTo("/models/load", {{"model", "a"}}, "Authorization: Bearer sk-alice-0123456789\r\n")
          .status,
      403);
}

TEST_F(RequestedModelsTest, WithoutKeysEverybodyDoes) {
  Start();
  EXPECT_EQ(PostTo("/models/load", {{"model", "a"}}).status, 200);
  EXPECT_EQ(StatusOf("a"), "loaded");
}

TEST_F(RequestedModelsTest, OllamasClientsSayHowLongAModelStays) {
  disk_.model_options.chat_template = "{{ messages[0].content }}";
  Start();
  const auto names = [&](std::string_view path) {
    std::vector<std::string> found;
    const json list = Ask(path);
    for (const json& model : list.at("models")) found.push_back(model.at("name"));
    return found;
  };
  EXPECT_THAT(names("/api/tags"), ElementsAre("a:latest", "b:latest", "large:latest"));
  EXPECT_THAT(names("/api/ps"), IsEmpty());
  // Nothing to generate from: it is loaded.
  const json loaded =
      json::parse(PostTo("/api/generate", {{"model", "a"}, {"keep_alive", "1h"}}).body);
  EXPECT_EQ(loaded["done_reason"], "load");
  EXPECT_THAT(names("/api/ps"), ElementsAre("a:latest"));
  EXPECT_THAT(Ask("/api/ps")["models"][0]["expires_at"], testing::Not(HasSubstr("9999")));
  EXPECT_EQ(PostTo("/api/show", {{"model", "b"}}).status, 200);
  EXPECT_EQ(StatusOf("b"), "unloaded");
  // With 0 it leaves, behind an answer or at once.
  EXPECT_EQ(PostTo("/api/generate", {{"model", "a"}, {"prompt", "x"}, {"keep_alive", 0}}).status,
            200);
  EXPECT_TRUE(Becomes("a", "unloaded"));
  EXPECT_EQ(PostTo("/api/embed", {{"model", "b"}, {"input", "x"}}).status, 200);
  EXPECT_EQ(StatusOf("b"), "loaded");
  for (int i = 0; i < 2; ++i) {  // one that is not loaded is not loaded for it
    const json left = json::parse(PostTo("/api/chat", {{"model", "b"}, {"keep_alive", 0}}).body);
    EXPECT_EQ(left["done_reason"], "unload");
    EXPECT_TRUE(Becomes("b", "unloaded"));
  }
  const RawResponse refused =
      PostTo("/api/chat", {{"model", "b"}, {"keep_alive", "soon"}, {"messages", json::array()}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("keep_alive"));
}

TEST_F(RequestedModelsTest, AShutdownEndsTheWait) {
  disk_.HoldLoads();
  Start();
  RawClient client{Endpoint(server_->port())};
  client.Send(CompletionPost(R"({"model":"a","prompt":"x"})"));
  ASSERT_TRUE(Becomes("a", "loading"));
  server_->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(5));
  const RawResponse refused = client.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "shutting_down");
}

}  // namespace
}  // namespace weft
