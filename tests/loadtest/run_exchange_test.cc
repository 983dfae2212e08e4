// One request and its answer, against a server that says what the test tells it to.
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/run/exchange.h"
#include "tests/loadtest/scripted_server.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kHello =
    R"({"id":"cmpl-7","choices":[{"index":0,"text":"Hello","finish_reason":null}]})";
constexpr std::string_view kWorld =
    R"({"choices":[{"index":0,"text":" world","finish_reason":"stop"}]})";
constexpr std::string_view kUsage =
    R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,)"
    R"("prompt_tokens_details":{"cached_tokens":5}},"timings":{"queue_ms":1,"prompt_ms":2,"predicted_ms":3}})";
constexpr std::string_view kWhole =
    R"({"id":"w","choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}})";
constexpr std::string_view kRefusal = R"({"error":{"message":"no"}})";

std::string WholeStream() {
  return std::string(kStreamHead) + StreamEvent(kHello) + StreamEvent(kWorld) +
         StreamEvent(kUsage) + StreamEvent("[DONE]") + std::string(kStreamEnd);
}

// A chunk with a text and the number of tokens so far.
std::string CountedEvent(std::string_view text, int token_count) {
  return StreamEvent(R"({"choices":[{"text":")" + std::string(text) +
                     R"("}],"usage":{"prompt_tokens":1,"completion_tokens":)" +
                     std::to_string(token_count) + "}}");
}

std::vector<int32_t> TokenCounts(const RequestRecord& record) {
  std::vector<int32_t> counts;
  for (const auto& arrival : record.arrivals) counts.push_back(arrival.token_count);
  return counts;
}

class ExchangeTest : public testing::Test {
 protected:
  void Serve(std::function<void(ScriptedConnection&)> script) {
    connection_.reset();
    server_.emplace(std::move(script));
    Aim(server_->url());
  }

  // One request is read, and answered so.
  void Answer(std::string answer) {
    Serve([answer = std::move(answer)](ScriptedConnection& connection) {
      connection.ReadRequest();
      connection.Write(answer);
      connection.ReadRequest();  // until the client has gone
    });
  }

  void Aim(const std::string& url) {
    RunOptions options;
    options.url = url;
    target_ = FindTarget(context_, options).value();
    connection_.emplace(context_, target_);
  }

  RequestRecord Run(Call call = {}) {
    RequestRecord record;
    record.sent = RequestRecord::Clock::now();
    connection_->outgoing = "POST / HTTP/1.1\r\n" + target_.header_lines + "\r\n";
    connection_->StartClock(record.sent + timeout_);
    answer_ = {};
    token_count_ = 0;
    boost::asio::steady_timer timer(context_, record.sent + timeout_);
    timer.async_wait([&](const boost::system::error_code& error) {
      if (!error) connection_->Expire(RequestRecord::Clock::now());
    });
    const auto run = [&]() -> boost::asio::awaitable<void> {
      Exchange exchange(*connection_, record, &answer_, token_count_);
      co_await exchange.Run(call);
      timer.cancel();
    };
    boost::asio::co_spawn(context_, run(),
                          [](const std::exception_ptr& error) { ASSERT_EQ(error, nullptr); });
    context_.restart();
    context_.run();
    return record;
  }

  boost::asio::io_context context_;
  Target target_;
  std::chrono::milliseconds timeout_{30'000};
  std::optional<ScriptedServer> server_;
  std::optional<ClientConnection> connection_;
  weft::Answer answer_;
  int64_t token_count_ = 0;
};

TEST_F(ExchangeTest, MeasuresAStream) {
  Answer(WholeStream());
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.http_status, 200);
  EXPECT_EQ(record.id, "cmpl-7");
  EXPECT_EQ(record.finish_reason, "stop");
  EXPECT_EQ(record.prompt_tokens, 7);
  EXPECT_EQ(record.cached_tokens, 5);
  EXPECT_EQ(record.output_tokens, 3);
  EXPECT_EQ(record.server.queue_ms, 1);
  EXPECT_EQ(record.server.prefill_ms, 2);
  EXPECT_EQ(record.server.decode_ms, 3);
  EXPECT_EQ(answer_.text, "Hello world");
  EXPECT_LE(record.sent, record.header);
  EXPECT_LE(record.header, record.arrivals.front().time);
  EXPECT_LE(record.arrivals.back().time, record.end);
}

TEST_F(ExchangeTest, DoesNotMindHowTheBytesArrive) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    const std::string stream = WholeStream();
    for (const char& byte : stream) connection.Write({&byte, 1});
    connection.ReadRequest();
  });
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.output_tokens, 3);
  EXPECT_EQ(answer_.text, "Hello world");
}

TEST_F(ExchangeTest, TheHashIsThatOfTheTextHoweverItWasCut) {
  Answer(WholeStream());
  const uint64_t hash = Run().output_hash;
  Answer(std::string(kStreamHead) + StreamEvent(R"({"choices":[{"text":"Hello world"}]})") +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_EQ(Run().output_hash, hash);
  Answer(std::string(kStreamHead) + StreamEvent(R"({"choices":[{"text":"Hello World"}]})") +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_NE(Run().output_hash, hash);
}

TEST_F(ExchangeTest, TokensOfOneReadArriveTogether) {
  Answer(std::string(kStreamHead) + CountedEvent("a", 1) + CountedEvent("b", 2) +
         CountedEvent("c", 5) + StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_THAT(TokenCounts(Run()), ElementsAre(5));
}

TEST_F(ExchangeTest, CountsChunksWhereTheServerSaysNothing) {
  Answer(std::string(kStreamHead) + StreamEvent(kHello) + StreamEvent(kWorld) +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_EQ(Run().output_tokens, 2);
}

TEST_F(ExchangeTest, MeasuresAWholeResponse) {
  Answer(JsonResponse("200 OK", kWhole));
  const RequestRecord record = Run({.stream = false});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.prompt_tokens, 4);
  EXPECT_EQ(record.output_tokens, 2);
  EXPECT_EQ(record.id, "w");
  EXPECT_EQ(answer_.text, "Hi");
  EXPECT_THAT(record.arrivals, IsEmpty());
}

TEST_F(ExchangeTest, AnAnswerWithoutLengthEndsWithItsConnection) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write("HTTP/1.1 200 OK\r\nX-Request-Id: r1\r\n\r\n" + std::string(kWhole));
  });
  const RequestRecord record = Run({.stream = false});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.id, "r1");
  EXPECT_FALSE(connection_->is_open());
}

TEST_F(ExchangeTest, KeepsItsConnection) {
  std::atomic<int> connections = 0;
  Serve([&](ScriptedConnection& connection) {
    ++connections;
    while (!connection.ReadRequest().empty()) connection.Write(WholeStream());
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run().failure, "");
  EXPECT_EQ(connections, 1);
}

TEST_F(ExchangeTest, ConnectsAgainWhenTheServerClosedAnIdleConnection) {
  std::atomic<int> connections = 0;
  Serve([&](ScriptedConnection& connection) {
    ++connections;
    connection.ReadRequest();
    connection.Write(WholeStream());
  });
  for (int i = 0; i < 3; ++i) {
    const RequestRecord record = Run();
    EXPECT_EQ(record.failure, "") << record.failure_detail;
  }
  EXPECT_EQ(connections, 3);
}

TEST_F(ExchangeTest, NamesAnErrorStatusAndItsMessage) {
  Answer(JsonResponse("429 Too Many Requests", R"({"error":{"message":"queue full"}})"));
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "http 429");
  EXPECT_EQ(record.failure_detail, "queue full");
  EXPECT_EQ(record.http_status, 429);
  EXPECT_TRUE(connection_->is_open());
}

TEST_F(ExchangeTest, NamesAnErrorInTheStream) {
  Answer(std::string(kStreamHead) + StreamEvent(kHello) +
         StreamEvent(R"({"error":{"message":"step failed"}})"));
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "error in stream");
  EXPECT_EQ(record.failure_detail, "step failed");
  EXPECT_EQ(record.output_tokens, 1);
}

TEST_F(ExchangeTest, AStreamWithoutDoneHasFailed) {
  Answer(std::string(kStreamHead) + StreamEvent(kHello) + std::string(kStreamEnd));
  EXPECT_EQ(Run().failure, "cut stream");
}

TEST_F(ExchangeTest, AConnectionThatBreaksIsAFailureAtEveryPoint) {
  const std::string stream = WholeStream();
  for (const size_t cut : {size_t{0}, size_t{10}, kStreamHead.size(), stream.size() - 1}) {
    Serve([part = stream.substr(0, cut)](ScriptedConnection& connection) {
      connection.ReadRequest();
      connection.Write(part);
    });
    EXPECT_EQ(Run().failure, "connection lost") << "after " << cut << " bytes";
    EXPECT_FALSE(connection_->is_open());
  }
}

TEST_F(ExchangeTest, WhatIsNotHttpIsABadResponse) {
  for (const char* answer : {"SSH-2.0-OpenSSH_9.2\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Answer(answer);
    EXPECT_EQ(Run().failure, "bad response") << answer;
  }
}

TEST_F(ExchangeTest, WhatIsNotACompletionIsABadResponse) {
  Answer(JsonResponse("200 OK", "[]"));
  EXPECT_EQ(Run({.stream = false}).failure, "bad response");
}

TEST_F(ExchangeTest, AnEventWithoutEndIsABadResponse) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(kStreamHead);
    for (int i = 0; i < 80; ++i) {
      connection.Write("10000\r\n" + std::string(0x10000, 'x') + "\r\n");
    }
    connection.ReadRequest();
  });
  EXPECT_EQ(Run().failure, "bad response");
}

TEST_F(ExchangeTest, ASilentServerTimesOut) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.ReadRequest();  // until the client gives up
  });
  timeout_ = std::chrono::milliseconds(50);
  EXPECT_EQ(Run().failure, "timeout");
  EXPECT_FALSE(connection_->is_open());
}

TEST_F(ExchangeTest, NobodyListeningIsAFailureToConnect) {
  int closed_port = 0;
  {
    const ScriptedServer server([](ScriptedConnection&) {});
    closed_port = server.port();
  }
  Aim("http://127.0.0.1:" + std::to_string(closed_port));
  EXPECT_EQ(Run().failure, "connect");
}

TEST_F(ExchangeTest, CancelsAfterSoManyTokens) {
  std::promise<bool> closed;
  Serve([&](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(std::string(kStreamHead) + StreamEvent(kHello) + StreamEvent(kWorld));
    closed.set_value(connection.ReadRequest().empty());
  });
  const RequestRecord record = Run({.behaviour = Behaviour::kCancel, .behaviour_tokens = 2});
  EXPECT_TRUE(closed.get_future().get());
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.output_tokens, 2);
}

TEST_F(ExchangeTest, CancelsBeforeAnAnswer) {
  std::promise<bool> closed;
  Serve([&](ScriptedConnection& connection) {
    connection.ReadRequest();
    closed.set_value(connection.ReadRequest().empty());
  });
  EXPECT_EQ(Run({.behaviour = Behaviour::kCancel}).failure, "");
  EXPECT_TRUE(closed.get_future().get());
}

TEST_F(ExchangeTest, AStalledReaderGoesOn) {
  Answer(WholeStream());
  const RequestRecord record = Run({.behaviour = Behaviour::kStall,
                                    .behaviour_tokens = 1,
                                    .stall = std::chrono::milliseconds(5)});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.output_tokens, 3);
}

TEST_F(ExchangeTest, AServerMayGiveUpAStalledReader) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(std::string(kStreamHead) + StreamEvent(kHello));
  });
  const RequestRecord record = Run({.behaviour = Behaviour::kStall,
                                    .behaviour_tokens = 1,
                                    .stall = std::chrono::milliseconds(5)});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_FALSE(connection_->is_open());
}

TEST_F(ExchangeTest, WhatIsMalformedMustBeRefusedWithAnErrorObject) {
  const struct {
    std::string answer;
    const char* failure;
  } cases[] = {
      {JsonResponse("400 Bad Request", kRefusal), ""},
      {JsonResponse("422 Unprocessable", kRefusal), ""},
      {JsonResponse("400 Bad Request", "what?"), "malformed: no error object"},
      {JsonResponse("500 Internal Server Error", kRefusal), "http 500"},
      {JsonResponse("200 OK", kWhole), "malformed accepted"},
      {WholeStream(), "malformed accepted"},
      {"nonsense\r\n\r\n", "bad response"},
  };
  for (const auto& expected : cases) {
    Answer(expected.answer);
    EXPECT_EQ(Run({.behaviour = Behaviour::kMalformed}).failure, expected.failure)
        << expected.answer;
  }
}

}  // namespace
}  // namespace weft
