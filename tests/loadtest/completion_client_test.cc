#include "loadtest/run/completion_client.h"

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loadtest/scripted_server.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kHello =
    R"({"choices":[{"index":0,"text":"Hello","finish_reason":null}]})";
constexpr std::string_view kWorld =
    R"({"choices":[{"index":0,"text":" world","finish_reason":"stop"}]})";
constexpr std::string_view kUsage =
    R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}})";
constexpr std::string_view kWhole =
    R"({"choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}})";

std::string WholeStream() {
  return std::string(kStreamHead) + StreamEvent(kHello) + StreamEvent(kWorld) +
         StreamEvent(kUsage) + StreamEvent("[DONE]") + std::string(kStreamEnd);
}

class CompletionClientTest : public testing::Test {
 protected:
  void Serve(std::function<void(ScriptedConnection&)> script) {
    server_.emplace(std::move(script));
    Aim(server_->url());
  }

  void Aim(const std::string& url) {
    target_.url = ParseUrl(url).value();
    target_.addresses =
        boost::asio::ip::tcp::resolver(context_).resolve(target_.url.host, target_.url.port);
    target_.timeout = std::chrono::seconds(30);
    client_.emplace(context_.get_executor(), target_);
  }

  template <typename T>
  T Await(boost::asio::awaitable<T> coroutine) {
    std::optional<T> result;
    boost::asio::co_spawn(context_, std::move(coroutine),
                          [&](const std::exception_ptr& error, T value) {
                            ASSERT_EQ(error, nullptr);
                            result = std::move(value);
                          });
    context_.restart();
    context_.run();
    return std::move(result).value();
  }

  RequestResult Complete(bool stream = true) {
    CompletionCall call;
    call.model = "m";
    call.prompt = "Say hello";
    call.stream = stream;
    return Await(client_->Complete(std::move(call)));
  }

  boost::asio::io_context context_;
  Target target_;
  std::optional<ScriptedServer> server_;
  std::optional<CompletionClient> client_;
};

TEST_F(CompletionClientTest, MeasuresAStream) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(WholeStream());
  });
  const RequestResult result = Complete();
  EXPECT_EQ(result.failure, "") << result.failure_detail;
  EXPECT_EQ(result.prompt_tokens, 7);
  EXPECT_EQ(result.output_tokens, 3);
  EXPECT_THAT(result.text_arrivals, SizeIs(2));
  EXPECT_LE(result.begin, result.text_arrivals.front());
  EXPECT_LE(result.text_arrivals.back(), result.end);
}

TEST_F(CompletionClientTest, DoesNotMindHowTheBytesArrive) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    const std::string stream = WholeStream();
    for (const char& byte : stream) connection.Write({&byte, 1});
  });
  const RequestResult result = Complete();
  EXPECT_EQ(result.failure, "") << result.failure_detail;
  EXPECT_EQ(result.output_tokens, 3);
  EXPECT_THAT(result.text_arrivals, SizeIs(2));
}

TEST_F(CompletionClientTest, TimesEachChunkWhenItArrives) {
  Serve([&](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(std::string(kStreamHead) + StreamEvent(kHello));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    connection.Write(StreamEvent(kWorld) + StreamEvent("[DONE]") + std::string(kStreamEnd));
  });
  const RequestResult result = Complete();
  ASSERT_THAT(result.text_arrivals, SizeIs(2));
  EXPECT_GE(result.text_arrivals[1] - result.text_arrivals[0], std::chrono::milliseconds(25));
}

TEST_F(CompletionClientTest, CountsChunksWhereTheServerGivesNoUsage) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(std::string(kStreamHead) + StreamEvent(kHello) + StreamEvent(kWorld) +
                     StreamEvent("[DONE]") + std::string(kStreamEnd));
  });
  EXPECT_EQ(Complete().output_tokens, 2);
}

TEST_F(CompletionClientTest, MeasuresAWholeResponse) {
  Serve([](ScriptedConnection& connection) {
    EXPECT_THAT(connection.ReadRequest(), testing::Not(HasSubstr("stream")));
    connection.Write(JsonResponse("200 OK", kWhole));
  });
  const RequestResult result = Complete(/*stream=*/false);
  EXPECT_EQ(result.failure, "") << result.failure_detail;
  EXPECT_EQ(result.prompt_tokens, 4);
  EXPECT_EQ(result.output_tokens, 2);
  EXPECT_THAT(result.text_arrivals, IsEmpty());
}

TEST_F(CompletionClientTest, SendsWhatItWasGiven) {
  std::promise<std::string> request;
  Serve([&](ScriptedConnection& connection) {
    request.set_value(connection.ReadRequest());
    connection.Write(WholeStream());
  });
  target_.url.path = "/prefix";
  target_.api_key = "secret";
  Complete();
  const std::string text = request.get_future().get();
  EXPECT_THAT(text, testing::StartsWith("POST /prefix/v1/completions HTTP/1.1\r\n"));
  EXPECT_THAT(text, HasSubstr("Host: 127.0.0.1:" + std::to_string(server_->port()) + "\r\n"));
  EXPECT_THAT(text, HasSubstr("Authorization: Bearer secret\r\n"));
  EXPECT_THAT(text, HasSubstr(R"("prompt":"Say hello")"));
}

TEST_F(CompletionClientTest, KeepsItsConnection) {
  std::atomic<int> connections = 0;
  Serve([&](ScriptedConnection& connection) {
    ++connections;
    while (!connection.ReadRequest().empty()) connection.Write(WholeStream());
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Complete().failure, "");
  EXPECT_EQ(connections, 1);
}

TEST_F(CompletionClientTest, ConnectsAgainWhenTheServerClosedAnIdleConnection) {
  std::atomic<int> connections = 0;
  Serve([&](ScriptedConnection& connection) {
    ++connections;
    connection.ReadRequest();
    connection.Write(WholeStream());
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Complete().failure, "");
  EXPECT_EQ(connections, 3);
}

TEST_F(CompletionClientTest, NamesAnErrorStatusAndItsMessage) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(
        JsonResponse("429 Too Many Requests", R"({"error":{"message":"queue full"}})"));
    connection.ReadRequest();
    connection.Write(WholeStream());
  });
  const RequestResult result = Complete();
  EXPECT_EQ(result.failure, "http 429");
  EXPECT_EQ(result.failure_detail, "queue full");
}

TEST_F(CompletionClientTest, NamesAnErrorInTheStream) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(std::string(kStreamHead) + StreamEvent(kHello) +
                     StreamEvent(R"({"error":{"message":"step failed"}})"));
  });
  const RequestResult result = Complete();
  EXPECT_EQ(result.failure, "error in stream");
  EXPECT_EQ(result.failure_detail, "step failed");
}

TEST_F(CompletionClientTest, AStreamWithoutDoneHasFailed) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(std::string(kStreamHead) + StreamEvent(kHello) + std::string(kStreamEnd));
  });
  EXPECT_EQ(Complete().failure, "cut stream");
}

TEST_F(CompletionClientTest, AConnectionThatBreaksIsAFailureAtEveryPoint) {
  const std::string stream = WholeStream();
  for (const size_t cut : {size_t{0}, size_t{10}, kStreamHead.size(), stream.size() - 1}) {
    Serve([part = stream.substr(0, cut)](ScriptedConnection& connection) {
      connection.ReadRequest();
      connection.Write(part);
    });
    EXPECT_EQ(Complete().failure, "connection lost") << "after " << cut << " bytes";
  }
}

TEST_F(CompletionClientTest, WhatIsNotHttpIsAFailure) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  });
  EXPECT_EQ(Complete().failure, "connection lost");
}

TEST_F(CompletionClientTest, WhatIsNotACompletionIsAFailure) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(JsonResponse("200 OK", "[]"));
  });
  EXPECT_EQ(Complete(/*stream=*/false).failure, "bad response");
}

TEST_F(CompletionClientTest, ASilentServerTimesOut) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.ReadRequest();  // until the client gives up
  });
  target_.timeout = std::chrono::milliseconds(50);
  EXPECT_EQ(Complete().failure, "timeout");
}

TEST_F(CompletionClientTest, NobodyListeningIsAFailureToConnect) {
  int closed_port = 0;
  {
    const ScriptedServer server([](ScriptedConnection&) {});
    closed_port = server.port();
  }
  Aim("http://127.0.0.1:" + std::to_string(closed_port));
  EXPECT_EQ(Complete().failure, "connect");
}

TEST_F(CompletionClientTest, FindsTheFirstModel) {
  Serve([](ScriptedConnection& connection) {
    EXPECT_THAT(connection.ReadRequest(), testing::StartsWith("GET /v1/models HTTP/1.1\r\n"));
    connection.Write(JsonResponse("200 OK", R"({"data":[{"id":"tiny"},{"id":"other"}]})"));
  });
  EXPECT_EQ(Await(client_->FirstModel()).value(), "tiny");
}

TEST_F(CompletionClientTest, SaysWhyThereIsNoModel) {
  Serve([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Write(JsonResponse("401 Unauthorized", R"({"error":{"message":"no key"}})"));
  });
  const Result<std::string> model = Await(client_->FirstModel());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message, "/v1/models: http 401: no key");
}

}  // namespace
}  // namespace weft
