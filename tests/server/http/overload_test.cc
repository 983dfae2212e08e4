// What a server says and reads when its queue is full.
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/raw_client.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TestModelOptions OneAtATime(int32_t max_waiting) {
  TestModelOptions options;
  options.max_sequences = 1;
  options.max_waiting = max_waiting;  // a request counts until its first step has ended
  return options;
}

// One request runs, without end until steps are released; the others wait.
class FullServer {
 public:
  explicit FullServer(ServerOptions options = {}, Wire wire = Wire::kTcp, int32_t count = 2)
      : server_(OneAtATime(count), std::move(options), wire), count_(count) {
    Fill();
  }

  void Fill() {
    server_.model.HoldSteps();
    admitted_.clear();
    for (int32_t i = 0; i < count_; ++i) {
      admitted_.push_back(std::make_unique<RawClient>(server_.endpoint()));
      admitted_.back()->Send(CompletionPost(R"({"prompt":"a","max_tokens":1})"));
      EXPECT_TRUE(Eventually([&] { return server_.model.engine().queued_count() == i + 1; }));
    }
  }

  TestServer& operator*() { return server_; }
  TestServer* operator->() { return &server_; }
  Endpoint endpoint() const { return server_.endpoint(); }
  void MakeRoom() {
    server_.model.ReleaseSteps();
    for (const auto& client : admitted_) EXPECT_EQ(client->Read().status, 200);
  }

 private:
  TestServer server_;
  const int32_t count_;
  std::vector<std::unique_ptr<RawClient>> admitted_;
};

std::string Head(size_t body_bytes, std::string_view extra = "",
                 std::string_view path = "/v1/completions") {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n" +
         std::string(extra) + "\r\n";
}

void ExpectQueueFull(const RawResponse& response) {
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(ErrorOf(response)["code"], "queue_full");
  EXPECT_EQ(ErrorOf(response)["type"], "rate_limit_error");
}

class OverloadTest : public testing::TestWithParam<Wire> {};

TEST_P(OverloadTest, AFullQueueIsSaidBeforeTheBodyIsSentAndTheConnectionKept) {
  FullServer full({}, GetParam());
  RawClient client(full.endpoint());
  for (int i = 0; i < 3; ++i) {
    client.Send(Head(65'536));
    const RawResponse refused = client.Read();  // nothing of the body has been sent
    ExpectQueueFull(refused);
    EXPECT_FALSE(refused.headers.contains("connection"));
    client.Send(std::string(65'536, 'x'));
  }
  client.Send(Get("/health"));
  EXPECT_EQ(client.Read().status, 200);
  full.MakeRoom();
  client.Send(CompletionPost(R"({"prompt":"a","max_tokens":1})"));
  EXPECT_EQ(client.Read().status, 200);
}

TEST_P(OverloadTest, ALongBodyIsNotWaitedFor) {
  FullServer full({}, GetParam());
  RawClient client(full.endpoint());
  client.Send(Head(65'537));
  const RawResponse refused = client.Read();
  ExpectQueueFull(refused);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_TRUE(client.IsClosedWithin(seconds(20)));
  RawClient unknown(full.endpoint());
  unknown.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(unknown.Read().headers.at("connection"), "close");
}

TEST_P(OverloadTest, WhoWaitsForContinueIsNotToldTo) {
  FullServer full({}, GetParam());
  RawClient client(full.endpoint());
  client.Send(Head(10, "Expect: 100-continue\r\n"));
  const RawResponse refused = client.Read();
  ExpectQueueFull(refused);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_TRUE(client.IsClosedWithin(seconds(20)));
}

INSTANTIATE_TEST_SUITE_P(Wires, OverloadTest, testing::Values(Wire::kTcp, Wire::kTls, Wire::kUnix),
                         [](const auto& test) { return NameOf(test.param); });

TEST(RefusalTest, TheClientsOwnErrorsFollowTheSameRule) {
  TestServer server;
  RawClient client(server.endpoint());
  client.Send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  const RawResponse unknown = client.Read();
  EXPECT_EQ(unknown.status, 404);
  EXPECT_FALSE(unknown.headers.contains("connection"));
  client.Send("12345" + Get("/health"));
  EXPECT_EQ(client.Read().status, 200);
  client.Send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65537\r\n\r\n");
  EXPECT_EQ(client.Read().headers.at("connection"), "close");
}

TEST(RefusalTest, WhatIsNoGenerationIsServed) {
  FullServer full;
  EXPECT_EQ(full->PostTo("/tokenize", R"({"prompt":"a"})").status, 200);
  RawClient client(full.endpoint());
  client.Send(Get("/v1/models"));
  EXPECT_EQ(client.Read().status, 200);
  for (const char* path : {"/v1/chat/completions", "/v1/responses", "/v1/embeddings"}) {
    EXPECT_EQ(full->PostTo(path, "{}").status, 429) << path;
  }
  EXPECT_EQ(full->PostTo("/v1/messages", "{}").status, 429);
}

TEST(RefusalTest, PooledTextsAreRefusedBeforeTheyAreSentToo) {
  FullServer full;
  RawClient client(full.endpoint());
  for (const char* path : {"/v1/embeddings", "/embed", "/embed_sparse", "/pooling", "/v1/rerank",
                           "/v2/rerank", "/rerank", "/v1/score", "/score", "/v1/decisions",
                           "/generative_scoring", "/classify", "/predict"}) {
    client.Send(Head(65'536, "", path));
    const RawResponse refused = client.Read();  // nothing of the body has been sent
    ExpectQueueFull(refused);
    EXPECT_GE(std::stoi(refused.headers.at("retry-after")), 1) << path;
    EXPECT_FALSE(refused.headers.contains("connection")) << path;
    client.Send(std::string(65'536, 'x'));
  }
  full.MakeRoom();
  client.Send(Post("/v1/embeddings", R"({"input":"a"})"));
  EXPECT_EQ(client.Read().status, 200);
}

// Up to half as much is added.
void ExpectRetryAfter(const FullServer& full, milliseconds expected) {
  RawClient client(full.endpoint());
  std::set<int64_t> different;
  for (int i = 0; i < 20; ++i) {
    client.Send(CompletionPost("{}", "X-Request-Id: always-the-same\r\n"));
    const RawResponse refused = client.Read();
    ExpectQueueFull(refused);
    const int64_t delay_s = std::stoi(refused.headers.at("retry-after"));
    const int64_t delay_ms = std::stoi(refused.headers.at("retry-after-ms"));
    EXPECT_GE(delay_ms, expected.count());
    EXPECT_LE(delay_ms, expected.count() * 3 / 2);
    EXPECT_EQ(delay_s, (delay_ms + 999) / 1000);
    different.insert(delay_ms);
  }
  EXPECT_GT(different.size(), 10u);
}

TEST(RefusalTest, SaysWhenToComeBackAndNotToAllTheSame) {
  const FullServer full;
  ExpectRetryAfter(full, seconds(5));  // nothing has left the queue yet
}

TEST(RefusalTest, WhenToComeBackFollowsFromHowFastTheQueueEmpties) {
  FullServer full({}, Wire::kTcp, 4);
  full->model.SetStepTime(milliseconds(400));  // one leaves in each
  full.MakeRoom();
  full.Fill();
  const auto expected = full->model.engine().TimeToDrain();
  ASSERT_TRUE(expected.has_value());
  ASSERT_GT(*expected, milliseconds(1000));
  ASSERT_LT(*expected, milliseconds(4500));
  ExpectRetryAfter(full, *expected);
}

// What is left of the share is spent on the first refusal; whoever comes then waits.
ServerOptions NoShare() {
  ServerOptions options;
  options.refusal_share = 1e-9;
  options.io_threads = 1;  // in the order in which they come
  return options;
}

// Returns when the server has seen what was sent before.
void RoundTrips(const FullServer& full) {
  RawClient client(full.endpoint());
  for (int i = 0; i < 3; ++i) {
    client.Send(Get("/health"));
    EXPECT_EQ(client.Read().status, 200);
  }
}

TEST(RefusalTest, BeyondTheirShareRefusalsWaitAndMayFindRoom) {
  FullServer full(NoShare());
  RawClient client(full.endpoint());
  client.Send(CompletionPost("{}"));
  ExpectQueueFull(client.Read());
  client.Send(CompletionPost(R"({"prompt":"a","max_tokens":1})"));
  RoundTrips(full);
  full.MakeRoom();
  EXPECT_EQ(client.Read().status, 200);
}

TEST(RefusalTest, OfTooManyThatWaitTheConnectionIsClosed) {
  ServerOptions options = NoShare();
  options.max_delayed_refusals = 0;
  FullServer full(options);
  RawClient client(full.endpoint());
  client.Send(CompletionPost("{}"));
  EXPECT_FALSE(client.Read().headers.contains("connection"));
  client.Send(CompletionPost("{}"));
  const RawResponse refused = client.Read();
  ExpectQueueFull(refused);
  EXPECT_EQ(refused.headers.at("connection"), "close");
}

TEST(RefusalTest, WhoWaitsHearsOfTheEnd) {
  FullServer full(NoShare());
  RawClient client(full.endpoint());
  client.Send(CompletionPost("{}"));
  ExpectQueueFull(client.Read());
  client.Send(CompletionPost("{}"));
  RoundTrips(full);
  auto stopping = std::async(std::launch::async, [&] {
    full->server->Stop(std::chrono::steady_clock::now() + seconds(20));
  });
  const RawResponse refused = client.Read();  // while steps are held: the queue is full
  full->model.ReleaseSteps();
  stopping.wait();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(ErrorOf(refused)["code"], "shutting_down");
}

}  // namespace
}  // namespace weft
