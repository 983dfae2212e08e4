// The searches on servers that are formulas with seeded noise.
#include <cmath>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/json_report.h"
#include "loadtest/sweep/confidence.h"
#include "loadtest/sweep/run_figures.h"
#include "loadtest/sweep/sweep.h"
#include "loadtest/sweep/sweep_report.h"
#include "tests/loadtest/report_runs.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Serves up to `capacity` users at 10 tokens a second each; what is more waits. 1% of noise.
class FakeServer {
 public:
  explicit FakeServer(std::string objectives = "", double capacity = 20)
      : objectives_(std::move(objectives)), capacity_(capacity) {}

  LoadReport Run(double load) {
    loads_.push_back(load);
    const double noise = 1 + 0.01 * normal_(random_);
    const double waiting = std::max(load - capacity_, 0.0);
    return RunOf(10 * std::min(load, capacity_) * noise, (100 + 50 * waiting) * noise, objectives_);
  }

  MeasureFunction measure() {
    return [this](double load, int32_t) -> Result<LoadReport> { return Run(load); };
  }
  const std::vector<double>& loads() const { return loads_; }

 private:
  std::string objectives_;
  double capacity_;
  std::mt19937 random_{7};
  std::normal_distribution<> normal_;
  std::vector<double> loads_;
};

TEST(Confidence, MeansHaveStudentsInterval) {
  const std::vector<double> samples = {8, 10, 12};
  const Interval interval = MeanInterval(samples);
  EXPECT_DOUBLE_EQ(interval.mean, 10);
  EXPECT_NEAR(interval.high, 10 + 4.302653 * 2 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(interval.low, 10 - 4.302653 * 2 / std::sqrt(3.0), 1e-5);
  const Interval one = MeanInterval(std::vector<double>{5});
  EXPECT_EQ(one.low, 5);
  EXPECT_EQ(one.high, 5);
  EXPECT_EQ(MeanInterval({}).sample_count, 0);
}

// Of n samples -1, 0, ..., 0, 1 the mean's error is sqrt(2 / (n (n - 1))).
TEST(Confidence, StudentsTIsThatOfTheTables) {
  const struct {
    int64_t degrees;
    double confidence;
    double t;
  } cases[] = {{1, 0.95, 12.706}, {5, 0.99, 4.032},     {10, 0.95, 2.228},
               {20, 0.95, 2.086}, {1'000, 0.95, 1.962}, {1'000, 0.99, 2.581}};
  for (const auto& expected : cases) {
    const auto count = static_cast<size_t>(expected.degrees + 1);
    std::vector<double> samples(count, 0.0);
    samples.front() = -1;
    samples.back() = 1;
    const auto n = static_cast<double>(count);
    EXPECT_NEAR(MeanInterval(samples, expected.confidence).high / std::sqrt(2 / (n * (n - 1))),
                expected.t, 1e-3)
        << expected.degrees << " degrees of freedom at " << expected.confidence;
  }
}

TEST(Sweep, MeasuresEveryLoadRepeatByRepeat) {
  FakeServer server;
  SweepOptions options;
  options.loads = {4, 40};
  options.repeats = 2;
  const SweepResult result = RunSweep(options, server.measure()).value();
  EXPECT_THAT(server.loads(), ElementsAre(4, 40, 4, 40));
  ASSERT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(result.steps[0].load, 4);
  EXPECT_EQ(result.steps[0].runs.size(), 2U);
  EXPECT_EQ(result.knee, std::nullopt) << "nobody saw what is beyond 40";
}

TEST(Sweep, FindsTheKneeByDoublingAndBisecting) {
  FakeServer server;
  const SweepResult result = RunSweep(SweepOptions(), server.measure()).value();
  ASSERT_TRUE(result.knee);
  // 19 of 20 users are 95% of the throughput; the noise of three repeats is below one user.
  EXPECT_GE(*result.knee, 18);
  EXPECT_LE(*result.knee, 21);
  EXPECT_EQ(*result.knee, std::floor(*result.knee)) << "users are whole";
  EXPECT_LE(result.steps.back().load, 64) << "saturated: no need to go on";
}

TEST(Sweep, TheKneeOfAListIsTheLowestLoadThatSaturates) {
  FakeServer server;
  SweepOptions options;
  options.loads = {5, 10, 20, 40, 80};
  const SweepResult result = RunSweep(options, server.measure()).value();
  EXPECT_EQ(result.knee, 20);
  EXPECT_EQ(server.loads().size(), 15U) << "a list is measured as it is";
}

TEST(Sweep, FindsTheHighestLoadThatKeepsAnObjective) {
  FakeServer server("ttft_p99=500ms");  // 28 users
  SweepOptions options;
  options.seek_objectives = true;
  for (const bool open_loop : {false, true}) {
    options.open_loop = open_loop;
    const SweepResult result = RunSweep(options, server.measure()).value();
    ASSERT_TRUE(result.highest_kept);
    EXPECT_TRUE(result.limit_found);
    EXPECT_GE(*result.highest_kept, 28 * (1 - kPrecision) - 0.3);
    EXPECT_LE(*result.highest_kept, 28.3);
  }
}

TEST(Sweep, BisectsBetweenTheLoadsOfAListForAnObjective) {
  FakeServer server("ttft_p99=525ms");  // 28 users, not 29
  SweepOptions options;
  options.seek_objectives = true;
  options.repeats = 1;
  options.loads = {16, 32};
  const SweepResult result = RunSweep(options, server.measure()).value();
  EXPECT_THAT(server.loads(), ElementsAre(16, 32, 24, 28, 30, 29));
  EXPECT_EQ(result.highest_kept, 28);
}

TEST(Sweep, TheHighestLoadAllowedIsTriedLast) {
  SweepOptions options;
  options.repeats = 1;
  options.max_load = 12;
  FakeServer server;
  EXPECT_EQ(RunSweep(options, server.measure())->knee, std::nullopt);
  EXPECT_THAT(server.loads(), ElementsAre(1, 2, 4, 8, 12));
}

TEST(Sweep, AFirstLoadThatIsTooMuchIsHalved) {
  SweepOptions options;
  options.open_loop = true;
  options.repeats = 1;
  options.least_load = 0.05;
  options.seek_objectives = true;
  FakeServer server("ttft_p99=108ms", 0.3);  // 0.46
  const SweepResult kept = RunSweep(options, server.measure()).value();
  EXPECT_THAT(std::vector<double>(server.loads().begin(), server.loads().begin() + 3),
              ElementsAre(1, 0.5, 0.25));
  EXPECT_TRUE(kept.limit_found);
  ASSERT_TRUE(kept.highest_kept);
  EXPECT_GE(*kept.highest_kept, 0.4);
  EXPECT_LT(*kept.highest_kept, 0.5);

  FakeServer below("ttft_p99=108ms", 0.3);
  options.least_load = 0.3;
  EXPECT_EQ(RunSweep(options, below.measure())->highest_kept, std::nullopt);
  EXPECT_THAT(below.loads(), ElementsAre(1, 0.5)) << "no lower than it is worth";

  FakeServer saturated("", 0.3);
  options.least_load = 0.05;
  options.seek_objectives = false;
  const SweepResult knee = RunSweep(options, saturated.measure()).value();
  ASSERT_TRUE(knee.knee);
  EXPECT_GE(*knee.knee, 0.27);
  EXPECT_LE(*knee.knee, 0.33);
}

TEST(Sweep, InvalidRunsAreInNoFigureAndNoSuccess) {
  FakeServer server;
  SweepOptions options;
  const SweepResult result = RunSweep(options, [&](double load, int32_t) -> Result<LoadReport> {
                               LoadReport report = server.Run(load);
                               if (load < 8) return report;
                               report.summary.all.output_tokens_per_s = 1e6;
                               report.summary.client.invalid = "lag";
                               return report;
                             }).value();
  EXPECT_EQ(result.steps.back().load, 8) << "more load would tell no more";
  EXPECT_EQ(result.knee, std::nullopt) << "the client's, not the server's";
  EXPECT_EQ(InvalidRunCount(result), 3);
  EXPECT_FALSE(IsSuccess(result, options));
  EXPECT_THAT(SweepFindings(result, options),
              ElementsAre("not saturated: the throughput still grew at 4 users",
                          HasSubstr("3 runs INVALID and in no figure")));
  EXPECT_THAT(SweepTable(result, options, false), Not(HasSubstr("1,000,000")));

  std::vector<LoadReport> runs = {RunOf(10, 1), RunOf(1000, 1), RunOf(12, 1)};
  runs[1].summary.client.invalid = "lag";
  EXPECT_EQ(IntervalOf(runs, FigureOf("output_tokens_per_s")).mean, 11);
}

TEST(Sweep, SucceedsUnlessALoadIsWantingOrAnOutputWrong) {
  SweepOptions options;
  SweepResult result;
  result.steps = {{.load = 1, .runs = {RunOf(1, 1)}}};
  EXPECT_TRUE(IsSuccess(result, options));
  options.seek_objectives = true;
  EXPECT_FALSE(IsSuccess(result, options));
  result.highest_kept = 1;
  EXPECT_TRUE(IsSuccess(result, options));
  result.steps[0].runs[0].summary.mismatch_count = 1;
  EXPECT_FALSE(IsSuccess(result, options));
  result.steps[0].runs[0].summary.mismatch_count = 0;
  result.interrupted = true;
  EXPECT_FALSE(IsSuccess(result, options));
}

TEST(Sweep, WithoutAnyOutputNothingGrew) {
  const auto failing = [](double, int32_t) -> Result<LoadReport> {
    LoadReport report = RunOf(0, 0);
    report.summary.all.succeeded = 0;
    report.summary.all.failed = 9;
    return report;
  };
  const SweepResult result = RunSweep(SweepOptions(), failing).value();
  EXPECT_EQ(result.steps.size(), 1U);
  EXPECT_THAT(SweepFindings(result, SweepOptions()), ElementsAre("no output at any load"));
}

TEST(Sweep, ObjectivesThatAreNeverOrAlwaysKeptAreSaidToBe) {
  SweepOptions options;
  options.seek_objectives = true;
  options.loads = {1, 2};
  FakeServer never("ttft_p99=50ms");
  const SweepResult missed = RunSweep(options, never.measure()).value();
  EXPECT_EQ(missed.highest_kept, std::nullopt);
  EXPECT_TRUE(missed.limit_found);
  EXPECT_THAT(SweepFindings(missed, options).back(), HasSubstr("at no load"));
  FakeServer always("ttft_p99=1s");
  const SweepResult kept = RunSweep(options, always.measure()).value();
  EXPECT_EQ(kept.highest_kept, 2);
  EXPECT_FALSE(kept.limit_found);
  EXPECT_THAT(SweepFindings(kept, options).back(), HasSubstr("at every load"));
}

TEST(Sweep, FindingsSayWhoseFaultInvalidRunsAre) {
  SweepResult result;
  SweepStep& step = result.steps.emplace_back();
  step.runs = {RunOf(10, 10), RunOf(10, 10), RunOf(10, 10)};
  const auto finding = [&] { return SweepFindings(result, SweepOptions()).back(); };
  step.runs[0].summary.client.invalid = "lag";
  EXPECT_EQ(finding(), "1 run INVALID and in no figure: others had the client's core there");
  step.runs[1].summary.client.invalid = "lag";
  step.runs[1].summary.client.was_bottleneck = true;
  EXPECT_EQ(finding(),
            "2 runs INVALID and in no figure: the client was the bottleneck in 1, others had its "
            "core in the rest");
  step.runs[0].summary.client.was_bottleneck = true;
  EXPECT_EQ(finding(), "2 runs INVALID and in no figure: the client was the bottleneck there");
}

TEST(Sweep, AnInvalidRunKeepsNoObjective) {
  SweepStep step;
  step.runs = {RunOf(10, 10, "ttft_p99=1s"), RunOf(10, 10, "ttft_p99=1s")};
  EXPECT_TRUE(KeepsObjectives(step));
  step.runs[0].summary.client.invalid = "lag";
  step.runs[0].faults = FaultsOf(step.runs[0], ReportGoals());
  EXPECT_FALSE(KeepsObjectives(step)) << "half is not more than half";
}

// Latencies are of successes alone: what is refused at once makes them look well.
TEST(Sweep, ALoadAtWhichTooManyRequestsFailKeepsNoObjective) {
  LoadReport run = RunOf(10, 10);
  run.summary.all.succeeded = 51;
  run.summary.all.failed = 49;
  ReportGoals goals;
  const auto keeps = [&](const char* objectives, std::optional<double> max_error_rate) {
    goals.objectives = ParseObjectives(objectives).value();
    goals.max_error_rate = max_error_rate;
    run.objectives = CheckObjectives(goals.objectives, run.summary.all);
    run.faults = FaultsOf(run, goals);
    return KeepsObjectives({.load = 1, .runs = {run}});
  };
  EXPECT_FALSE(keeps("ttft_p99=1s", std::nullopt));
  EXPECT_FALSE(keeps("ttft_p99=1s", 0.48));
  EXPECT_TRUE(keeps("ttft_p99=1s", 0.49));
  EXPECT_TRUE(keeps("ttft_p99=1s,error_rate=49%", std::nullopt)) << "that says how many may";
  EXPECT_FALSE(keeps("ttft_p99=1s,error_rate=49%", 0.0));
  EXPECT_FALSE(keeps("ttft_p99=1s,error_rate=48%", 0.49));
}

TEST(Sweep, EndsWithAnErrorOrAnInterrupt) {
  int count = 0;
  const auto failing = RunSweep(SweepOptions(), [&](double, int32_t) -> Result<LoadReport> {
    if (++count == 3) return Fail(ErrorCode::kUnavailable, "gone");
    return RunOf(1, 1);
  });
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.error().message, "gone");
  count = 0;
  const auto interrupted = RunSweep(SweepOptions(), [&](double, int32_t) -> Result<LoadReport> {
    LoadReport report = RunOf(1, 1);
    report.summary.interrupted = ++count == 2;
    return report;
  });
  EXPECT_TRUE(interrupted->interrupted);
  EXPECT_EQ(count, 2);
}

TEST(Sweep, ListsOfLoadsAreChecked) {
  EXPECT_THAT(ParseLoads("1,2.5,10", false).value(), ElementsAre(1, 2.5, 10));
  EXPECT_THAT(ParseLoads("1,2.5", true).error().message, HasSubstr("'2.5': expected a whole"));
  for (const char* text : {"", "0", "-1", "1,,2", "2,1", "1,1", "nan", "1e9", "4x"}) {
    EXPECT_FALSE(ParseLoads(text, false)) << text;
  }
}

TEST(SweepReport, SaysTheSameInEveryForm) {
  FakeServer server("ttft_p99=500ms");
  SweepOptions options;
  options.loads = {10, 20, 40};
  options.seek_objectives = true;
  options.repeats = 2;
  const SweepResult result = RunSweep(options, server.measure()).value();
  const std::string table = SweepTable(result, options, false);
  EXPECT_THAT(table, HasSubstr("<- knee"));
  EXPECT_THAT(table, HasSubstr("missed"));
  const auto json = nlohmann::json::parse(SweepJson(result, options));
  EXPECT_EQ(json["kind"], "sweep");
  EXPECT_EQ(json["schema_version"], kReportSchemaVersion);
  EXPECT_EQ(json["knee"], 20);
  EXPECT_EQ(json["highest_kept"], *result.highest_kept);
  EXPECT_EQ(json["steps"].size(), result.steps.size());
  EXPECT_EQ(json["steps"][0]["runs"].size(), 2U);
  EXPECT_NEAR(json["steps"][0]["figures"]["ttft_p50_ms"]["mean"], 100, 5);
  const std::string csv = SweepCsv(result, options);
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + result.steps.size());
  const std::string html = SweepHtml(result, options);
  EXPECT_NE(html.find("saturates at 20 users"), std::string::npos);
  EXPECT_NE(html.find("objective ttft_p99"), std::string::npos);
}

TEST(SweepReport, WhatWasNotFoundIsAbsent) {
  FakeServer server("ttft_p99=50ms");
  SweepOptions options;
  options.loads = {1, 2};
  options.seek_objectives = true;
  options.repeats = 1;
  const std::string json = SweepJson(RunSweep(options, server.measure()).value(), options);
  EXPECT_THAT(json, Not(HasSubstr("null")));
  const auto parsed = nlohmann::json::parse(json);
  EXPECT_FALSE(parsed.contains("knee"));
  EXPECT_FALSE(parsed.contains("highest_kept"));
  EXPECT_FALSE(parsed["steps"][0]["figures"]["ttft_p50_ms"].contains("low")) << "of one run";
}

TEST(SweepTexts, ASweepOfTextsGoesByTheirThroughput) {
  const MeasureFunction measure = [](double load, int32_t) -> Result<LoadReport> {
    LoadReport report = RunOf(0, 1);
    report.summary.generates = false;
    report.summary.all.texts_per_s = 100 * std::min(load, 4.0);
    report.summary.all.latencies = {};
    report.summary.all.latencies[Metric::kEndToEnd] = Summarize({20 * load});
    return report;
  };
  SweepOptions options;
  options.repeats = 2;
  const Result<SweepResult> result = RunSweep(options, measure);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->knee, 4);
  const std::string table = SweepTable(*result, options, /*colour=*/false);
  EXPECT_THAT(table, HasSubstr("texts/s"));
  EXPECT_THAT(table, Not(HasSubstr("tokens")));
  EXPECT_THAT(table, Not(HasSubstr("TTFT")));
  const std::string json = SweepJson(*result, options);
  EXPECT_THAT(json, HasSubstr("\"texts_per_s\""));
  EXPECT_THAT(json, Not(HasSubstr("output_tokens_per_s")));
  const std::string html = SweepHtml(*result, options);
  EXPECT_THAT(html, HasSubstr("texts/s"));
  EXPECT_THAT(html, Not(HasSubstr("tokens/s")));
  EXPECT_THAT(html, Not(HasSubstr("first token")));
}

}  // namespace
}  // namespace weft
