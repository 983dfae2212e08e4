// Plans carried out, against a server that says what the test tells it to.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <initializer_list>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/plan/render_prompt.h"
#include "loadtest/run/load_runner.h"
#include "tests/loadtest/scripted_server.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kWhole =
    R"({"choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}})";
constexpr std::string_view kModels = R"({"data":[{"id":"listed"}]})";

std::string TextEvent(std::string_view text) {
  return StreamEvent(R"({"choices":[{"text":")" + std::string(text) + R"("}]})");
}

std::string Stream(std::initializer_list<std::string_view> texts) {
  std::string stream(kStreamHead);
  for (const std::string_view text : texts) stream += TextEvent(text);
  return stream + StreamEvent("[DONE]") + std::string(kStreamEnd);
}

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

TEST(RunPlan, SendsWhatItWasGiven) {
  std::string head, body;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        head = request.substr(0, request.find("\r\n\r\n") + 2);
        body = BodyOf(request);
        connection.Write(JsonResponse("200 OK", kWhole));
      }));
  RunOptions options = OptionsFor(server);
  options.url += "/prefix/v1";
  options.api_key = "secret";
  options.headers = {"X-Team: blue"};
  options.extra_body = R"({"top_k":1,"user":"é"})";
  options.ignore_eos = true;
  options.endpoint = Endpoint::kChat;
  LoadPlan plan = PlanOf(1, 1);
  plan.requests[0].given_prompt = 0;
  plan.given_prompts = {
      {.text = "", .messages = {{.role = "system", .content = "\"be\"\n\xff"}, {"user", "hi"}}}};
  ASSERT_TRUE(RunPlan(plan, options));
  EXPECT_THAT(head, testing::StartsWith("POST /prefix/v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n"));
  EXPECT_THAT(head, HasSubstr("Authorization: Bearer secret\r\n"));
  EXPECT_THAT(head, HasSubstr("X-Team: blue\r\n"));
  EXPECT_EQ(nlohmann::json::parse(body), nlohmann::json::parse(R"({
    "model": "listed", "messages": [{"role": "system", "content": "\"be\"\n\ufffd"},
                                    {"role": "user", "content": "hi"}],
    "max_tokens": 4, "temperature": 0.0, "ignore_eos": true, "top_k": 1, "user": "é"})"));
}

TEST(RunPlan, AsksAStreamForItsUsage) {
  std::string body;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        body = BodyOf(request);
        connection.Write(Stream({"a", "b"}));
      }));
  RunOptions options = OptionsFor(server);
  options.stream = true;
  const Result<LoadRun> run = RunPlan(PlanOf(1, 1), options);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->records[0].failure, "") << run->records[0].failure_detail;
  EXPECT_EQ(run->records[0].output_tokens, 2);
  const auto sent = nlohmann::json::parse(body);
  EXPECT_EQ(sent["stream"], true);
  EXPECT_EQ(sent["stream_options"], nlohmann::json({{"include_usage", true}}));
}

TEST(RunPlan, OnlyServersThatAreKnownToTakeThemAreSentExtensions) {
  std::string body, owner;
  const ScriptedServer server([&](ScriptedConnection& connection) {
    for (std::string request; !(request = connection.ReadRequest()).empty();) {
      if (request.starts_with("GET")) {
        connection.Write(
            JsonResponse("200 OK", R"({"data":[{"id":"m","owned_by":")" + owner + R"("}]})"));
      } else {
        body = BodyOf(request);
        connection.Write(Stream({"a"}));
      }
    }
  });
  RunOptions options = OptionsFor(server);
  options.stream = true;
  const auto sent_to = [&](const char* name) {
    owner = name;
    EXPECT_TRUE(RunPlan(PlanOf(1, 1), options));
    return nlohmann::json::parse(body);
  };
  EXPECT_TRUE(sent_to("vllm")["stream_options"]["continuous_usage_stats"]);
  EXPECT_FALSE(sent_to("vllm").contains("timings"));
  EXPECT_TRUE(sent_to("weft")["timings"]);
  EXPECT_FALSE(sent_to("llamacpp").contains("timings"));
  EXPECT_FALSE(sent_to("llamacpp")["stream_options"].contains("continuous_usage_stats"));
}

// The first request is answered when the last one has come: only an open loop gets there.
TEST(RunPlan, AnOpenLoopWaitsForNobody) {
  constexpr int kRequests = 20;
  std::mutex mutex;
  std::condition_variable all_came;
  int came = 0;
  const ScriptedServer server(WithModels([&](ScriptedConnection& connection, const std::string&) {
    std::unique_lock lock(mutex);
    ++came;
    all_came.notify_all();
    all_came.wait(lock, [&] { return came == kRequests; });
    connection.Write(JsonResponse("200 OK", kWhole));
  }));
  LoadPlan plan = PlanOf(kRequests, /*users=*/0);
  for (int i = 0; i < kRequests; ++i) {
    plan.requests[static_cast<size_t>(i)].send_at = std::chrono::milliseconds(2 * i);
  }
  const Result<LoadRun> run = RunPlan(plan, OptionsFor(server));
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_THAT(run->records, SizeIs(kRequests));
  std::vector<RequestRecord> records = run->records;
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.request < b.request; });
  for (int i = 0; i < kRequests; ++i) {
    const RequestRecord& record = records[static_cast<size_t>(i)];
    EXPECT_TRUE(record.ok()) << record.failure;
    EXPECT_GE(record.sent, record.planned) << "never early";
    if (i > 0) {
      EXPECT_GE(record.sent, records[static_cast<size_t>(i) - 1].sent);
      EXPECT_EQ(record.planned - records[static_cast<size_t>(i) - 1].planned,
                std::chrono::milliseconds(2));
    }
  }
}

TEST(RunPlan, NothingIsSentAfterThePlansDuration) {
  const ScriptedServer server(WithModels([](ScriptedConnection& connection, const std::string&) {
    connection.Write(JsonResponse("200 OK", kWhole));
  }));
  LoadPlan plan = PlanOf(2, /*users=*/0);
  plan.requests[1].send_at = std::chrono::milliseconds(40);
  plan.duration = std::chrono::milliseconds(20);
  EXPECT_THAT(RunPlan(plan, OptionsFor(server))->records, SizeIs(1));
}

TEST(RunPlan, HundredsOfStreamsAreOpenAtATime) {
  constexpr int kStreams = 300;
  std::mutex mutex;
  std::condition_variable all_came;
  int came = 0;
  const ScriptedServer server(WithModels([&](ScriptedConnection& connection, const std::string&) {
    connection.Write(std::string(kStreamHead) + TextEvent("a"));
    {
      std::unique_lock lock(mutex);
      ++came;
      all_came.notify_all();
      all_came.wait(lock, [&] { return came == kStreams; });
    }
    connection.Write(TextEvent("b") + StreamEvent("[DONE]") + std::string(kStreamEnd));
  }));
  RunOptions options = OptionsFor(server);
  options.stream = true;
  const Result<LoadRun> run = RunPlan(PlanOf(kStreams, /*users=*/0), options);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_THAT(run->records, SizeIs(kStreams));
  for (const RequestRecord& record : run->records) {
    EXPECT_EQ(record.failure, "") << record.failure_detail;
    EXPECT_EQ(record.output_tokens, 2);
  }
}

TEST(RunPlan, NoMoreConnectionsThanAllowed) {
  std::atomic<int> connections = 0;
  const ScriptedServer server([&](ScriptedConnection& connection) {
    ++connections;
    WithModels([](ScriptedConnection& same, const std::string&) {
      same.Write(JsonResponse("200 OK", kWhole));
    })(connection);
  });
  RunOptions options = OptionsFor(server);
  options.max_connections = 2;
  const Result<LoadRun> run = RunPlan(PlanOf(40, /*users=*/0), options);
  ASSERT_TRUE(run);
  EXPECT_THAT(run->records, SizeIs(40));
  EXPECT_LE(connections, 3);  // one of them asked for the models
}

// Two turns; the first one's answer is part of the second one's request.
LoadPlan TwoTurns() {
  LoadPlan plan = PlanOf(2, 1);
  plan.requests[1].previous_turn = 0;
  plan.requests[1].pause = std::chrono::milliseconds(3);
  return plan;
}

TEST(RunPlan, AConversationSendsItsHistory) {
  std::vector<std::string> bodies;
  const ScriptedServer server(WithModels([&](ScriptedConnection& connection,
                                             const std::string& request) {
    bodies.push_back(BodyOf(request));
    connection.Write(JsonResponse(
        "200 OK", request.find("chat") != std::string::npos
                      ? R"({"choices":[{"message":{"content":"Aha","reasoning_content":"hm"}}]})"
                      : R"({"choices":[{"text":"Aha"}]})"));
  }));
  RunOptions options = OptionsFor(server);
  options.endpoint = Endpoint::kChat;
  const LoadPlan plan = TwoTurns();
  const Result<LoadRun> run = RunPlan(plan, options);
  ASSERT_TRUE(run);
  ASSERT_THAT(bodies, SizeIs(2));
  const auto first = nlohmann::json::parse(bodies[0])["messages"];
  const auto second = nlohmann::json::parse(bodies[1])["messages"];
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_EQ(second[1], nlohmann::json({{"role", "assistant"}, {"content", "Aha"}}));
  EXPECT_EQ(second[2]["role"], "user");
  EXPECT_EQ(run->records[1].planned - run->records[0].end >= plan.requests[1].pause, true);

  options.endpoint = Endpoint::kCompletions;
  bodies.clear();
  ASSERT_TRUE(RunPlan(plan, options));
  const std::string prompt = nlohmann::json::parse(bodies[1])["prompt"];
  EXPECT_EQ(prompt,
            RenderPrompt(plan, plan.requests[0]) + "Aha\n" + RenderPrompt(plan, plan.requests[1]));
}

TEST(RunPlan, TurnsAfterAFailedOneAreNotSentAndNotMissing) {
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

TEST(RunPlan, WarmsUpWithOtherPromptsThatAreNotRecorded) {
  std::mutex mutex;
  std::set<std::string> bodies;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        {
          const std::lock_guard lock(mutex);
          bodies.insert(BodyOf(request));
        }
        connection.Write(JsonResponse("200 OK", kWhole));
      }));
  RunOptions options = OptionsFor(server);
  options.warmup_requests = 5;
  const Result<LoadRun> run = RunPlan(PlanOf(10, 2), options);
  ASSERT_TRUE(run);
  EXPECT_THAT(run->records, SizeIs(10));
  EXPECT_THAT(bodies, SizeIs(15));
}

TEST(RunPlan, ASilentServerTimesOut) {
  const ScriptedServer server(WithModels([](ScriptedConnection& connection, const std::string&) {
    connection.ReadRequest();  // until the client gives up
  }));
  RunOptions options = OptionsFor(server);
  options.timeout_s = 0.02;
  const Result<LoadRun> run = RunPlan(PlanOf(2, 2), options);
  ASSERT_TRUE(run);
  ASSERT_THAT(run->records, SizeIs(2));
  for (const RequestRecord& record : run->records) EXPECT_EQ(record.failure, "timeout");
}

TEST(RunPlan, HostileRequestsAreNoSuccessesAndNoFailures) {
  const ScriptedServer server(WithModels([](ScriptedConnection& connection,
                                            const std::string& request) {
    const bool is_json = nlohmann::json::accept(BodyOf(request));
    const bool is_request = is_json && BodyOf(request).find("max_tokens") != std::string::npos;
    connection.Write(is_request ? Stream({"a", "b", "c"})
                                : JsonResponse("400 Bad Request", R"({"error":{"message":"no"}})"));
  }));
  RunOptions options = OptionsFor(server);
  options.stream = true;
  LoadPlan plan = PlanOf(9, 3);
  for (size_t i = 0; i < 6; ++i) plan.requests[i].behaviour = Behaviour::kMalformed;
  plan.requests[6].behaviour = Behaviour::kCancel;
  plan.requests[6].behaviour_tokens = 2;
  plan.requests[7].behaviour = Behaviour::kStall;
  plan.requests[7].stall = std::chrono::milliseconds(2);
  const Result<LoadRun> run = RunPlan(plan, options);
  ASSERT_TRUE(run);
  for (const RequestRecord& record : run->records) {
    EXPECT_EQ(record.failure, "") << record.request << ": " << record.failure_detail;
    EXPECT_EQ(record.hostile, record.request < 8);
  }
}

// Ten requests, answered alike, but for one whose text differs when it comes for the second time.
TEST(RunPlan, VerificationFindsOutputsThatDifferUnderLoad) {
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

TEST(RunPlan, AnInterruptedRunReportsWhatThereIs) {
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

TEST(RunPlan, TheClientsOwnLatenessAndCpuInvalidateARun) {
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
  EXPECT_GT(valid->client.lag_max_ms, 0);
  EXPECT_GT(valid->client.cpu_us_per_request, 0);
  options.max_lag_ms = 0;
  EXPECT_THAT(RunPlan(PlanOf(10, 0), options)->client.invalid, HasSubstr("--max-lag"));
  options.max_lag_ms = 1e9;
  options.max_cpu_share = 0;
  EXPECT_THAT(RunPlan(PlanOf(10, 0), options)->client.invalid, HasSubstr("--max-cpu"));
}

TEST(RunPlan, SaysWhyNothingCouldBeRun) {
  const ScriptedServer server(WithModels([](ScriptedConnection&, const std::string&) {}));
  const auto message = [&](const std::function<void(RunOptions&, LoadPlan&)>& change) {
    RunOptions options = OptionsFor(server);
    LoadPlan plan = TwoTurns();
    change(options, plan);
    const Result<LoadRun> run = RunPlan(plan, options);
    return run ? "ran" : run.error().message;
  };
  EXPECT_THAT(message([](auto& options, auto&) { options.url = "ftp://host"; }),
              HasSubstr("does not begin with http://"));
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

}  // namespace
}  // namespace weft
