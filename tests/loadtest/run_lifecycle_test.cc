// How a run goes wrong, ends and is checked: failures, timeouts, interruption, verification,
// health.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "loadtest/plan/render_prompt.h"
#include "loadtest/run/client_health.h"
#include "loadtest/run/drive.h"
#include "tests/loadtest/run_fixture.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(RunLifecycle, GoesOnAfterFailures) {
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

TEST(RunLifecycle, TurnsAfterAFailedOneAreNotSentAndNotMissing) {
  std::atomic<int> requests = 0;
  const ScriptedServer server(WithModels([&](ScriptedConnection& connection, const std::string&) {
    ++requests;
    connection.Write(JsonResponse("500 Internal Server Error", "{}"));
  }));
  const Result<LoadRun> run = RunPlan(TwoTurns(), OptionsFor(server));
  ASSERT_TRUE(run);
  ASSERT_THAT(run->records, SizeIs(2));
  EXPECT_EQ(run->records[0].failure, "http 500");
  EXPECT_EQ(run->records[1].failure, "earlier turn failed");
  EXPECT_EQ(requests, 1);
}

TEST(RunLifecycle, ASilentServerTimesOut) {
  const ScriptedServer server(WithModels([](ScriptedConnection& connection, const std::string&) {
    connection.ReadRequest();  // until the client gives up
  }));
  RunOptions options = OptionsFor(server);
  options.timeout_s = 1;  // also of the request for the models, which is answered
  const Result<LoadRun> run = RunPlan(PlanOf(2, 2), options);
  ASSERT_TRUE(run);
  ASSERT_THAT(run->records, SizeIs(2));
  for (const RequestRecord& record : run->records) EXPECT_EQ(record.failure, "timeout");
}

// Ten requests, answered alike, but for one whose text differs when it comes for the second time.
TEST(RunLifecycle, VerificationFindsOutputsThatDifferUnderLoad) {
  std::mutex mutex;
  std::map<std::string, int> times;
  const LoadPlan plan = PlanOf(10, 3);
  const std::string unlucky = RenderPrompt(plan, plan.requests[2]);
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        const std::lock_guard lock(mutex);
        const bool again = ++times[BodyOf(request)] > 1;
        const bool differs = again && request.find(unlucky) != std::string::npos;
        connection.Write(Stream({"Hello", differs ? " moon" : " world"}));
      }));
  RunOptions options = OptionsFor(server);
  options.stream = true;
  const auto verify = [&](int64_t count) {
    times.clear();
    options.verify_count = count;
    return *RunPlan(plan, options);
  };
  const LoadRun two = verify(2);
  EXPECT_EQ(two.verified_count, 2);
  EXPECT_EQ(two.mismatch_count, 0);
  EXPECT_EQ(times.size(), 10u);

  const LoadRun all = verify(-1);
  EXPECT_EQ(all.verified_count, 10);
  EXPECT_EQ(all.mismatch_count, 1);
  for (const RequestRecord& record : all.records) {
    EXPECT_EQ(record.failure, record.request == 2 ? "wrong output" : "");
    if (record.request == 2) {
      EXPECT_EQ(record.failure_detail, R"(after 6 equal bytes, under load "world", alone "moon")");
    }
  }
}

TEST(RunLifecycle, AnInterruptedRunReportsWhatThereIs) {
  std::atomic<int> requests = 0;
  const ScriptedServer server(WithModels([&](ScriptedConnection& connection, const std::string&) {
    if (++requests == 4) {
      raise(SIGINT);
      connection.ReadRequest();  // no answer
    } else {
      connection.Write(JsonResponse("200 OK", kWhole));
    }
  }));
  const Result<LoadRun> run = RunPlan(PlanOf(20, 1), OptionsFor(server));
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->interrupted);
  EXPECT_THAT(run->records, SizeIs(3));
}

TEST(RunLifecycle, TheClientsOwnLatenessAndCpuInvalidateARun) {
  const ScriptedServer server(WithModels([](ScriptedConnection& connection, const std::string&) {
    connection.Write(JsonResponse("200 OK", kWhole));
  }));
  RunOptions options = OptionsFor(server);
  options.max_lag_ms = 1e9;
  options.max_cpu_share = 100;
  const Result<LoadRun> valid = RunPlan(PlanOf(10, 0), options);
  ASSERT_TRUE(valid);
  EXPECT_EQ(valid->client.invalid, "");
  EXPECT_GT(valid->client.cpu_s, 0);
  EXPECT_EQ(valid->client.sending.sample_count, 10);
  EXPECT_GT(valid->client.sending.max_ms, 0);
  EXPECT_GT(valid->client.cpu_us_per_request, 0);
  options.max_lag_ms = 0;
  EXPECT_THAT(RunPlan(PlanOf(10, 0), options)->client.invalid, HasSubstr("--max-lag"));
  options.max_lag_ms = 1e9;
  options.max_cpu_share = 0;
  EXPECT_THAT(RunPlan(PlanOf(10, 0), options)->client.invalid, HasSubstr("--max-cpu"));
}

TEST(ClientHealth, OneHiccupIsNoBottleneckAndAStallCountsForItsTime) {
  using std::chrono::milliseconds;
  const auto verdict = [](int64_t tick_count, std::initializer_list<int> lags_ms) {
    HealthMonitor monitor;
    for (int64_t i = 0; i < tick_count; ++i) monitor.AddTimerLag(milliseconds(1), milliseconds(5));
    for (const int lag : lags_ms) monitor.AddTimerLag(milliseconds(lag), milliseconds(5));
    RunOptions options;
    options.max_cpu_share = 100;  // the moment that this takes says nothing of the processor
    return monitor.Summarize({}, options).invalid;
  };
  EXPECT_EQ(verdict(0, {}), "");
  EXPECT_EQ(verdict(200, {}), "");
  EXPECT_EQ(verdict(200, {11}), "") << "0.5%";
  EXPECT_EQ(verdict(200, {20}), "") << "of 20 ms, the second half has more than 10 behind it";
  EXPECT_THAT(verdict(200, {60}), HasSubstr("--max-lag")) << "50 ms of a second";
  EXPECT_THAT(verdict(200, {12, 12, 12, 12, 12, 12}), HasSubstr("--max-lag"));
  EXPECT_EQ(verdict(2000, {60}), "") << "of ten seconds";
  EXPECT_THAT(verdict(2000, {400}), HasSubstr("--max-lag"));
}

// An open loop's client may send in time and be starved while its streams run.
TEST(ClientHealth, TimerAndSendingAreJudgedApart) {
  using std::chrono::milliseconds;
  HealthMonitor starved;
  for (int i = 0; i < 1000; ++i) starved.AddSendLag(milliseconds(1));
  for (int i = 0; i < 20; ++i) starved.AddTimerLag(milliseconds(40), milliseconds(5));
  const ClientHealth between = starved.Summarize({}, RunOptions());
  EXPECT_THAT(between.invalid, HasSubstr("of its timer"));
  EXPECT_THAT(between.invalid, Not(HasSubstr("of its requests")));
  EXPECT_EQ(between.timer.max_ms, 40);
  EXPECT_EQ(between.sending.max_ms, 1);
  EXPECT_EQ(between.sending.sample_count, 1000);

  HealthMonitor late;
  for (int i = 0; i < 20; ++i) late.AddSendLag(milliseconds(40));
  for (int i = 0; i < 10'000; ++i) late.AddTimerLag(milliseconds(1), milliseconds(5));
  EXPECT_THAT(late.Summarize({}, RunOptions()).invalid, HasSubstr("of its requests"));
}

// A client that is late because others have its core is not the bottleneck of the run; one that is
// late by what it does itself, and one that has no file descriptors, is.
TEST(ClientHealth, TheClientIsToBlameForWhatItDoesItself) {
  struct Case {
    double late_share, waiting_share, cpu_share;
    int64_t without_descriptor;
    std::string invalid;
    bool was_bottleneck;
  };
  const std::string late =
      "the client was more than 10.0 ms late (--max-lag) for 20.0% of its timer, 0.0 ms at the "
      "99th "
      "percentile";
  for (const Case& each : {
           Case{0, 0.9, 0.1, 0, "", false},
           Case{0.2, 0, 0.1, 0, late, true},
           Case{0.2, 0.19, 0.1, 0, late, true},
           Case{0.2, 0.25, 0.1, 0,
                late + "; it waited for a core for 25.0% of the run, and had one for 10.0%", false},
           Case{
               0.2, 0.25, 0.1, 3,
               late +
                   "; it waited for a core for 25.0% of the run, and had one for 10.0%; 3 requests "
                   "found no file descriptor (raise ulimit -n)",
               true},
           Case{0, 0.1, 0.85, 0,
                "the client's thread used 85% of its core, more than 80% (--max-cpu)", true},
       }) {
    ClientHealth health;
    health.timer.sample_count = 1000;
    health.timer.late_count = static_cast<int64_t>(each.late_share * 1000);
    health.waiting_share = each.waiting_share;
    health.cpu_share = each.cpu_share;
    JudgeClient(each.without_descriptor, RunOptions(), health);
    EXPECT_EQ(health.invalid, each.invalid);
    EXPECT_EQ(health.was_bottleneck, each.was_bottleneck) << each.invalid;
  }
}

// Its answer takes some ticks of the timer to come.
TEST(ClientHealth, TheTimerIsWatchedInBothLoops) {
  const ScriptedServer server(WithModels([](ScriptedConnection& connection, const std::string&) {
    std::this_thread::sleep_for(5 * kTick);
    connection.Write(JsonResponse("200 OK", kWhole));
  }));
  for (const int32_t users : {0, 1}) {
    const Result<LoadRun> run = RunPlan(PlanOf(1, users), OptionsFor(server));
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_GT(run->client.timer.sample_count, 0) << users;
    EXPECT_EQ(run->client.sending.sample_count, users == 0 ? 1 : 0);
  }
}

TEST(ClientHealth, TheLeastShareIsWilsons) {
  EXPECT_EQ(LeastShare(0, 0), 0);
  EXPECT_NEAR(LeastShare(0, 100), 0, 1e-12);
  EXPECT_NEAR(LeastShare(50, 100), 0.4190, 1e-3);
  EXPECT_NEAR(LeastShare(1, 10), 0.0231, 1e-3);
  EXPECT_NEAR(LeastShare(10'000, 1'000'000), 0.00984, 1e-4);
}

TEST(RunLifecycle, SaysWhyNothingCouldBeRun) {
  const ScriptedServer server(WithModels([](ScriptedConnection&, const std::string&) {}));
  const auto message = [&](const std::function<void(RunOptions&, LoadPlan&)>& change) {
    RunOptions options = OptionsFor(server);
    LoadPlan plan = TwoTurns();
    change(options, plan);
    const Result<LoadRun> run = RunPlan(plan, options);
    return run ? "ran" : run.error().message;
  };
  EXPECT_THAT(message([](auto& options, auto&) { options.url = "ftp://host"; }),
              HasSubstr("another scheme"));
  EXPECT_THAT(message([](auto& options, auto&) { options.url = "http://127.0.0.1:1"; }),
              HasSubstr("/v1/models: connect: "));
  EXPECT_THAT(message([](auto& options, auto&) {
                options.temperature = 0.5;
                options.verify_count = 1;
              }),
              HasSubstr("--temperature 0"));
  EXPECT_THAT(message([](auto& options, auto&) { options.extra_body = "[1]"; }),
              HasSubstr("--extra-body '[1]': expected a JSON object"));
  EXPECT_THAT(message([](auto& options, auto&) { options.extra_body = R"({"stream":true})"; }),
              HasSubstr("'stream'"));
  EXPECT_THAT(message([](auto& options, auto&) { options.headers = {"no colon"}; }),
              HasSubstr("--header 'no colon'"));
  EXPECT_THAT(message([](auto&, auto& plan) { plan.vocabulary_size = 100; }),
              HasSubstr("token ids"));
  EXPECT_THAT(message([](auto&, auto& plan) {
                plan.given_prompts = {{.text = "", .messages = {{"user", "hi"}}}};
              }),
              HasSubstr("--endpoint chat"));
  EXPECT_THAT(message([](auto&, auto& plan) { plan.users = 2'000'000'000; }),
              HasSubstr("file descriptors"));
}

// In a process of its own, since it cannot have its descriptors back.
TEST(RunLifecycle, DescriptorsMustDoForTheConnectionsThatThereCanBe) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto error = [](int32_t users, int32_t max_connections) {
    const ScriptedServer server(WithModels([](ScriptedConnection& connection, const std::string&) {
      connection.Write(JsonResponse("200 OK", kWhole));
    }));
    const rlimit few{.rlim_cur = 100, .rlim_max = 100};
    setrlimit(RLIMIT_NOFILE, &few);
    RunOptions options = OptionsFor(server);
    options.max_connections = max_connections;
    const Result<LoadRun> run = RunPlan(PlanOf(users, users), options);
    std::fprintf(stderr, "%s\n", run ? "ran" : run.error().message.c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(error(200, 4), testing::ExitedWithCode(0), "^ran");
  EXPECT_EXIT(error(4, 200), testing::ExitedWithCode(0), "^ran");
  EXPECT_EXIT(error(200, 0), testing::ExitedWithCode(0),
              "^200 connections need 232 file descriptors");
  EXPECT_EXIT(error(200, 300), testing::ExitedWithCode(0),
              "^200 connections need 232 file descriptors");
}

}  // namespace
}  // namespace weft
