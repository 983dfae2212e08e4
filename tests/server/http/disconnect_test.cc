// Clients that go away, or stop reading, at every phase: their KV blocks are free within a step.
// Over TCP, TLS and a Unix socket alike.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const char* const kLongWhole = R"({"prompt":"abc","max_tokens":100000})";
const char* const kLongStream = R"({"prompt":"abc","max_tokens":100000,"stream":true})";

bool HasDisconnected(const TestServer& server, int count = 1) {
  return Eventually([&] {
    RawClient client(server.endpoint());
    client.Send(Get("/metrics"));
    return client.Read().body.find(fmt::format("weft_client_disconnects_total {}\n", count)) !=
           std::string::npos;
  });
}

// A model that would take 200 s for the requests above.
class DisconnectTest : public testing::TestWithParam<Wire> {
 protected:
  DisconnectTest() { server_.model.SetStepTime(milliseconds(2)); }

  static TestModelOptions ModelOptions() {
    TestModelOptions options;
    options.max_context = 100'100;
    options.block_count = 30'000;
    options.max_sequences = 2;
    options.label_count = 1;  // ranks, too
    return options;
  }

  bool IsComputing() {
    return Eventually([&] { return server_.model.engine().Stats().running > 0; });
  }
  bool EverythingIsFree() {
    return Eventually([&] {
      const EngineState stats = server_.model.engine().Stats();
      return stats.running == 0 && stats.waiting == 0 && stats.used_blocks == 0;
    });
  }
  void ExpectServes() {
    server_.model.SetStepTime(milliseconds(0));
    EXPECT_EQ(server_.Post(R"({"prompt":"a"})").status, 200);
  }

  TestServer server_{ModelOptions(), {}, GetParam()};
};

TEST_P(DisconnectTest, CloseOrResetWhileTheAnswerIsComputed) {
  for (const char* request : {kLongWhole, kLongStream}) {
    for (const bool reset : {false, true}) {
      RawClient client(server_.endpoint());
      client.Send(CompletionPost(request));
      ASSERT_TRUE(IsComputing());
      if (reset) {
        client.Reset();
      } else {
        client.Close();
      }
      EXPECT_TRUE(EverythingIsFree()) << request << " reset: " << reset;
    }
  }
  ExpectServes();
}

TEST_P(DisconnectTest, CloseInTheMiddleOfAStream) {
  RawClient client(server_.endpoint());
  client.Send(CompletionPost(kLongStream));
  ASSERT_TRUE(client.ReadUntil("data: "));
  client.Close();
  EXPECT_TRUE(EverythingIsFree());
  ExpectServes();
}

TEST_P(DisconnectTest, CloseWhileQueued) {
  RawClient first(server_.endpoint());
  RawClient second(server_.endpoint());
  first.Send(CompletionPost(kLongWhole));
  second.Send(CompletionPost(kLongWhole));
  ASSERT_TRUE(Eventually([&] { return server_.model.engine().Stats().running == 2; }));
  for (const char* request : {kLongWhole, kLongStream}) {
    RawClient queued(server_.endpoint());
    queued.Send(CompletionPost(request));
    ASSERT_TRUE(Eventually([&] { return server_.model.engine().Stats().waiting == 1; }));
    queued.Close();
    EXPECT_TRUE(Eventually([&] { return server_.model.engine().Stats().waiting == 0; }));
  }
  first.Close();
  second.Close();
  EXPECT_TRUE(EverythingIsFree());
}

// Those of its texts that are in the engine leave it, and no other comes.
TEST_P(DisconnectTest, CloseInTheMiddleOfManyTexts) {
  const std::vector<std::string> texts(2000, std::string(300, 'a'));
  const std::string embeddings = nlohmann::json{{"input", texts}}.dump();
  const std::string rerank = nlohmann::json{{"query", "q"}, {"documents", texts}}.dump();
  int count = 0;
  for (const auto& [path, body] :
       {std::pair("/v1/embeddings", embeddings), std::pair("/v1/rerank", rerank)}) {
    server_.model.HoldSteps();
    RawClient client(server_.endpoint());
    client.Send(Post(path, body));
    ASSERT_TRUE(Eventually([&] { return server_.model.engine().queued_count() == 32; })) << path;
    client.Close();
    ASSERT_TRUE(HasDisconnected(server_, ++count)) << path;
    const int64_t steps = server_.model.steps();
    server_.model.ReleaseSteps();
    EXPECT_TRUE(Eventually([&] { return server_.model.engine().queued_count() == 0; })) << path;
    EXPECT_TRUE(EverythingIsFree()) << path;
    EXPECT_LE(server_.model.steps(), steps + 2) << path;
  }
  EXPECT_EQ(server_.PostTo("/v1/embeddings", R"({"input":["a","b"]})").status, 200);
  EXPECT_EQ(server_.PostTo("/v1/rerank", R"({"query":"a","documents":["b"]})").status, 200);
  ExpectServes();
}

TEST_P(DisconnectTest, CloseWithAPipelinedRequestUnread) {
  RawClient client(server_.endpoint());
  client.Send(CompletionPost(kLongWhole) + Get("/health"));
  ASSERT_TRUE(IsComputing());
  client.Close();
  EXPECT_TRUE(EverythingIsFree());
}

TEST_P(DisconnectTest, AHalfClosedClientGetsItsWholeAnswer) {
  const std::string request = R"({"prompt":"abc","max_tokens":60,"temperature":0)";
  RawClient whole(server_.endpoint());
  whole.Send(CompletionPost(request + "}"));
  whole.ShutdownWrite();
  const RawResponse answer = whole.Read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(TextOf(answer).size(), 60U);
  RawClient stream(server_.endpoint());
  stream.Send(CompletionPost(request + R"(,"stream":true})"));
  stream.ShutdownWrite();
  EXPECT_EQ(SseData(stream.Read().body).back(), "[DONE]");
}

TEST_P(DisconnectTest, AHalfClosedClientThatGoesLaterIsNoticed) {
  RawClient client(server_.endpoint());
  client.Send(CompletionPost(kLongWhole));
  client.ShutdownWrite();
  ASSERT_TRUE(IsComputing());
  std::this_thread::sleep_for(milliseconds(60));
  ASSERT_EQ(server_.model.engine().Stats().running, 1);
  client.Close();
  EXPECT_TRUE(EverythingIsFree());
}

TEST_P(DisconnectTest, CutAtEveryByteOfARequest) {
  const std::string request = CompletionPost(R"({"prompt":"abc","max_tokens":3})");
  for (size_t length = 0; length <= request.size(); length += 3) {
    for (const int how : {0, 1, 2}) {
      RawClient client(server_.endpoint());
      client.Send(std::string_view(request).substr(0, length));
      if (how == 0) client.Close();
      if (how == 1) client.Reset();
      if (how == 2) {
        client.ShutdownWrite();
        // Part of a request is answered with 400, none with silence; the last round is whole.
        const std::string answer = client.ReadToEnd();
        EXPECT_TRUE(length == 0 ? answer.empty() : answer.starts_with("HTTP/1.1 ")) << length;
      }
    }
  }
  EXPECT_TRUE(EverythingIsFree());
  ExpectServes();
}

class SlowReaderTest : public testing::TestWithParam<Wire> {};

TEST_P(SlowReaderTest, AStreamThatIsNotReadIsCutAndItsMemoryBounded) {
  TestModelOptions model_options;
  model_options.max_context = 100'100;
  model_options.block_count = 30'000;
  ServerOptions options;
  options.max_stream_backlog_bytes = 64 << 10;
  options.send_buffer_bytes = 16 << 10;
  TestServer server(model_options, options, GetParam());
  RawClient lazy(server.endpoint(), 4096);
  lazy.Send(CompletionPost(kLongStream));
  // Long before its 100,000 tokens are done, and while others are served.
  ASSERT_TRUE(HasDisconnected(server));
  EXPECT_TRUE(Eventually([&] { return server.model.engine().Stats().running == 0; }));
  EXPECT_LT(server.model.steps(), 50'000);
  EXPECT_EQ(server.Post(R"({"prompt":"a"})").status, 200);
  const std::string received = lazy.ReadToEnd();
  EXPECT_EQ(received.find("[DONE]"), std::string::npos);
  EXPECT_LT(received.size(), 1U << 20);
}

TEST_P(SlowReaderTest, AnAnswerThatIsNotReadTimesOut) {
  TestModelOptions model_options;
  model_options.max_context = 100'100;
  model_options.block_count = 30'000;
  ServerOptions options;
  options.send_buffer_bytes = 16 << 10;
  options.write_timeout = milliseconds(300);
  TestServer server(model_options, options, GetParam());
  RawClient lazy(server.endpoint(), 4096);
  lazy.Send(CompletionPost(R"({"prompt":"a","max_tokens":1000,"logprobs":20})"));
  EXPECT_TRUE(HasDisconnected(server));
}

TEST_P(SlowReaderTest, OneThatReadsSlowlyGetsEverything) {
  TestServer server({}, {}, GetParam());
  RawClient client(server.endpoint(), 4096);
  client.Send(CompletionPost(R"({"prompt":"abc","max_tokens":400,"temperature":0,"stream":true})"));
  ASSERT_TRUE(client.ReadUntil("data: "));
  std::this_thread::sleep_for(milliseconds(200));
  const RawResponse response = client.Read();
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(SseData(response.body).back(), "[DONE]");
}

const auto kWires = testing::Values(Wire::kTcp, Wire::kTls, Wire::kUnix);
const auto kNameOfWire = [](const testing::TestParamInfo<Wire>& info) {
  return NameOf(info.param);
};
INSTANTIATE_TEST_SUITE_P(Wires, DisconnectTest, kWires, kNameOfWire);
INSTANTIATE_TEST_SUITE_P(Wires, SlowReaderTest, kWires, kNameOfWire);

}  // namespace
}  // namespace weft
