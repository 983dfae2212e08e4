// Plans as a whole: how many requests, when, with what, and the same ones every time.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/plan/plan_options.h"
#include "loadtest/plan/render_prompt.h"
#include "tests/loadtest/plan_fixture.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;

std::vector<double> SendTimes(const LoadPlan& plan) {
  std::vector<double> times;
  for (const PlannedRequest& request : plan.requests) {
    times.push_back(std::chrono::duration<double>(request.send_at).count());
  }
  return times;
}

TEST(Plan, IsAClosedLoopOfEightUsersByDefault) {
  const LoadPlan plan = PlanOf({});
  EXPECT_EQ(plan.users, 8);
  EXPECT_EQ(plan.requests.size(), 200);
  EXPECT_EQ(plan.profiles, std::vector<std::string>{"default"});
  std::set<std::string> prompts;
  for (const PlannedRequest& request : plan.requests) {
    EXPECT_EQ(request.max_tokens, 64);
    EXPECT_EQ(request.previous_turn, -1);
    EXPECT_EQ(request.behaviour, Behaviour::kNormal);
    const std::string prompt = RenderPrompt(plan, request);
    EXPECT_EQ(std::count(prompt.begin(), prompt.end(), ' '), 63);
    prompts.insert(prompt.substr(0, 40));  // no beginning that a prefix cache could use
  }
  EXPECT_EQ(prompts.size(), 200);
}

TEST(Plan, IsTheSameForTheSameOptionsOnEveryMachine) {
  const std::vector<std::string> arguments = {
      "--rate",       "20",          "--arrivals", "gamma", "--burstiness",    "0.5",
      "--ramp",       "3s",          "--seed",     "7",     "--prompt-tokens", "lognormal:200,100",
      "--max-tokens", "normal:50,10"};
  EXPECT_EQ(HashOf(PlanOf(arguments)), HashOf(PlanOf(arguments)));
  EXPECT_EQ(HashOf(PlanOf(arguments)), 3054319298202988754u);
  std::vector<std::string> other = arguments;
  other[9] = "8";
  EXPECT_NE(HashOf(PlanOf(other)), HashOf(PlanOf(arguments)));
}

TEST(Plan, SendsTheSamePromptsHoweverTheyArrive) {
  const LoadPlan closed = PlanOf({"--requests", "20"});
  const LoadPlan open = PlanOf({"--requests", "20", "--rate", "5"});
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(RenderPrompt(open, open.requests[i]), RenderPrompt(closed, closed.requests[i]));
  }
}

TEST(Plan, EndsByCountOrTimeWhicheverIsFirst) {
  EXPECT_EQ(PlanOf({"--rate", "10", "--arrivals", "constant", "--duration", "3s"}).requests.size(),
            30);
  const LoadPlan by_count = PlanOf({"--rate", "10", "--duration", "3s", "--requests", "5"});
  EXPECT_EQ(by_count.requests.size(), 5);
  EXPECT_EQ(by_count.duration, seconds(3));
  // A closed loop's users stop by the clock: the list is longer than they can get through.
  const LoadPlan closed = PlanOf({"--concurrency", "4", "--duration", "10s"});
  EXPECT_EQ(closed.requests.size(), 4 + 4 * 500 * 10);
  EXPECT_EQ(closed.duration, seconds(10));
  EXPECT_EQ(PlanOf({"--concurrency", "50", "--duration", "2s"}).requests.size(), 50 + 5000 * 2);
}

TEST(Plan, ConstantArrivalsAreEquallySpaced) {
  const LoadPlan plan = PlanOf({"--rate", "4", "--arrivals", "constant", "--requests", "4"});
  EXPECT_EQ(plan.users, 0);
  EXPECT_THAT(SendTimes(plan), testing::ElementsAre(0, 0.25, 0.5, 0.75));
}

TEST(Plan, RampGrowsTheRateLinearly) {
  const LoadPlan plan =
      PlanOf({"--rate", "10", "--arrivals", "constant", "--ramp", "20s", "--duration", "30s"});
  const std::vector<double> times = SendTimes(plan);
  const auto before = [&](double time) {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  };
  EXPECT_NEAR(before(10), 25, 1);  // 10 t^2 / (2 * 20)
  EXPECT_NEAR(before(20), 100, 1);
  EXPECT_NEAR(before(30), 200, 1);  // and 10 a second from there
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST(Plan, PromptsAsTokenIdsHaveExactLengths) {
  const LoadPlan plan = PlanOf({"--vocabulary-size", "1000", "--prompt-tokens", "5-9"});
  for (const PlannedRequest& request : plan.requests) {
    const std::string ids = RenderPromptIds(plan, request);
    const std::vector<int> values = nlohmann::json::parse(ids).get<std::vector<int>>();
    EXPECT_EQ(values.size(), static_cast<size_t>(request.segments[0].token_count));
    EXPECT_THAT(values, testing::Each(testing::AllOf(testing::Ge(250), testing::Lt(750))));
  }
}

TEST(Plan, OptionsThatMakeNoSenseAreRefused) {
  const auto error = [](const std::vector<std::string>& arguments) { return PlanError(arguments); };
  EXPECT_THAT(error({"--rate", "0"}), HasSubstr("--rate: 0 is not between 1e-06 and 1000000"));
  EXPECT_THAT(error({"--rate", "nan"}), HasSubstr("--rate: nan is not between"));
  EXPECT_THAT(error({"--rate", "1", "--concurrency", "2"}),
              HasSubstr("--concurrency excludes --rate"));
  EXPECT_THAT(error({"--concurrency", "0"}),
              HasSubstr("--concurrency: 0 is not between 1 and 100000"));
  EXPECT_THAT(error({"--requests", "2000001"}),
              HasSubstr("--requests: 2000001 is not between 1 and 2000000"));
  EXPECT_THAT(error({"--rate", "1", "--burstiness", "0"}),
              HasSubstr("--burstiness: 0 is not between"));
  EXPECT_THAT(error({"--arrivals", "gamma"}),
              HasSubstr("--arrivals and --burstiness are of --rate"));
  EXPECT_THAT(error({"--rate", "1", "--arrivals", "constant", "--burstiness", "2"}),
              HasSubstr("--burstiness is of gamma arrivals"));
  EXPECT_THAT(error({"--rate", "1", "--arrivals", "weibull"}), HasSubstr("weibull"));
  EXPECT_THAT(error({"--vocabulary-size", "3"}),
              HasSubstr("--vocabulary-size: 3 is not between 4"));
  EXPECT_THAT(error({"--duration", "3 days"}), HasSubstr("--duration: '3 days' is not a time"));
  EXPECT_THAT(error({"--prompt-tokens", "0"}), HasSubstr("--prompt-tokens: '0' is not a length"));
  EXPECT_THAT(
      error({"--rate", "1", "--arrivals", "constant", "--duration", "0.1ms", "--ramp", "1s"}), "");
  EXPECT_THAT(error({"--rate", "1000000", "--arrivals", "constant", "--duration", "3s"}),
              HasSubstr("these options make more than 2000000 requests: expected --requests"));
  EXPECT_THAT(error({"--prompt", "hi", "--prompt-tokens", "5"}), HasSubstr("excludes"));
  EXPECT_THAT(error({"--prompt", ""}), HasSubstr("--prompt: expected a text"));
  EXPECT_THAT(error({"--rate", "0.001", "--duration", "1us"}),
              HasSubstr("--duration ends before the first request"));
}

}  // namespace
}  // namespace weft
