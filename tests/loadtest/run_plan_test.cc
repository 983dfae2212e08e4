// Plans carried out, against a server that says what the test tells it to.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/run/load_runner.h"
#include "tests/loadtest/scripted_server.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kWhole =
    R"({"choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}})";
constexpr std::string_view kModels = R"({"data":[{"id":"listed"}]})";

// Answers a request for the models; everything else is the script's.
std::function<void(ScriptedConnection&)> WithModels(
    std::function<void(ScriptedConnection&, const std::string& request)> answer) {
  return [answer = std::move(answer)](ScriptedConnection& connection) {
    for (std::string request; !(request = connection.ReadRequest()).empty();) {
      if (request.starts_with("GET")) {
        connection.Write(JsonResponse("200 OK", kModels));
      } else {
        answer(connection, request);
      }
    }
  };
}

RunOptions OptionsFor(const ScriptedServer& server) {
  RunOptions options;
  options.url = server.url();
  options.stream = false;
  options.progress = false;
  return options;
}

LoadPlan PlanOf(int32_t request_count, int32_t users) {
  LoadPlan plan;
  plan.users = users;
  plan.profiles = {"test"};
  for (int32_t i = 0; i < request_count; ++i) {
    PlannedRequest request;
    request.segments = {{.seed = static_cast<uint64_t>(i + 1), .token_count = 8}};
    request.max_tokens = 4;
    plan.requests.push_back(request);
  }
  return plan;
}

std::string BodyOf(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

TEST(RunPlan, AClosedLoopSendsEveryRequestOnceAndNoMoreThanItsUsersAtATime) {
  std::mutex mutex;
  std::multiset<std::string> bodies;
  std::atomic<int> in_flight = 0;
  std::atomic<int> most_in_flight = 0;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
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
      }));
  const Result<LoadRun> run = RunPlan(PlanOf(20, 3), OptionsFor(server));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->records, SizeIs(20));
  EXPECT_TRUE(std::all_of(run->records.begin(), run->records.end(),
                          [](const RequestRecord& record) { return record.ok(); }));
  EXPECT_FALSE(run->interrupted);
  EXPECT_LE(most_in_flight, 3);
  EXPECT_THAT(std::set<std::string>(bodies.begin(), bodies.end()), SizeIs(20))
      << "every request has a prompt of its own";
}

TEST(RunPlan, GoesOnAfterFailures) {
  std::atomic<int> requests = 0;
  const ScriptedServer server(WithModels([&](ScriptedConnection& connection, const std::string&) {
    connection.Write(++requests % 2 == 0 ? JsonResponse("200 OK", kWhole)
                                         : JsonResponse("503 Service Unavailable", "{}"));
  }));
  const Result<LoadRun> run = RunPlan(PlanOf(20, 3), OptionsFor(server));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(std::count_if(run->records.begin(), run->records.end(),
                          [](const RequestRecord& record) { return record.ok(); }),
            10);
  EXPECT_THAT(run->records, SizeIs(20));
}

TEST(RunPlan, AsksForTheFirstModelUnlessOneIsNamed) {
  const ScriptedServer server(
      WithModels([](ScriptedConnection& connection, const std::string& request) {
        const bool is_named = request.find(R"("model":"named")") != std::string::npos;
        EXPECT_TRUE(is_named || request.find(R"("model":"listed")") != std::string::npos);
        connection.Write(JsonResponse("200 OK", kWhole));
      }));
  RunOptions options = OptionsFor(server);
  EXPECT_EQ(RunPlan(PlanOf(1, 1), options)->model, "listed");
  options.model = "named";
  EXPECT_EQ(RunPlan(PlanOf(1, 1), options)->model, "named");
}

TEST(RunPlan, SaysWhyNothingCouldBeRun) {
  RunOptions options;
  options.url = "ftp://host";
  const Result<LoadRun> run = RunPlan(PlanOf(1, 1), options);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("does not begin with http://"));
}

}  // namespace
}  // namespace weft
