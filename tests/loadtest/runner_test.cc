#include "loadtest/run/runner.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loadtest/scripted_server.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kWhole =
    R"({"choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}})";

LoadtestOptions OptionsFor(const ScriptedServer& server) {
  LoadtestOptions options;
  options.url = server.url();
  options.model = "m";
  options.stream = false;
  options.concurrency = 3;
  options.request_count = 20;
  return options;
}

std::string BodyOf(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

TEST(Runner, SendsEveryRequestOnceAndNoMoreThanAskedForAtATime) {
  std::mutex mutex;
  std::multiset<std::string> bodies;
  std::atomic<int> in_flight = 0;
  std::atomic<int> most_in_flight = 0;
  const ScriptedServer server([&](ScriptedConnection& connection) {
    for (std::string request; !(request = connection.ReadRequest()).empty();) {
      const int now = ++in_flight;
      int most = most_in_flight;
      while (now > most && !most_in_flight.compare_exchange_weak(most, now)) {
      }
      {
        const std::lock_guard lock(mutex);
        bodies.insert(BodyOf(request));
      }
      --in_flight;
      connection.Write(JsonResponse("200 OK", kWhole));
    }
  });
  LoadtestOptions options = OptionsFor(server);
  const Result<LoadtestRun> run = RunLoad(options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->results, SizeIs(20));
  EXPECT_TRUE(std::all_of(run->results.begin(), run->results.end(),
                          [](const RequestResult& result) { return result.ok(); }));
  EXPECT_FALSE(run->interrupted);
  EXPECT_LE(most_in_flight, 3);
  EXPECT_THAT(std::set<std::string>(bodies.begin(), bodies.end()), SizeIs(20))
      << "every request has a prompt of its own";
}

TEST(Runner, GoesOnAfterFailures) {
  std::atomic<int> requests = 0;
  const ScriptedServer server([&](ScriptedConnection& connection) {
    while (!connection.ReadRequest().empty()) {
      connection.Write(++requests % 2 == 0 ? JsonResponse("200 OK", kWhole)
                                           : JsonResponse("503 Service Unavailable", "{}"));
    }
  });
  LoadtestOptions options = OptionsFor(server);
  const Result<LoadtestRun> run = RunLoad(options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(std::count_if(run->results.begin(), run->results.end(),
                          [](const RequestResult& result) { return result.ok(); }),
            10);
  EXPECT_THAT(run->results, SizeIs(20));
}

TEST(Runner, AsksForTheModelOnlyIfNoneIsNamed) {
  const ScriptedServer server([&](ScriptedConnection& connection) {
    for (std::string request; !(request = connection.ReadRequest()).empty();) {
      if (request.starts_with("GET")) {
        connection.Write(JsonResponse("200 OK", R"({"data":[{"id":"listed"}]})"));
      } else {
        EXPECT_THAT(request, HasSubstr(R"("model":"listed")"));
        connection.Write(JsonResponse("200 OK", kWhole));
      }
    }
  });
  LoadtestOptions options = OptionsFor(server);
  options.model = "";
  options.request_count = 1;
  const Result<LoadtestRun> run = RunLoad(options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(options.model, "listed");
}

TEST(Runner, SaysWhyNothingCouldBeRun) {
  LoadtestOptions options;
  options.url = "ftp://host";
  const Result<LoadtestRun> run = RunLoad(options);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("does not begin with http://"));
}

}  // namespace
}  // namespace weft
