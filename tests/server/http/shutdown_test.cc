// Server::Stop: what runs is finished, new work is refused, a deadline is a deadline.
#include <future>

#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

int StatusOf(const TestServer& server, const std::string& request) {
  RawClient client(server.port());
  client.Send(request);
  return client.Read().status;
}

TEST(ShutdownTest, FinishesWhatRunsAndRefusesNewWork) {
  TestServer server;
  server.model.HoldSteps();
  RawClient whole(server.port());
  RawClient stream(server.port());
  RawClient idle(server.port());
  idle.Send(Get("/health"));
  EXPECT_EQ(idle.Read().status, 200);
  whole.Send(CompletionPost(R"({"prompt":"abc","max_tokens":20})"));
  stream.Send(CompletionPost(R"({"prompt":"abc","max_tokens":20,"stream":true})"));
  ASSERT_TRUE(Eventually([&] { return server.model.steps() > 0; }));
  std::this_thread::sleep_for(milliseconds(50));  // both submitted

  auto stopped =
      std::async(std::launch::async, [&] { server.server->Stop(Clock::now() + seconds(30)); });
  ASSERT_TRUE(Eventually([&] { return StatusOf(server, Get("/ready")) == 503; }));
  EXPECT_EQ(StatusOf(server, Get("/health")), 200);
  EXPECT_EQ(StatusOf(server, CompletionPost(R"({"prompt":"abc"})")), 503);
  idle.Send(CompletionPost(R"({"prompt":"abc"})"));
  const RawResponse refused = idle.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_EQ(stopped.wait_for(milliseconds(0)), std::future_status::timeout);

  server.model.ReleaseSteps();
  EXPECT_EQ(TextOf(whole.Read()).size(), 20U);
  EXPECT_EQ(SseData(stream.Read().body).back(), "[DONE]");
  ASSERT_EQ(stopped.wait_for(seconds(20)), std::future_status::ready);
  const uint16_t port = server.port();
  server.server.reset();
  EXPECT_FALSE(RawClient(port).connected());
}

std::string RerankPost(int document_count) {
  const nlohmann::json body = {{"query", "q"},
                               {"documents", std::vector<std::string>(document_count, "a")}};
  return Post("/v1/rerank", body.dump());
}

// What is in the engine is finished; texts that are not in it yet are new work, without which there
// is no answer.
TEST(ShutdownTest, TextsOfOneRequestAreFinishedOrRefusedTogether) {
  TestModelOptions options;
  options.label_count = 1;
  TestServer server(options);
  server.model.HoldSteps();
  RawClient few(server.port());
  few.Send(RerankPost(20));
  ASSERT_TRUE(Eventually([&] { return server.model.engine().queued_count() == 20; }));
  RawClient many(server.port());
  many.Send(RerankPost(1000));
  ASSERT_TRUE(Eventually([&] { return server.model.engine().queued_count() == 20 + 32; }));

  auto stopped =
      std::async(std::launch::async, [&] { server.server->Stop(Clock::now() + seconds(30)); });
  ASSERT_TRUE(Eventually([&] { return StatusOf(server, Get("/ready")) == 503; }));
  EXPECT_EQ(StatusOf(server, RerankPost(1)), 503);
  server.model.ReleaseSteps();
  const RawResponse whole = few.Read();
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(nlohmann::json::parse(whole.body)["results"].size(), 20U);
  const RawResponse refused = many.Read();
  EXPECT_TRUE(refused.complete);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "shutting_down");
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(refused.headers.at("connection"), "close");
  ASSERT_EQ(stopped.wait_for(seconds(20)), std::future_status::ready);
  EXPECT_LT(server.model.steps(), 1000 / 32);  // what was refused is not computed
  const EngineState stats = server.model.engine().Stats();
  EXPECT_EQ(stats.running + stats.waiting, 0);
  EXPECT_EQ(stats.used_blocks, 0);
}

TEST(ShutdownTest, AbortsAtTheDeadline) {
  TestModelOptions options;
  options.max_context = 100'100;
  options.block_count = 30'000;
  TestServer server(options);
  server.model.SetStepTime(milliseconds(2));
  RawClient whole(server.port());
  RawClient stream(server.port());
  whole.Send(CompletionPost(R"({"prompt":"abc","max_tokens":100000})"));
  stream.Send(CompletionPost(R"({"prompt":"abc","max_tokens":100000,"stream":true})"));
  ASSERT_TRUE(stream.ReadUntil("data: "));
  ASSERT_TRUE(Eventually([&] { return server.model.engine().Stats().running == 2; }));
  server.server->Stop(Clock::now() + milliseconds(100));
  const RawResponse refused = whole.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "request_aborted");
  const std::vector<std::string> events = SseData(stream.Read().body);
  EXPECT_NE(events.back(), "[DONE]");
  EXPECT_TRUE(nlohmann::json::parse(events.back()).contains("error"));
}

TEST(ShutdownTest, IsQuickWithIdleConnectionsAndHalfRequests) {
  TestServer server;
  RawClient idle(server.port());
  RawClient half(server.port());
  half.Send("POST /v1/comple");
  const auto start = Clock::now();
  server.server->Stop(Clock::now() + seconds(30));
  EXPECT_LT(Clock::now() - start, seconds(10));
}

// With a deadline that is later than a client's patience.
TEST(ShutdownTest, BodiesThatHaveNotComeAreRefusedAndNotWaitedFor) {
  for (const Wire wire : {Wire::kTcp, Wire::kTls, Wire::kUnix}) {
    TestServer server({}, {}, wire);
    server.model.HoldSteps();
    RawClient running(server.endpoint());
    running.Send(CompletionPost(R"({"prompt":"abc","max_tokens":20})"));
    ASSERT_TRUE(Eventually([&] { return server.model.steps() > 0; }));
    RawClient half(server.endpoint());
    half.Send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    RawClient promised(server.endpoint());
    promised.Send(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        "Content-Length: 100\r\n\r\n");
    EXPECT_EQ(promised.Read().status, 100);
    std::this_thread::sleep_for(milliseconds(50));  // the half is being read
    auto stopped =
        std::async(std::launch::async, [&] { server.server->Stop(Clock::now() + seconds(60)); });
    for (RawClient* const client : {&half, &promised}) {
      const RawResponse refused = client->Read();
      EXPECT_EQ(refused.status, 503) << NameOf(wire);
      EXPECT_EQ(ErrorOf(refused)["code"], "shutting_down");
      EXPECT_EQ(refused.headers.at("connection"), "close");
      EXPECT_EQ(client->ReadToEnd(), "");
    }
    // One that begins now is refused as well.
    RawClient late(server.endpoint());
    late.Send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    EXPECT_EQ(late.Read().status, 503);
    server.model.ReleaseSteps();
    EXPECT_EQ(running.Read().status, 200);
    EXPECT_EQ(stopped.wait_for(seconds(20)), std::future_status::ready);
  }
}

TEST(ShutdownTest, AClientThatDoesNotReadIsWaitedForOnce) {
  ServerOptions options;
  options.send_buffer_bytes = 4096;
  TestServer server({}, options);
  RawClient stuck(server.endpoint(), 2048);
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += Get("/openapi.json");
  stuck.Send(requests);
  std::this_thread::sleep_for(milliseconds(100));  // until an answer fits nowhere
  server.server->Stop(Clock::now());
  auto again =
      std::async(std::launch::async, [&] { server.server->Stop(Clock::now() + seconds(60)); });
  EXPECT_EQ(again.wait_for(seconds(20)), std::future_status::ready);
}

TEST(ShutdownTest, APortInUseIsAnError) {
  const TestServer server;
  ServerOptions options;
  options.port = server.port();
  TestModel model;
  const auto second = Server::Start(options, RegistryOf({model.Served()}), model.metrics(),
                                    *Access::Load(options), std::make_shared<Tracer>());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(std::to_string(server.port())), std::string::npos);
}

}  // namespace
}  // namespace weft
