// One request and its answer, against a server that says what the test tells it to.
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
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

// With the poller that runs have, and with Asio alone, as TLS is read.
class ExchangeTest : public testing::TestWithParam<bool> {
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
    connection_.emplace(context_, target_, GetParam() ? &poller_ : nullptr);
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
  ReadPoller poller_{context_};
  Target target_;
  std::chrono::milliseconds timeout_{30'000};
  std::optional<ScriptedServer> server_;
  std::optional<ClientConnection> connection_;
  weft::Answer answer_;
  int64_t token_count_ = 0;
};

TEST_P(ExchangeTest, MeasuresAStream) {
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

TEST_P(ExchangeTest, DoesNotMindHowTheBytesArrive) {
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

TEST_P(ExchangeTest, TheHashIsThatOfTheTextHoweverItWasCut) {
  Answer(WholeStream());
  const uint64_t hash = Run().output_hash;
  Answer(std::string(kStreamHead) + StreamEvent(R"({"choices":[{"text":"Hello world"}]})") +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_EQ(Run().output_hash, hash);
  Answer(std::string(kStreamHead) + StreamEvent(R"({"choices":[{"text":"Hello World"}]})") +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_NE(Run().output_hash, hash);
}

TEST_P(ExchangeTest, TokensOfOneReadArriveTogether) {
  Answer(std::string(kStreamHead) + CountedEvent("a", 1) + CountedEvent("b", 2) +
         CountedEvent("c", 5) + StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_THAT(TokenCounts(Run()), ElementsAre(5));
}

TEST_P(ExchangeTest, CountsChunksWhereTheServerSaysNothing) {
  Answer(std::string(kStreamHead) + StreamEvent(kHello) + StreamEvent(kWorld) +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_EQ(Run().output_tokens, 2);
}

TEST_P(ExchangeTest, MeasuresAWholeResponse) {
  Answer(JsonResponse("200 OK", kWhole));
  const RequestRecord record = Run({.stream = false});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.prompt_tokens, 4);
  EXPECT_EQ(record.output_tokens, 2);
  EXPECT_EQ(record.id, "w");
  EXPECT_EQ(answer_.text, "Hi");
  EXPECT_THAT(record.arrivals, IsEmpty());
}

TEST_P(ExchangeTest, AnAnswerWithoutLengthEndsWithItsConnection) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write("HTTP/1.1 200 OK\r\nX-Request-Id: r1\r\n\r\n" + std::string(kWhole));
  });
  const RequestRecord record = Run({.stream = false});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.id, "r1");
  EXPECT_FALSE(connection_->is_open());
}

TEST_P(ExchangeTest, AStreamMayHaveALengthOrEndWithItsConnection) {
  std::string events;
  for (const std::string_view data : {kHello, kWorld, std::string_view("[DONE]")}) {
    events += "data: " + std::string(data) + "\n\n";
  }
  const std::string length = "Content-Length: " + std::to_string(events.size()) + "\r\n";
  for (const std::string& header : {length, std::string()}) {
    Serve([answer = fmt::format("HTTP/1.1 200 OK\r\n{}\r\n{}", header, events)](
              ScriptedConnection& connection) {
      connection.ReadRequest();
      connection.Write(answer);
    });
    const RequestRecord record = Run();
    EXPECT_EQ(record.failure, "") << record.failure_detail;
    EXPECT_EQ(record.output_tokens, 2);
    EXPECT_EQ(connection_->is_open(), !header.empty());
  }
}

TEST_P(ExchangeTest, ClosesAConnectionThatTheServerWantsToClose) {
  Answer("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
         StreamEvent("[DONE]") + std::string(kStreamEnd));
  EXPECT_EQ(Run().failure, "");
  EXPECT_FALSE(connection_->is_open());
}

// While the client stalls: then the end comes with bytes, and with no event of its own.
TEST_P(ExchangeTest, SeesAnEndThatComesWithBytes) {
  const std::string event = "data: " + std::string(kHello) + "\n\n";
  const std::string unframed = "HTTP/1.1 200 OK\r\n\r\n";
  for (const bool is_framed : {true, false}) {
    Serve([=](ScriptedConnection& connection) {
      connection.ReadRequest();
      const std::string token = is_framed ? StreamEvent(kHello) : event;
      connection.Write((is_framed ? std::string(kStreamHead) : unframed) + token);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      connection.Write(token);
    });
    const RequestRecord record = Run({.behaviour = Behaviour::kStall,
                                      .behaviour_tokens = 1,
                                      .stall = std::chrono::milliseconds(100)});
    EXPECT_EQ(record.output_tokens, 2);
    EXPECT_LT(record.end - record.sent, timeout_ / 2) << "it was waited for in vain";
  }
}

TEST_P(ExchangeTest, SaysWhoseAnswerIsTooLong) {
  Answer("HTTP/1.1 200 OK\r\nX-Request-Id: r1\r\nContent-Length: 99999999\r\n\r\n");
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "bad response");
  EXPECT_EQ(record.failure_detail, "an answer of 99999999 bytes");
  EXPECT_EQ(record.http_status, 200);
  EXPECT_EQ(record.id, "r1");
}

TEST_P(ExchangeTest, KeepsItsConnection) {
  std::atomic<int> connections = 0;
  Serve([&](ScriptedConnection& connection) {
    ++connections;
    while (!connection.ReadRequest().empty()) connection.Write(WholeStream());
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run().failure, "");
  EXPECT_EQ(connections, 1);
}

TEST_P(ExchangeTest, ConnectsAgainWhenTheServerClosedAnIdleConnection) {
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

TEST_P(ExchangeTest, NamesAnErrorStatusAndItsMessage) {
  Answer(JsonResponse("429 Too Many Requests", R"({"error":{"message":"queue full"}})"));
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "http 429");
  EXPECT_EQ(record.failure_detail, "queue full");
  EXPECT_EQ(record.http_status, 429);
  EXPECT_TRUE(connection_->is_open());
}

TEST_P(ExchangeTest, NamesAnErrorInTheStream) {
  Answer(std::string(kStreamHead) + StreamEvent(kHello) +
         StreamEvent(R"({"error":{"message":"step failed"}})"));
  const RequestRecord record = Run();
  EXPECT_EQ(record.failure, "error in stream");
  EXPECT_EQ(record.failure_detail, "step failed");
  EXPECT_EQ(record.output_tokens, 1);
}

TEST_P(ExchangeTest, AStreamWithoutDoneHasFailed) {
  Answer(std::string(kStreamHead) + StreamEvent(kHello) + std::string(kStreamEnd));
  EXPECT_EQ(Run().failure, "cut stream");
}

TEST_P(ExchangeTest, AConnectionThatBreaksIsAFailureAtEveryPoint) {
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

TEST_P(ExchangeTest, WhatIsNotHttpIsABadResponse) {
  for (const char* answer : {"SSH-2.0-OpenSSH_9.2\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Answer(answer);
    EXPECT_EQ(Run().failure, "bad response") << answer;
  }
}

TEST_P(ExchangeTest, WhatIsNotACompletionIsABadResponse) {
  Answer(JsonResponse("200 OK", "[]"));
  EXPECT_EQ(Run({.stream = false}).failure, "bad response");
}

TEST_P(ExchangeTest, AnEventWithoutEndIsABadResponse) {
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

TEST_P(ExchangeTest, WhatHasNoEndIsABadResponse) {
  const std::string head(kStreamHead), endless(200'000, 'x');
  const std::string cases[] = {
      "HTTP/1.1 200 " + endless,
      "HTTP/1.1 200 OK\r\nX-Long: " + endless,
      head + "1;name=" + endless,
      head + endless,
      head + StreamEvent("[DONE]") + "0\r\nTrailer: " + endless,
      head + "ffffffffffffffff\r\n" + endless,
      head + "fffffffffffffffff\r\n" + endless,
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + endless,
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + endless,
  };
  for (const std::string& answer : cases) {
    Answer(answer);
    EXPECT_EQ(Run().failure, "bad response") << answer.substr(0, 100);
    EXPECT_FALSE(connection_->is_open());
  }
}

TEST_P(ExchangeTest, WhatAServerSaysIsKeptWithinLimits) {
  const auto run_with = [&](const std::string& members) {
    Answer(std::string(kStreamHead) + StreamEvent("{" + members + "}") + StreamEvent("[DONE]") +
           std::string(kStreamEnd));
    return Run();
  };
  const std::string text = R"("choices":[{"text":"a"}],)";
  EXPECT_EQ(run_with(text + R"("usage":{"completion_tokens":999999999999})").failure,
            "bad response");
  EXPECT_EQ(run_with(text + R"("timings":{"predicted_n":1000000})").failure, "bad response");
  EXPECT_LE(run_with(text + R"("usage":{"prompt_tokens":999999999999999})").prompt_tokens.value(),
            1 << 30);
  const RequestRecord times =
      run_with(text + R"("timings":{"queue_ms":1e300,"prompt_ms":-1,"predicted_ms":1e999})");
  EXPECT_EQ(times.server.queue_ms, std::nullopt);
  EXPECT_EQ(times.server.prefill_ms, std::nullopt);
  EXPECT_EQ(times.server.decode_ms, std::nullopt);

  const std::string huge(1 << 20, 'i');
  const RequestRecord record =
      run_with(R"("id":")" + huge + R"(","choices":[{"finish_reason":")" + huge + R"("}])");
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_LE(record.id.size(), 256U);
  EXPECT_LE(record.finish_reason.size(), 256U);
  EXPECT_LE(run_with(R"("error":{"message":")" + huge + R"("})").failure_detail.size(), 1000U);
}

TEST_P(ExchangeTest, BytesOfAnyKindAreNoMatter) {
  const std::string nul("\0", 1);
  for (const std::string& garbage : {nul, std::string("\xff\xfe"), std::string("\x1b[2J")}) {
    Answer(std::string(kStreamHead) + StreamEvent(garbage) + std::string(kStreamEnd));
    EXPECT_EQ(Run().failure, "error in stream");
    Answer(garbage + " is not the beginning of an answer\r\n\r\n");
    EXPECT_EQ(Run().failure, "bad response");
    Answer("HTTP/1.1 500 No\r\nContent-Length: " + std::to_string(garbage.size()) + "\r\n\r\n" +
           garbage);
    EXPECT_EQ(Run().failure, "http 500");
  }
}

TEST_P(ExchangeTest, ASilentServerTimesOut) {
  const std::string until_closed = "HTTP/1.1 200 OK\r\n\r\ndata: " + std::string(kHello) + "\n\n";
  for (const std::string& begin : {std::string(), std::string(kStreamHead), until_closed}) {
    Answer(begin);
    timeout_ = std::chrono::milliseconds(50);
    EXPECT_EQ(Run().failure, "timeout") << "after " << begin;
    EXPECT_FALSE(connection_->is_open());
  }
  // Also one who stalls, if he reads again in time.
  for (const int stall_ms : {5, 5000}) {
    Answer(until_closed);
    const Call call = {.behaviour = Behaviour::kStall,
                       .behaviour_tokens = 1,
                       .stall = std::chrono::milliseconds(stall_ms)};
    EXPECT_EQ(Run(call).failure, stall_ms == 5 ? "timeout" : "");
  }
}

TEST_P(ExchangeTest, NobodyListeningIsAFailureToConnect) {
  int closed_port = 0;
  {
    const ScriptedServer server([](ScriptedConnection&) {});
    closed_port = server.port();
  }
  Aim("http://127.0.0.1:" + std::to_string(closed_port));
  EXPECT_EQ(Run().failure, "connect");
}

TEST_P(ExchangeTest, CancelsAfterSoManyTokens) {
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

TEST_P(ExchangeTest, CancelsBeforeAnAnswer) {
  std::promise<bool> closed;
  Serve([&](ScriptedConnection& connection) {
    connection.ReadRequest();
    closed.set_value(connection.ReadRequest().empty());
  });
  EXPECT_EQ(Run({.behaviour = Behaviour::kCancel}).failure, "");
  EXPECT_TRUE(closed.get_future().get());
}

TEST_P(ExchangeTest, AStalledReaderGoesOn) {
  Answer(WholeStream());
  const RequestRecord record = Run({.behaviour = Behaviour::kStall,
                                    .behaviour_tokens = 1,
                                    .stall = std::chrono::milliseconds(5)});
  EXPECT_EQ(record.failure, "") << record.failure_detail;
  EXPECT_EQ(record.output_tokens, 3);
}

TEST_P(ExchangeTest, AServerMayGiveUpAStalledReader) {
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

TEST_P(ExchangeTest, WhatIsMalformedMustBeRefusedWithAnErrorObject) {
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

INSTANTIATE_TEST_SUITE_P(WithAndWithoutPoller, ExchangeTest, testing::Bool());

}  // namespace
}  // namespace weft
