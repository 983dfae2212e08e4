// What a server does where memory is refused: one request suffers, and the others are served. A
// binary of its own, because it replaces operator new and aligned_alloc for all of it.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/preparation.h"
#include "server/api/preparation_queue.h"
#include "server/http/connection.h"
#include "server/http/server_context.h"
#include "tests/server/responses_requests.h"
#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace {

// The next allocation of so many bytes fails, on whatever thread.
std::atomic<size_t> refused_min_bytes{std::numeric_limits<size_t>::max()};
std::atomic<size_t> refused_max_bytes{0};

void RefuseNext(size_t min_bytes, size_t max_bytes) {
  refused_min_bytes = min_bytes;
  refused_max_bytes = max_bytes;
}
bool HasRefused() { return refused_max_bytes == 0; }

thread_local bool is_spared = false;

bool IsRefused(size_t size) {
  if (is_spared) return false;
  size_t max_bytes = refused_max_bytes;
  return size >= refused_min_bytes && size <= max_bytes &&
         refused_max_bytes.compare_exchange_strong(max_bytes, 0);
}

}  // namespace

void* operator new(size_t size) {
  if (IsRefused(size)) throw std::bad_alloc();
  if (void* const memory = std::malloc(std::max<size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}
// Temporary buffers of algorithms.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return IsRefused(size) ? nullptr : std::malloc(std::max<size_t>(size, 1));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
// Boost.Asio's operations.
extern "C" void* aligned_alloc(size_t alignment, size_t size) noexcept {
  void* memory = nullptr;
  return !IsRefused(size) && posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

namespace weft {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

TEST(OutOfMemoryTest, TheListenerGoesOn) {
  const TestServer server;
  testing::internal::CaptureStderr();
  RefuseNext(sizeof(Connection), sizeof(Connection) + 32);  // with what counts its owners
  RawClient refused(server.port());
  EXPECT_EQ(refused.ReadToEnd(), "");
  EXPECT_TRUE(HasRefused());
  RawClient client(server.port());
  client.Send(Get("/health"));
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("cannot accept a connection: std::bad_alloc"));
}

TEST(OutOfMemoryTest, ARequestIsAnsweredAndTheOthersGoOn) {
  constexpr size_t kLength = 50'000;
  const std::string body(kLength, 'x');
  const TestServer server;
  RawClient other(server.port());
  RawClient client(server.port());
  client.Send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n");
  testing::internal::CaptureStderr();
  RefuseNext(kLength, std::numeric_limits<size_t>::max());
  client.Send(body);
  const RawResponse answer = client.Read();
  EXPECT_TRUE(HasRefused());
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(ErrorOf(answer)["code"], "overloaded");
  EXPECT_EQ(ErrorOf(answer)["message"], "the server is out of memory; try again in a second");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(client.ReadToEnd(), "");
  other.Send(CompletionPost(R"({"prompt":"a"})"));
  EXPECT_EQ(other.Read().status, 200);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(": std::bad_alloc"));
}

// Whatever is refused: work is in the line as a whole or not at all.
TEST(OutOfMemoryTest, PreparationIsDoneOnceOrNotAtAll) {
  constexpr size_t kLargest = 256;  // of what is allocated for one
  std::vector<int> added(kLargest + 1);
  std::vector<std::atomic<int>> done(kLargest + 1);
  PreparationQueue queue(2);
  for (size_t size = 1; size <= kLargest; ++size) {
    RefuseNext(size, size);
    try {
      queue.Add({kLargest - size, [&, size] { ++done[size]; }});
      ++added[size];
    } catch (const std::bad_alloc&) {
      EXPECT_TRUE(HasRefused());
    }
    RefuseNext(std::numeric_limits<size_t>::max(), 0);
  }
  queue.Join();
  EXPECT_THAT(added, Contains(0));
  for (size_t size = 1; size <= kLargest; ++size) EXPECT_EQ(done[size], added[size]) << size;
}

TEST(OutOfMemoryTest, APreparationThreadBringsBackWhatItHasDone) {
  constexpr size_t kLargest = 1024;  // of what it allocates for that
  const TestModel model;
  boost::asio::io_context io;  // outlives the threads, which may still be in their post() to it
  ServerContext context({}, RegistryOf({model.Served()}), model.metrics(), *Access::Load({}),
                        std::make_shared<Tracer>());
  int refused_count = 0;
  is_spared = true;
  for (size_t size = 1; size <= kLargest; ++size) {
    const std::function<void()> work = [size] { RefuseNext(size, size); };
    bool is_back = false;
    boost::asio::co_spawn(io, RunAnswering(context, 1 << 20, work),
                          [&](const std::exception_ptr& failure) { is_back = failure == nullptr; });
    io.run();
    io.restart();
    EXPECT_TRUE(is_back);
    if (HasRefused()) ++refused_count;
    RefuseNext(std::numeric_limits<size_t>::max(), 0);
  }
  is_spared = false;
  EXPECT_GT(refused_count, 0);
}

TEST(OutOfMemoryTest, ABackgroundResponseFailsAlone) {
  constexpr size_t kLength = 100'000;
  TestServer server(Saying("Hello"));
  server.model.HoldSteps();
  const std::string tool = R"({"type":"function","name":"f","parameters":{},"description":")" +
                           std::string(kLength, 'x') + R"("})";
  const std::string id = Created(server, R"("background":true,"tools":[)" + tool + "]")["id"];
  RefuseNext(kLength, std::numeric_limits<size_t>::max());
  testing::internal::CaptureStderr();
  server.model.ReleaseSteps();
  ASSERT_TRUE(Eventually(HasRefused));
  const auto stored = [&] {
    RawClient client(server.port());
    client.Send(Get("/v1/responses/" + id));
    return json::parse(client.Read().body);
  };
  EXPECT_TRUE(Eventually([&] { return stored()["status"] == "failed"; }));
  EXPECT_EQ(stored()["error"]["code"], "internal_error");
  EXPECT_TRUE(Eventually([&] { return server.model.used_blocks() == 0; }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(id + ": std::bad_alloc"));
  EXPECT_EQ(Created(server, "")["status"], "completed");
}

}  // namespace
}  // namespace weft
