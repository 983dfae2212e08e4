// What a plan's run sends, and when, against a server that says what the test tells it to.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/plan/render_prompt.h"
#include "tests/loadtest/run_fixture.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

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
  EXPECT_TRUE(sent_to("weft")["stream_options"]["continuous_usage_stats"]);
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
  plan.requests[1].send_at = std::chrono::milliseconds(510);
  plan.duration = std::chrono::milliseconds(500);
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

}  // namespace
}  // namespace weft
