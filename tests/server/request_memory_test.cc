// What requests and connections may hold, as clients see it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/responses_requests.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

ServerOptions WithRequestBytes(uint64_t size_bytes) {
  ServerOptions options;
  options.request_memory_bytes = size_bytes;
  return options;
}

std::string LargeBody(size_t size_bytes) {
  return R"({"max_tokens":1,"prompt":")" + std::string(size_bytes, 'x') + R"("})";
}

// A body that is announced as one byte longer than what comes.
std::unique_ptr<RawClient> Stall(const TestServer& server, size_t size_bytes,
                                 std::string_view headers = "") {
  auto client = std::make_unique<RawClient>(server.port());
  client->Send(fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: {}\r\n\r\n", headers,
      size_bytes + 1));
  client->Send(std::string(size_bytes, 'x'));
  return client;
}

int64_t HeldBytes(RawClient& client) {
  constexpr std::string_view kName = "\nweft_request_memory_bytes ";
  client.Send(Get("/metrics"));
  const std::string text = client.Read().body;
  // The answer itself is held until it has been taken: behind another one it is given back.
  client.Send(Get("/health"));
  EXPECT_EQ(client.Read().status, 200);
  return std::stoll(text.substr(text.find(kName) + kName.size()));
}

TEST(RequestMemoryTest, StalledBodiesDoNotShutOutSmallOnes) {
  const TestServer server({}, WithRequestBytes(4 << 20));
  std::vector<std::unique_ptr<RawClient>> stalled;
  EXPECT_TRUE(Eventually([&] {
    stalled.push_back(Stall(server, 140'000));
    return server.Post(LargeBody(140'000)).status == 503;
  }));
  // Small ones at the same time, of more than what no large one fits into.
  std::vector<std::unique_ptr<RawClient>> small;
  const std::string request = CompletionPost(R"({"prompt":"a"})");
  for (int i = 0; i < 16; ++i) {
    small.push_back(std::make_unique<RawClient>(server.port()));
    small.back()->Send(request.substr(0, request.size() - 1));
  }
  for (const auto& client : small) {
    client->Send(request.substr(request.size() - 1));
    EXPECT_EQ(client->Read().status, 200);
  }
  stalled.clear();
  EXPECT_TRUE(Eventually([&] { return server.Post(LargeBody(200'000)).status != 503; }));
}

TEST(RequestMemoryTest, WhatIsAnnouncedIsNotHeldBeforeItComes) {
  const TestServer server({}, WithRequestBytes(4 << 20));
  std::vector<std::unique_ptr<RawClient>> announcing;
  for (int i = 0; i < 20; ++i) {
    announcing.push_back(std::make_unique<RawClient>(server.port()));
    announcing.back()->Send(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n{");
  }
  RawClient client(server.port());
  EXPECT_TRUE(Eventually([&] { return HeldBytes(client) > 20 * 20'000; }));
  EXPECT_LT(HeldBytes(client), 21 * 64'000);
  EXPECT_NE(server.Post(LargeBody(200'000)).status, 503);
}

TEST(RequestMemoryTest, ALargeBodyThatStallsIsEnded) {
  ServerOptions options;
  options.body_window = milliseconds(100);
  const TestServer server({}, options);
  const auto small = Stall(server, 60'000);
  const auto large = Stall(server, 100'000);
  EXPECT_EQ(large->Read().status, 408);
  EXPECT_TRUE(large->IsClosedWithin(seconds(5)));
  EXPECT_FALSE(small->IsClosedWithin(milliseconds(1)));
  small->Send("x");
  EXPECT_EQ(small->Read().status, 400);  // it was no JSON
}

TEST(RequestMemoryTest, OneKeyDoesNotTakeWhatOthersNeed) {
  const TemporaryDirectory directory;
  ServerOptions options = WithRequestBytes(8 << 20);
  options.api_key_path =
      directory.Write("keys", "alice:aaaaaaaaaaaaaaaaaaaa\nbob:bbbbbbbbbbbbbbbbbbbb\n");
  const TestServer server({}, options);
  const std::string alice = "Authorization: Bearer aaaaaaaaaaaaaaaaaaaa\r\n";
  const std::string bob = "Authorization: Bearer bbbbbbbbbbbbbbbbbbbb\r\n";
  std::vector<std::unique_ptr<RawClient>> stalled;
  const auto post = [&](const std::string& key, size_t size_bytes) {
    RawClient client(server.port());
    client.Send(CompletionPost(LargeBody(size_bytes), key));
    return client.Read().status;
  };
  EXPECT_TRUE(Eventually([&] {
    stalled.push_back(Stall(server, 300'000, alice));
    return post(alice, 300'000) == 503;
  }));
  EXPECT_EQ(post(bob, 300'000), 400);  // too many tokens, but it was read
}

// A request in its first step, which holds what it takes until the steps go on.
std::unique_ptr<RawClient> HoldOne(TestServer& server) {
  server.model.HoldSteps();
  auto client = std::make_unique<RawClient>(server.port());
  client->Send(CompletionPost(R"({"prompt":"a"})"));
  EXPECT_TRUE(Eventually([&] { return server.model.steps() > 0; }));
  return client;
}

TEST(RequestMemoryTest, RefusedConnectionsAreKept) {
  TestServer server({}, WithRequestBytes(60'000));
  const auto first = HoldOne(server);
  RawClient second(server.port());
  const std::string body = R"({"prompt":")" + std::string(20'000, 'x') + R"("})";
  for (int i = 0; i < 3; ++i) {
    second.Send(CompletionPost(body));
    const RawResponse refused = second.Read();
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(ErrorOf(refused)["code"], "overloaded");
    EXPECT_EQ(refused.headers.count("connection"), 0U);
  }
  server.model.ReleaseSteps();
  EXPECT_EQ(first->Read().status, 200);
  // A moment after the answer was read, what it held is given back.
  EXPECT_TRUE(Eventually([&] {
    second.Send(CompletionPost(R"({"prompt":"a"})"));
    return second.Read().status == 200;
  }));
}

TEST(RequestMemoryTest, ARefusedBodyIsNotWaitedFor) {
  TestServer server({}, WithRequestBytes(60'000));
  const auto first = HoldOne(server);
  RawClient second(server.port());
  const std::string request = CompletionPost(R"({"prompt":")" + std::string(20'000, 'x') + "\"}");
  for (int i = 0; i < 3; ++i) {
    second.Send(request.substr(0, 10'000));
    const RawResponse refused = second.Read();
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.count("connection"), 0U);
    second.Send(request.substr(10'000));
  }
  second.Send(Get("/health"));
  EXPECT_EQ(second.Read().status, 200);
  // Who was told to go on does.
  second.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 20000\r\n\r\n");
  EXPECT_EQ(second.Read().status, 100);
  second.Send(std::string(1'000, 'x'));
  const RawResponse refused = second.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.count("connection"), 0U);
  second.Send(std::string(19'000, 'x') + Get("/health"));
  EXPECT_EQ(second.Read().status, 200);
  server.model.ReleaseSteps();
  EXPECT_EQ(first->Read().status, 200);
}

TEST(RequestMemoryTest, OfABodyOfUnknownLengthItIsSaidThatItNeverFits) {
  const TestServer server({}, WithRequestBytes(300'000));
  RawClient client(server.port());
  std::string request =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 200; ++i) request += "3e8\r\n" + std::string(1000, 'x') + "\r\n";
  client.Send(request + "0\r\n\r\n");
  const RawResponse refused = client.Read();
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(ErrorOf(refused)["message"], HasSubstr("this server has 262500 for one"));
  EXPECT_EQ(refused.headers.at("connection"), "close");
}

ServerOptions WithSmallSocketBuffers(ServerOptions options) {
  options.send_buffer_bytes = 4096;
  return options;
}

TEST(RequestMemoryTest, AnswersOfPlainRoutesAreHeldUntilTheyAreTaken) {
  constexpr int kReceiveBuffer = 4096;
  constexpr size_t kLength = 600'000;
  const TestServer server(Saying("Hello"), WithSmallSocketBuffers(WithRequestBytes(8 << 20)));
  RawClient observer(server.port());
  const int64_t begin = HeldBytes(observer);
  const std::string tool = R"({"type":"function","name":"f","parameters":{},"description":")" +
                           std::string(kLength, 'x') + R"("})";
  const std::string id = Created(server, R"("tools":[)" + tool + "]")["id"];
  const std::string request = Get("/v1/responses/" + id);
  {
    RawClient slow(server.port(), kReceiveBuffer);
    slow.Send(request);
    EXPECT_TRUE(
        Eventually([&] { return HeldBytes(observer) > begin + static_cast<int64_t>(kLength); }));
    const RawResponse answer = slow.Read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_GT(answer.body.size(), kLength);
  }
  EXPECT_TRUE(Eventually([&] { return HeldBytes(observer) <= begin; }));
  std::vector<std::unique_ptr<RawClient>> slow;
  const auto is_refused = [&] {
    slow.push_back(std::make_unique<RawClient>(server.port(), kReceiveBuffer));
    slow.back()->Send(request);
    RawClient client(server.port());
    client.Send(request);
    const RawResponse response = client.Read();
    return response.status == 503 && ErrorOf(response)["code"] == "overloaded";
  };
  for (int i = 0; i < 40 && !is_refused(); ++i) {
  }
  EXPECT_LT(slow.size(), 20U);
  EXPECT_EQ(server.Post(R"({"prompt":"a","max_tokens":1})").status, 200);  // of what is kept
}

TEST(RequestMemoryTest, TheDescriptionOfTheApiIsNobodysCopy) {
  const TestServer server({}, WithSmallSocketBuffers({}));
  RawClient observer(server.port());
  const int64_t begin = HeldBytes(observer);
  RawClient slow(server.port(), 4096);
  slow.Send(Get("/openapi.json"));
  ASSERT_TRUE(slow.ReadUntil("HTTP/1.1 200"));
  EXPECT_LT(HeldBytes(observer), begin + 50'000);
  EXPECT_TRUE(slow.Read().complete);
}

// One of each, of which clients have taken all.
TEST(RequestMemoryTest, TheOperatorsAddressIsNotTheClientsToUseUp) {
  ServerOptions options = WithRequestBytes(60'000);
  options.metrics_address = {.host = "127.0.0.1", .port = 0};
  const TestServer server({}, options);
  std::vector<std::unique_ptr<RawClient>> clients;
  int status = 200;
  while (status == 200 && clients.size() < 20) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->Send(Get("/v1/models"));
    status = clients.back()->Read().status;
  }
  EXPECT_EQ(status, 503);
  EXPECT_LT(clients.size(), 8U);
  for (int i = 0; i < 3; ++i) {
    RawClient client(server.server->metrics_port());
    client.Send(Get("/metrics"));
    EXPECT_EQ(client.Read().status, 200);
  }
  RawClient prober(server.port());
  prober.Send(Get("/health"));
  EXPECT_EQ(prober.Read().status, 200);
}

// Where there is no memory for another connection those that come are refused, at their share.
TEST(RequestMemoryTest, ConnectionsWithoutMemoryAreAcceptedSlowly) {
  ServerOptions options = WithRequestBytes(60'000);
  options.metrics_address = {.host = "127.0.0.1", .port = 0};
  options.refusal_share = 1e-9;
  const TestServer server({}, options);
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto ask = [&](uint16_t port) {
    const auto start = std::chrono::steady_clock::now();
    clients.push_back(std::make_unique<RawClient>(port));
    clients.back()->Send(Get("/health"));
    EXPECT_EQ(clients.back()->Read().status, 200);
    return std::chrono::steady_clock::now() - start;
  };
  for (int i = 0; i < 5; ++i) ask(server.port());  // three have a connection
  EXPECT_GT(ask(server.port()), milliseconds(300));
  for (int i = 0; i < 20; ++i) EXPECT_LT(ask(server.server->metrics_port()), milliseconds(300));
}

TEST(RequestMemoryTest, EmbeddingsAreCountedBeforeTheyAreComputed) {
  TestServer server({}, WithRequestBytes(700'000));
  const auto embed = [](int count) {
    return Post("/v1/embeddings", json{{"input", std::vector<std::string>(count, "a")}}.dump());
  };
  RawClient observer(server.port());
  RawClient first(server.port());
  RawClient second(server.port());
  for (RawClient* const client : {&first, &second}) {
    client->Send(Get("/health"));
    EXPECT_EQ(client->Read().status, 200);
  }
  const int64_t before = HeldBytes(observer);
  const int64_t steps = server.model.steps();
  server.model.HoldSteps();
  first.Send(embed(1300));
  ASSERT_TRUE(Eventually([&] { return server.model.steps() > steps; }));
  second.Send(embed(1300));
  const RawResponse refused = second.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "overloaded");
  second.Send(embed(2048));  // on the same connection
  const RawResponse too_many = second.Read();
  EXPECT_EQ(too_many.status, 400);
  EXPECT_THAT(ErrorOf(too_many)["message"], HasSubstr("this server has 612500 for one"));
  server.model.ReleaseSteps();
  EXPECT_EQ(first.Read().status, 200);
  // A moment after the answer was read, what it held is given back.
  EXPECT_TRUE(Eventually([&] {
    second.Send(embed(1300));
    return second.Read().status == 200;
  }));
  EXPECT_TRUE(Eventually([&] { return HeldBytes(observer) <= before; }));
  EXPECT_EQ(HeldBytes(observer), before);
}

// While a request waits for its answer, what its head became is held.
TEST(RequestMemoryTest, HeadsAreHeldUntilTheAnswer) {
  TestServer server({}, WithRequestBytes(1 << 20));
  RawClient observer(server.port());
  RawClient client(server.port());
  client.Send(Get("/health"));
  EXPECT_EQ(client.Read().status, 200);
  const int64_t before = HeldBytes(observer);
  server.model.HoldSteps();
  const std::string body = R"({"prompt":"a","max_tokens":1})";
  client.Send(CompletionPost(body, "X: " + std::string(10'000, 'x') + "\r\n"));
  ASSERT_TRUE(Eventually([&] { return server.model.steps() > 0; }));
  EXPECT_GT(HeldBytes(observer), before + 16'384 + 3 * 10'000);
  server.model.ReleaseSteps();
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_TRUE(Eventually([&] { return HeldBytes(observer) <= before; }));
  EXPECT_EQ(HeldBytes(observer), before);
}

TEST(RequestMemoryTest, HeadsWithoutRoomAreRefused) {
  const TestServer server({}, WithRequestBytes(100'000));  // what is read has a quarter
  RawClient client(server.port());
  client.Send(Get("/health", "X: " + std::string(9'000, 'x') + "\r\n"));
  const RawResponse refused = client.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "overloaded");
  RawClient other(server.port());
  other.Send(Get("/health", "X: " + std::string(1'000, 'x') + "\r\n"));
  EXPECT_EQ(other.Read().status, 200);
}

TEST(RequestMemoryTest, HeadsThatNeverEndHaveAShareOfTheirOwn) {
  ServerOptions options = WithRequestBytes(200'000);
  options.header_timeout = std::chrono::hours(1);
  const TestServer server({}, options);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 10; ++i) {
    slow.push_back(std::make_unique<RawClient>(server.port()));
    slow.back()->Send("GET /health HTTP/1.1\r\nX: " + std::string(10'000, 'x'));
  }
  EXPECT_TRUE(Eventually([&] {
    return std::ranges::any_of(
        slow, [](const auto& client) { return client->IsClosedWithin(milliseconds(1)); });
  }));
  EXPECT_EQ(server.Post(R"({"prompt":"a"})").status, 200);
}

}  // namespace
}  // namespace weft
