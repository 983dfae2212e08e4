// Where long work is done, and what log probabilities may take.
#include "server/api/preparation.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/server_context.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(PreparationQueueTest, TheShortestIsNextAndWhatWaitsAges) {
  std::promise<void> released;
  std::vector<int> order;
  PreparationQueue queue(1);
  std::promise<void> begun;
  queue.Add({10, [&] {
               begun.set_value();
               released.get_future().wait();
             }});
  begun.get_future().wait();
  std::promise<void> more;
  queue.Add({500, [&] { order.push_back(500); }});
  queue.Add({200, [&] {  // from here on it is as if the one of 500 had 300
               order.push_back(200);
               queue.Add({301, [&] { order.push_back(301); }});
               queue.Add({299, [&] { order.push_back(299); }});
               more.set_value();
             }});
  released.set_value();
  more.get_future().wait();
  queue.Join();
  EXPECT_EQ(order, (std::vector<int>{200, 299, 500, 301}));
}

TEST(PreparationQueueTest, LongWorkLeavesAThreadForShortWork) {
  constexpr size_t kLong = PreparationQueue::kShortBytes + 1;
  std::promise<void> released;
  const std::shared_future<void> release = released.get_future().share();
  std::atomic<int> long_count = 0;
  PreparationQueue queue(2);
  for (int i = 0; i < 3; ++i) {
    queue.Add({kLong, [&] {
                 release.wait();
                 ++long_count;
               }});
  }
  std::promise<void> done;
  queue.Add({PreparationQueue::kShortBytes, [&] { done.set_value(); }});
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(long_count, 0);
  released.set_value();
  queue.Join();
  EXPECT_EQ(long_count, 3);
}

TEST(PreparationQueueTest, OneThreadTakesLongWorkToo) {
  int count = 0;
  PreparationQueue queue(1);
  for (int i = 0; i < 3; ++i) queue.Add({PreparationQueue::kShortBytes + 1, [&] { ++count; }});
  queue.Join();
  EXPECT_EQ(count, 3);
}

TEST(PreparationTest, WhatTheWorkThrowsComesOut) {
  boost::asio::io_context io;  // outlives the context's threads, which post to it
  const TestModel model;
  ServerContext context({}, RegistryOf({model.Served()}), model.metrics(), *Access::Load({}),
                        std::make_shared<Tracer>());
  const std::function<void()> work = [] { throw std::runtime_error("thrown"); };
  std::string caught;
  boost::asio::co_spawn(io, RunAnswering(context, 1 << 20, work), [&](std::exception_ptr failure) {
    try {
      std::rethrow_exception(std::move(failure));
    } catch (const std::exception& exception) {
      caught = exception.what();
    }
  });
  io.run();
  EXPECT_EQ(caught, "thrown");
}

TEST(PreparationTest, LargeAnswersArePutTogetherOffTheIoThreads) {
  boost::asio::io_context io;  // outlives the context's threads, which post to it
  const TestModel model;
  ServerOptions options;
  options.inline_body_bytes = 100;
  options.max_preparations = 0;  // bodies would be refused
  ServerContext context(options, RegistryOf({model.Served()}), model.metrics(),
                        *Access::Load(options), std::make_shared<Tracer>());
  for (const size_t answer_bytes : {100, 101}) {
    std::thread::id worker;
    const std::function<void()> work = [&] { worker = std::this_thread::get_id(); };
    boost::asio::co_spawn(io, RunAnswering(context, answer_bytes, work), boost::asio::detached);
    io.restart();
    io.run();
    EXPECT_NE(worker, std::thread::id());
    EXPECT_EQ(worker == std::this_thread::get_id(), answer_bytes == 100);
  }
}

TEST(PreparationTest, AnswersAreTheSameWhereverTheyArePutTogether) {
  for (const char* const stream : {"false", "true"}) {
    const std::string body =
        std::string(R"({"prompt":"abc","temperature":0,"echo":true,"logprobs":5,"stream":)") +
        stream + "}";
    ServerOptions options;
    const TestServer plain({}, options);
    options.inline_body_bytes = body.size();
    const TestServer off_thread({}, options);
    const auto choices_of = [&](const TestServer& server) {
      const std::string text = server.Post(body).body;
      return text.substr(text.find("\"choices\""));
    };
    if (stream == std::string("false")) {
      EXPECT_EQ(choices_of(plain), choices_of(off_thread));
    } else {
      EXPECT_EQ(SseData(plain.Post(body).body).size(), SseData(off_thread.Post(body).body).size());
    }
  }
}

ServerOptions WithRequestBytes(uint64_t size_bytes) {
  ServerOptions options;
  options.request_memory_bytes = size_bytes;
  return options;
}

std::string Prompt(int token_count) {
  std::string text = "[1";
  for (int i = 1; i < token_count; ++i) text += ",1";
  return R"({"prompt":)" + text + "]";
}

TEST(LogprobMemoryTest, WhatNeverFitsIsRefused) {
  // There is room for some 3,000 entries.
  const TestServer server({}, WithRequestBytes(1'000'000));
  EXPECT_EQ(server.Post(Prompt(100) + R"(,"prompt_logprobs":20})").status, 200);
  const RawResponse prompts = server.Post(Prompt(200) + R"(,"prompt_logprobs":20})");
  EXPECT_EQ(prompts.status, 400);
  EXPECT_EQ(ErrorOf(prompts)["param"], "prompt_logprobs");
  const std::string many = R"({"prompt":"a","max_tokens":200,"logprobs":20)";
  const RawResponse asked = server.Post(many + "}");
  EXPECT_EQ(asked.status, 400);
  EXPECT_EQ(ErrorOf(asked)["param"], "logprobs");
  EXPECT_THAT(ErrorOf(asked)["message"],
              HasSubstr("4200 log probabilities are more than the 3329 that this server has"));
  // A stream's go with its chunks.
  const RawResponse stream = server.Post(many + R"(,"stream":true})");
  EXPECT_EQ(stream.status, 200);
  EXPECT_THAT(stream.body, HasSubstr("data: [DONE]"));
}

TEST(LogprobMemoryTest, WhatIsNotGeneratedNeedsNone) {
  const TestServer server(Saying("Hello"), WithRequestBytes(120'000));
  const auto chat = [&](const std::string& fields) {
    return server.PostTo(
        "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":"Hi"}],"logprobs":true)" + fields + "}");
  };
  EXPECT_EQ(chat("").status, 200);  // as long as the context allows, but it is five letters
  RawResponse outgrown;
  // What the answer before held is given back when it has been written, a moment after it is read.
  EXPECT_TRUE(Eventually([&] {
    outgrown = chat(R"(,"top_logprobs":20)");
    return outgrown.status != 503;
  }));
  EXPECT_EQ(outgrown.status, 400);
  EXPECT_EQ(ErrorOf(outgrown)["param"], "top_logprobs");
  EXPECT_TRUE(
      Eventually([&] { return chat(R"(,"top_logprobs":20,"stream":true)").status == 200; }));
}

TEST(LogprobMemoryTest, AllAnswersTogether) {
  TestServer server({}, WithRequestBytes(1'000'000));
  server.model.HoldSteps();
  // 1,680 entries of 256 bytes.
  const std::string body = Prompt(20) + R"(,"echo":true,"logprobs":20,"n":4,"max_tokens":1})";
  RawClient first(server.port());
  first.Send(CompletionPost(body));
  ASSERT_TRUE(Eventually([&] { return server.model.steps() > 0; }));
  const RawResponse second = server.Post(body);
  EXPECT_EQ(second.status, 503);
  EXPECT_EQ(ErrorOf(second)["code"], "overloaded");
  server.model.ReleaseSteps();
  EXPECT_EQ(first.Read().status, 200);
  EXPECT_TRUE(Eventually([&] { return server.Post(body).status == 200; }));
}

}  // namespace
}  // namespace weft
