// Every figure of a report against requests whose figures were computed by hand.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/report/objectives.h"
#include "loadtest/report/summary.h"
#include "tests/loadtest/report_records.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Distribution, PercentilesAreSamplesByNearestRank) {
  std::vector<double> samples(2000);
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // 2000, 1999, ... 1
  const Distribution d = Summarize(samples);
  EXPECT_EQ(d.sample_count, 2000);
  EXPECT_DOUBLE_EQ(d.mean, 1000.5);
  EXPECT_NEAR(d.stddev, 577.494589, 1e-6);  // sqrt(n (n + 1) / 12)
  EXPECT_EQ(d.p50, 1000);
  EXPECT_EQ(d.p90, 1800);
  EXPECT_EQ(d.p95, 1900);
  EXPECT_EQ(d.p99, 1980);
  EXPECT_EQ(d.p999, 1998);
  EXPECT_EQ(d.max, 2000);
}

TEST(Distribution, FewSamplesAreNoSpecialCase) {
  EXPECT_EQ(Summarize(std::vector<double>()).sample_count, 0);
  const Distribution one = Summarize({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p999, 7);
  EXPECT_EQ(one.stddev, 0);
  EXPECT_EQ(Summarize({1, 2}).p50, 1);
  EXPECT_EQ(Summarize({1, 2}).p90, 2);
  EXPECT_DOUBLE_EQ(Summarize({1, 3}).stddev, std::sqrt(2.0));
}

TEST(Latency, CountsFromThePlannedTimeAndFromSending) {
  const RequestRecord record = StreamAt(1000, 20, {{1100}, {1110}, {1140, 3}});
  EXPECT_EQ(LatencyOf(record, Metric::kFirstToken), 100);
  EXPECT_EQ(LatencyOf(record, Metric::kFirstTokenSent), 80);
  EXPECT_EQ(LatencyOf(record, Metric::kEndToEnd), 145);
  EXPECT_EQ(LatencyOf(record, Metric::kEndToEndSent), 125);
  EXPECT_EQ(LatencyOf(record, Metric::kPerToken), 10);  // 40 ms for 5 - 1 tokens
  EXPECT_EQ(LatencyOf(record, Metric::kQueue), std::nullopt);
}

TEST(Latency, WhatARequestDoesNotHaveIsNoSample) {
  RequestRecord whole = StreamAt(0, 0, {});
  whole.output_tokens = 5;  // not streamed
  EXPECT_EQ(LatencyOf(whole, Metric::kFirstToken), std::nullopt);
  EXPECT_EQ(LatencyOf(whole, Metric::kPerToken), std::nullopt);
  EXPECT_EQ(LatencyOf(whole, Metric::kEndToEnd), 0);
  EXPECT_EQ(LatencyOf(StreamAt(0, 0, {{50}}), Metric::kPerToken), std::nullopt);
}

TEST(Latency, GapsAreCountedByToken) {
  std::vector<double> samples;
  AppendInterToken(StreamAt(0, 0, {{100, 2}, {110}, {140, 3}}), samples);
  EXPECT_THAT(samples, ElementsAre(10, 10, 10, 10));
  samples.clear();
  AppendInterToken(StreamAt(0, 0, {{100, 7}}), samples);
  EXPECT_TRUE(samples.empty()) << "what comes with the first token has no gap";
}

// Two profiles; two seconds from the first sending to the last end.
LoadRun RunOfFive() {
  LoadRun run;
  run.records.push_back(StreamAt(1000, 0, {{1100}, {1110}, {1140, 3}}));  // 5 tokens
  run.records.push_back(FailedAt(1200, 1300, "http 500", ""));
  run.records.push_back(FailedAt(1250, 1350, "http 500", "out of luck"));
  run.records.push_back(StreamAt(2000, 10, {{2060}, {2995}}));  // 2 tokens, ends at 3000
  RequestRecord hostile = FailedAt(1500, 1600, "", "");
  hostile.hostile = true;
  hostile.request = 2;
  hostile.http_status = 400;
  run.records.push_back(hostile);
  run.records[0].server = {.queue_ms = 7, .prefill_ms = 60, .decode_ms = 45};
  run.records[0].cached_tokens = 4;
  run.records[3].profile = 1;
  run.records[3].finish_reason = "stop";
  return run;
}

LoadPlan PlanOfFive() {
  LoadPlan plan;
  plan.requests.resize(5);
  plan.requests[2].behaviour = Behaviour::kMalformed;
  plan.profiles = {"chat", "batch"};
  return plan;
}

TEST(Summary, DerivesEveryFigureFromTheSuccesses) {
  const LoadSummary summary = Summarize(RunOfFive(), PlanOfFive());
  EXPECT_DOUBLE_EQ(summary.duration_s, 2);
  const GroupSummary& all = summary.all;
  EXPECT_EQ(all.succeeded, 2);
  EXPECT_EQ(all.failed, 2);
  EXPECT_EQ(all.hostile, 1);
  EXPECT_DOUBLE_EQ(all.error_rate(), 0.5) << "hostile requests are no errors";
  EXPECT_EQ(all.failures.at("http 500").count, 2);
  EXPECT_EQ(all.failures.at("http 500").example, "out of luck");
  EXPECT_EQ(all.prompt_tokens, 20);
  EXPECT_EQ(all.cached_tokens, 4);
  EXPECT_EQ(all.output_tokens, 7);
  EXPECT_DOUBLE_EQ(all.requests_per_s, 1);
  EXPECT_EQ(all.prompt_tokens_per_s, 10);
  EXPECT_DOUBLE_EQ(all.output_tokens_per_s, 3.5);
  EXPECT_EQ(all.finish_reasons.at("length"), 1);
  EXPECT_EQ(all.finish_reasons.at("stop"), 1);

  const Latencies& latencies = all.latencies;
  EXPECT_DOUBLE_EQ(latencies[Metric::kFirstToken].mean, 80);
  EXPECT_DOUBLE_EQ(latencies[Metric::kFirstTokenSent].mean, 75);
  EXPECT_EQ(latencies[Metric::kPerToken].sample_count, 2);
  EXPECT_DOUBLE_EQ(latencies[Metric::kPerToken].max, 935);
  EXPECT_EQ(latencies[Metric::kInterToken].sample_count, 5);
  EXPECT_DOUBLE_EQ(latencies[Metric::kInterToken].mean, (10 + 3 * 10 + 935) / 5.0);
  EXPECT_DOUBLE_EQ(latencies[Metric::kEndToEnd].max, 1000);
  EXPECT_DOUBLE_EQ(latencies[Metric::kEndToEndSent].max, 990);
  EXPECT_EQ(latencies[Metric::kQueue].sample_count, 1);
  EXPECT_DOUBLE_EQ(latencies[Metric::kQueue].p50, 7);
  EXPECT_DOUBLE_EQ(latencies[Metric::kPrefill].p50, 60);
  EXPECT_DOUBLE_EQ(latencies[Metric::kDecode].p50, 45);
  EXPECT_EQ(summary.hostile.at("malformed: http 400"), 1);
}

TEST(Summary, TellsProfilesApart) {
  const LoadSummary summary = Summarize(RunOfFive(), PlanOfFive());
  ASSERT_EQ(summary.profiles.size(), 2U);
  EXPECT_EQ(summary.profiles[0].name, "chat");
  EXPECT_EQ(summary.profiles[0].figures.succeeded, 1);
  EXPECT_EQ(summary.profiles[0].figures.failed, 2);
  EXPECT_EQ(summary.profiles[1].figures.output_tokens, 2);
  EXPECT_DOUBLE_EQ(summary.profiles[1].figures.output_tokens_per_s, 1);

  LoadPlan one;
  one.profiles = {"all"};
  EXPECT_TRUE(Summarize(RunOfFive(), one).profiles.empty());
}

TEST(Summary, SteadyStateIsFromTheRampToTheLastSending) {
  LoadPlan plan = PlanOfFive();
  plan.ramp = std::chrono::milliseconds(110);
  const SteadyState steady = Summarize(RunOfFive(), plan).steady;
  ASSERT_TRUE(steady.exists());
  EXPECT_DOUBLE_EQ(steady.begin_s, 0.11);
  EXPECT_DOUBLE_EQ(steady.end_s, 1.01);
  EXPECT_DOUBLE_EQ(steady.requests_per_s, 1 / 0.9);       // the first one ended in it
  EXPECT_DOUBLE_EQ(steady.output_tokens_per_s, 4 / 0.9);  // all of its tokens but the first

  plan.ramp = std::chrono::seconds(5);
  EXPECT_FALSE(Summarize(RunOfFive(), plan).steady.exists());
}

TEST(Summary, SteadyTokensAreSpreadWhereTheServerCountsMoreThanArrived) {
  LoadRun run;
  run.records.push_back(StreamAt(0, 0, {{100}, {2000}}));
  run.records[0].output_tokens = 10;
  run.records.push_back(StreamAt(1000, 0, {{1500}}));
  const SteadyState steady = Summarize(run, LoadPlan()).steady;
  EXPECT_DOUBLE_EQ(steady.output_tokens_per_s, 5);
}

TEST(Summary, CountsRequestsInFlight) {
  LoadRun run;
  run.records.push_back(StreamAt(0, 0, {{95}}));     // 0 to 100
  run.records.push_back(StreamAt(50, 0, {{195}}));   // 50 to 200
  run.records.push_back(StreamAt(100, 0, {{195}}));  // begins when the first one ends
  const LoadSummary summary = Summarize(run, LoadPlan());
  EXPECT_EQ(summary.peak_in_flight, 2);
  EXPECT_DOUBLE_EQ(summary.mean_in_flight, 350.0 / 200);
}

TEST(Summary, OfNothingIsNothing) {
  const LoadSummary summary = Summarize(LoadRun(), LoadPlan());
  EXPECT_EQ(summary.all.succeeded, 0);
  EXPECT_EQ(summary.all.error_rate(), 0);
  EXPECT_EQ(summary.duration_s, 0);
  EXPECT_FALSE(summary.steady.exists());
}

TEST(Objectives, AreReadWithTheirUnits) {
  const auto objectives = ParseObjectives(
      "ttft_p99=500ms,itl_mean=1.5s,ttft_sent_p99.9=250us,error_rate=1%,e2e_p50=2m");
  ASSERT_TRUE(objectives) << objectives.error().message;
  ASSERT_EQ(objectives->size(), 5U);
  EXPECT_EQ((*objectives)[0].metric, Metric::kFirstToken);
  EXPECT_EQ((*objectives)[0].statistic, &Distribution::p99);
  EXPECT_DOUBLE_EQ((*objectives)[0].limit, 500);
  EXPECT_EQ((*objectives)[1].metric, Metric::kInterToken);
  EXPECT_DOUBLE_EQ((*objectives)[1].limit, 1500);
  EXPECT_EQ((*objectives)[2].metric, Metric::kFirstTokenSent);
  EXPECT_EQ((*objectives)[2].statistic, &Distribution::p999);
  EXPECT_DOUBLE_EQ((*objectives)[2].limit, 0.25);
  EXPECT_EQ((*objectives)[3].metric, std::nullopt);
  EXPECT_DOUBLE_EQ((*objectives)[3].limit, 0.01);
  EXPECT_DOUBLE_EQ((*objectives)[4].limit, 120'000) << "times are written as everywhere";
}

TEST(Objectives, MistakesAreNamed) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"", "expected NAME=LIMIT"},
      {"ttft_p99", "'ttft_p99': expected NAME=LIMIT"},
      {"ttft_p99=500ms,", "'': expected NAME=LIMIT"},
      {"ttft=500ms", "'ttft': expected METRIC_STATISTIC"},
      {"speed_p99=500ms", "'speed_p99': expected METRIC_STATISTIC, METRIC one of ttft, "},
      {"ttft_p98=500ms", "expected mean, p50, p90, p95, p99, p99.9 or max, found 'p98'"},
      {"ttft_p99=500", "'500': expected a time with a unit, such as 500ms"},
      {"ttft_p99=500.", "'500.': expected a time with a unit"},
      {"ttft_p99=", "'': expected a time with a unit"},
      {"ttft_p99=5 ms", "'5 ms' is not a time"},
      {"ttft_p99=-5ms", "'-5ms' is not between 0 and 1000h"},
      {"ttft_p99=nanms", "'nanms' is not between 0 and 1000h"},
      {"error_rate=120%", "'120%' is not a share: expected 0% to 100%, or 0 to 1"},
      {"error_rate=5ms", "'5ms' is not a share"},
  };
  for (const auto& expected : cases) {
    const auto objectives = ParseObjectives(expected.text);
    ASSERT_FALSE(objectives) << expected.text;
    EXPECT_THAT(objectives.error().message, HasSubstr(expected.says));
  }
  EXPECT_FALSE(ParseRequestLimits("itl=5ms")) << "a request has many";
  EXPECT_FALSE(ParseRequestLimits("ttft_p99=5ms"));
}

TEST(Objectives, AreMetOrMissedOrWithoutSample) {
  const GroupSummary figures = Summarize(RunOfFive(), PlanOfFive()).all;
  const auto results = CheckObjectives(
      ParseObjectives("ttft_max=100ms,ttft_max=99.9ms,error_rate=50%,error_rate=0.49").value(),
      figures);
  EXPECT_TRUE(results[0].met);
  EXPECT_DOUBLE_EQ(results[0].measured.value(), 100);
  EXPECT_FALSE(results[1].met);
  EXPECT_TRUE(results[2].met);
  EXPECT_FALSE(results[3].met);

  const auto unsampled =
      CheckObjectives(ParseObjectives("ttft_p99=1s,error_rate=1%").value(), GroupSummary());
  EXPECT_FALSE(unsampled[0].met);
  EXPECT_EQ(unsampled[0].measured, std::nullopt);
  EXPECT_FALSE(unsampled[1].met) << "no request is no success";
}

TEST(Goodput, CountsRequestsThatMeetEveryLimit) {
  const LoadRun run = RunOfFive();
  const LoadSummary summary = Summarize(run, PlanOfFive());
  const auto met = [&](const char* limits) {
    return CountGoodput(ParseRequestLimits(limits).value(), run, summary).met_count;
  };
  EXPECT_EQ(met("ttft=100ms"), 2);
  EXPECT_EQ(met("ttft=99ms"), 1);
  EXPECT_EQ(met("ttft=100ms,tpot=50ms"), 1);
  EXPECT_EQ(met("e2e=10ms"), 0);
  EXPECT_EQ(met("queue=10ms"), 1) << "the other one does not say";
  const Goodput goodput = CountGoodput(ParseRequestLimits("ttft=1s").value(), run, summary);
  EXPECT_DOUBLE_EQ(goodput.share, 0.5) << "of all four that were measured";
  EXPECT_DOUBLE_EQ(goodput.requests_per_s, 1);
}

TEST(Goodput, OneTokenHasNoTimePerToken) {
  LoadRun run;
  run.records.push_back(StreamAt(0, 0, {{100}}));
  const LoadSummary summary = Summarize(run, LoadPlan());
  EXPECT_EQ(CountGoodput(ParseRequestLimits("tpot=1us").value(), run, summary).met_count, 1);
}

}  // namespace
}  // namespace weft
