// GET /watch through sockets: the history, what follows, who sees what, and how it ends.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/test_server.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr std::string_view kAlice = "Authorization: Bearer sk-alice-0123456789\r\n";
constexpr std::string_view kBob = "Authorization: Bearer sk-bob-0123456789ab\r\n";
constexpr std::string_view kWatcher = "Authorization: Bearer sk-watch-0123456789\r\n";

// The events of a stream that the server ends by stopping, once it has sent a sample.
std::vector<json> EventsOf(TestServer& server, std::string_view headers = "") {
  RawClient client(server.port());
  client.Send(Get("/watch", headers));
  EXPECT_TRUE(client.ReadUntil("watch.sample"));
  server.server->Stop(std::chrono::steady_clock::now() + seconds(30));
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(response.headers.at("content-type"), "text/event-stream; charset=utf-8");
  std::vector<std::string> texts = SseData(response.body);
  EXPECT_EQ(texts.back(), "[DONE]");
  texts.pop_back();
  std::vector<json> events;
  for (const std::string& text : texts) events.push_back(json::parse(text));
  return events;
}

int64_t SumOf(const std::vector<json>& events, const char* member) {
  int64_t sum = 0;
  for (const json& value : events.front()["samples"][member]) sum += value.get<int64_t>();
  for (size_t i = 1; i < events.size(); ++i) sum += events[i][member].get<int64_t>();
  return sum;
}

ServerOptions Keyed(const TemporaryDirectory& directory) {
  ServerOptions options;
  options.api_key_path =
      directory.Write("keys", "alice:sk-alice-0123456789\nbob:sk-bob-0123456789ab\n");
  options.metrics_key_path = directory.Write("metrics", "watcher:sk-watch-0123456789\n");
  return options;
}

TEST(WatchStreamTest, TheHistoryThenASampleASecond) {
  TestServer server;
  server.Post(R"({"prompt":"abc","max_tokens":5})");
  const std::vector<json> events = EventsOf(server);
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[0]["object"], "watch.history");
  EXPECT_EQ(events[0]["scope"], "server");
  EXPECT_EQ(events[0]["max_stall"], 0.1);
  EXPECT_GT(events[0]["request_limit_bytes"], 0);
  EXPECT_GE(events[0]["samples"]["time"].size(), 1U);
  double last = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["object"], "watch.sample");
    EXPECT_GT(events[i]["time"], last);
    last = events[i]["time"];
    EXPECT_GT(events[i]["resident_bytes"], 0);
  }
  EXPECT_EQ(SumOf(events, "requests"), 1);
  EXPECT_EQ(SumOf(events, "refusals"), 0);
}

TEST(WatchStreamTest, AKeySeesItselfAlone) {
  const TemporaryDirectory directory;
  TestServer server({}, Keyed(directory));
  for (const std::string_view key : {kAlice, kBob, kBob}) {
    RawClient client(server.port());
    client.Send(CompletionPost(R"({"prompt":"abc","max_tokens":5})", key));
    EXPECT_EQ(client.Read().status, 200);
  }
  const std::vector<json> events = EventsOf(server, kAlice);
  EXPECT_EQ(events[0]["scope"], "key");
  EXPECT_FALSE(events[1].contains("running"));
  EXPECT_EQ(SumOf(events, "requests"), 1);
  EXPECT_EQ(SumOf(events, "prompt_tokens"), 4);
  EXPECT_EQ(SumOf(events, "completion_tokens"), 5);
}

TEST(WatchStreamTest, AMetricsKeySeesAll) {
  const TemporaryDirectory directory;
  TestServer server({}, Keyed(directory));
  RawClient client(server.port());
  client.Send(CompletionPost(R"({"prompt":"abc","max_tokens":5})", kBob));
  client.Read();
  client.Send(Get("/watch"));
  EXPECT_EQ(client.Read().status, 401);
  const std::vector<json> events = EventsOf(server, kWatcher);
  EXPECT_EQ(events[0]["scope"], "server");
  EXPECT_EQ(SumOf(events, "requests"), 1);
}

TEST(WatchStreamTest, ItIsNotForHeadAndNotForTooMany) {
  const TestServer server;
  RawClient head(server.port());
  head.Send("HEAD /watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(head.Read(true).status, 200);
  std::vector<std::unique_ptr<RawClient>> watching;
  for (int i = 0; i < 64; ++i) {
    watching.push_back(std::make_unique<RawClient>(server.port()));
    watching.back()->Send(Get("/watch"));
    EXPECT_TRUE(watching.back()->ReadUntil("watch.history")) << i;
  }
  RawClient late(server.port());
  late.Send(Get("/watch"));
  const RawResponse refused = late.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "overloaded");
  watching.clear();
  EXPECT_TRUE(Eventually([&] {
    RawClient again(server.port());
    again.Send(Get("/watch"));
    return again.ReadUntil("\r\n") && again.Read(true).status == 200;
  }));
}

}  // namespace
}  // namespace weft
