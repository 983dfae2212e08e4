// The searches and verdicts on servers that are formulas with seeded noise.
#include <cmath>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/json_report.h"
#include "loadtest/sweep/compare.h"
#include "loadtest/sweep/compare_report.h"
#include "loadtest/sweep/confidence.h"
#include "loadtest/sweep/sweep.h"
#include "loadtest/sweep/sweep_report.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A run with a throughput and one latency throughout.
LoadReport RunOf(double tokens_per_s, double ttft_ms, const std::string& objectives = "") {
  LoadReport report;
  report.url = "http://h:1";
  report.summary.duration_s = 10;
  GroupSummary& all = report.summary.all;
  all.succeeded = 100;
  all.output_tokens_per_s = tokens_per_s;
  all.latencies[Metric::kFirstToken] = Summarize({ttft_ms});
  if (!objectives.empty()) {
    ReportGoals goals;
    goals.objectives = ParseObjectives(objectives).value();
    report.objectives = CheckObjectives(goals.objectives, all);
    report.faults = FaultsOf(report, goals);
  }
  return report;
}

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
  EXPECT_NEAR(interval.high, 10 + 4.303 * 2 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(interval.low, 10 - 4.303 * 2 / std::sqrt(3.0), 1e-9);
  const Interval one = MeanInterval(std::vector<double>{5});
  EXPECT_EQ(one.low, 5);
  EXPECT_EQ(one.high, 5);
  EXPECT_EQ(MeanInterval({}).sample_count, 0);
}

TEST(Confidence, StudentsTIsThatOfTheTables) {
  EXPECT_DOUBLE_EQ(StudentT95(1), 12.706);
  EXPECT_DOUBLE_EQ(StudentT95(10), 2.228);
  EXPECT_NEAR(StudentT95(11), 2.201, 3e-3);
  EXPECT_NEAR(StudentT95(20), 2.086, 1e-3);
  EXPECT_NEAR(StudentT95(40), 2.021, 1e-3);
  EXPECT_NEAR(StudentT95(1'000'000), 1.960, 1e-3);
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

// Rounds in which the candidate's time to first token is `factor` times the baseline's, but for
// noise.
FigureComparison CompareTimes(double factor, double noise, int rounds) {
  std::mt19937 random(11);
  std::normal_distribution<> normal;
  std::vector<LoadReport> candidate, baseline;
  for (int i = 0; i < rounds; ++i) {
    const double drift = 1 + 0.3 * i;  // meets both sides of a round
    candidate.push_back(RunOf(1, 100 * drift * factor * (1 + noise * normal(random))));
    baseline.push_back(RunOf(1, 100 * drift * (1 + noise * normal(random))));
  }
  return CompareFigure(FigureOf("ttft_p50"), candidate, baseline, 0.05);
}

TEST(Compare, VerdictsFollowTheInterval) {
  EXPECT_EQ(CompareTimes(1.10, 0.01, 6).verdict, Verdict::kWorse);
  EXPECT_EQ(CompareTimes(0.90, 0.01, 6).verdict, Verdict::kBetter);
  EXPECT_EQ(CompareTimes(1.00, 0.01, 6).verdict, Verdict::kSame);
  EXPECT_EQ(CompareTimes(1.03, 0.005, 6).verdict, Verdict::kSame) << "within the tolerance";
  EXPECT_EQ(CompareTimes(1.05, 0.3, 4).verdict, Verdict::kUnclear);
  EXPECT_EQ(CompareTimes(1.5, 0, 1).verdict, Verdict::kUnclear) << "one round has no interval";
  EXPECT_NEAR(CompareTimes(1.10, 0.01, 6).change.mean, 0.10, 0.02);
}

TEST(Compare, MoreIsBetterForThroughput) {
  const std::vector<LoadReport> low = {RunOf(80, 1), RunOf(81, 1), RunOf(82, 1)};
  const std::vector<LoadReport> high = {RunOf(100, 1), RunOf(101, 1), RunOf(102, 1)};
  const RunFigure& figure = FigureOf("output_tokens_per_s");
  EXPECT_EQ(CompareFigure(figure, low, high, 0.05).verdict, Verdict::kWorse);
  EXPECT_EQ(CompareFigure(figure, high, low, 0.05).verdict, Verdict::kBetter);
  EXPECT_EQ(CompareFigure(FigureOf("itl_p50"), low, high, 0.05).verdict, Verdict::kUnclear)
      << "no sample";
}

LoadReport RunWithGoodput(double requests_per_s) {
  LoadReport report = RunOf(1, 1);
  report.goodput = Goodput{.limits = {}, .requests_per_s = requests_per_s};
  return report;
}

LoadReport RunWithErrors(int64_t failed) {  // of a hundred
  LoadReport report = RunOf(1, 1);
  report.summary.all.succeeded = 100 - failed;
  report.summary.all.failed = failed;
  return report;
}

TEST(Compare, AFigureThatFallsToZeroOrRisesFromItHasChanged) {
  const std::vector<LoadReport> some = {RunWithGoodput(5), RunWithGoodput(6), RunWithGoodput(5)};
  const std::vector<LoadReport> none = {RunWithGoodput(0), RunWithGoodput(0), RunWithGoodput(0)};
  const RunFigure& goodput = FigureOf("goodput_per_s");
  const FigureComparison lost = CompareFigure(goodput, none, some, 0.05);
  EXPECT_EQ(lost.verdict, Verdict::kWorse);
  EXPECT_DOUBLE_EQ(lost.change.mean, -1);
  EXPECT_EQ(lost.candidate.mean, 0);
  EXPECT_EQ(CompareFigure(goodput, some, none, 0.05).verdict, Verdict::kBetter);
  const FigureComparison both = CompareFigure(goodput, none, none, 0.05);
  EXPECT_EQ(both.verdict, Verdict::kSame);
  EXPECT_EQ(both.change.mean, 0);

  const RunFigure& errors = FigureOf("error_rate");
  const std::vector<LoadReport> right = {RunWithErrors(0), RunWithErrors(0), RunWithErrors(0)};
  const std::vector<LoadReport> wrong = {RunWithErrors(4), RunWithErrors(4), RunWithErrors(3)};
  const FigureComparison failing = CompareFigure(errors, wrong, right, 0.05);
  EXPECT_EQ(failing.verdict, Verdict::kWorse);
  EXPECT_DOUBLE_EQ(failing.change.mean, 1);
  const std::vector<LoadReport> once = {RunWithErrors(0), RunWithErrors(4), RunWithErrors(0)};
  EXPECT_EQ(CompareFigure(errors, once, right, 0.05).verdict, Verdict::kUnclear);
}

TEST(Compare, ARoundOfZerosIsCountedAmongOthers) {
  const std::vector<LoadReport> candidate = {RunWithGoodput(0), RunWithGoodput(5.5),
                                             RunWithGoodput(0), RunWithGoodput(0)};
  const std::vector<LoadReport> baseline(4, RunWithGoodput(5));
  const FigureComparison change =
      CompareFigure(FigureOf("goodput_per_s"), candidate, baseline, 0.05);
  EXPECT_EQ(change.change.sample_count, 4);
  EXPECT_DOUBLE_EQ(change.change.mean, (5.5 / 4 - 5) / 5);
  EXPECT_EQ(change.verdict, Verdict::kUnclear) << "one good round of four";
}

TEST(Compare, SidesTakeTurnsInGoingFirst) {
  std::string order;
  CompareOptions options;
  options.rounds = 3;
  options.figures = ParseFigures("ttft_p50").value();
  const CompareResult result =
      RunComparison(options, [&](Side side, int32_t) -> Result<LoadReport> {
        order += side == Side::kCandidate ? 'A' : 'B';
        return RunOf(1, side == Side::kCandidate ? 130 : 100);
      }).value();
  EXPECT_EQ(order, "ABBAAB");
  EXPECT_TRUE(result.worse());
  EXPECT_EQ(result.invalid, "");
  EXPECT_THAT(CompareTable(result, options, false), HasSubstr("WORSE"));
  const auto json = nlohmann::json::parse(CompareJson(result, options));
  EXPECT_EQ(json["worse"], true);
  EXPECT_FALSE(json.contains("invalid"));
  const auto& figure = json["figures"]["ttft_p50_ms"];
  EXPECT_EQ(figure["verdict"], "worse");
  EXPECT_NEAR(figure["change"]["mean"], 0.3, 1e-9);
  EXPECT_EQ(figure["candidate"],
            nlohmann::json({{"samples", 3}, {"mean", 130}, {"low", 130}, {"high", 130}}));
  EXPECT_EQ(figure["baseline"]["mean"], 100);
}

TEST(Compare, EveryReportHasBothSides) {
  CompareOptions options;
  options.rounds = 2;
  options.figures = ParseFigures("ttft_p50,itl_p50").value();
  const CompareResult result =
      RunComparison(options, [&](Side side, int32_t round) -> Result<LoadReport> {
        LoadReport report = RunOf(1, (side == Side::kCandidate ? 130 : 100) + round);
        report.url = side == Side::kCandidate ? "http://<a>" : "http://<b>";
        report.plan = "<plan>";
        return report;
      }).value();
  CompareSamples samples;
  samples.candidate[Metric::kFirstToken] = {130, 131};
  samples.baseline[Metric::kFirstToken] = {100, 101};
  const std::string html = CompareHtml(result, options, samples);
  EXPECT_THAT(html, HasSubstr("<b>Worse</b>: TTFT p50."));
  EXPECT_THAT(html, HasSubstr("+29.85%"));
  EXPECT_THAT(html, HasSubstr("http://&lt;a&gt;"));
  EXPECT_THAT(html, HasSubstr("http://&lt;b&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<plan>")));
  size_t plots = 0;
  for (size_t at = 0; (at = html.find("<figure", at)) != std::string::npos; ++at) ++plots;
  EXPECT_EQ(plots, 3U) << "a figure over the rounds each, and the one distribution there is";

  const std::string csv = CompareCsv(result);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_THAT(csv, HasSubstr("\r\n1,candidate,1,"));
  EXPECT_THAT(csv, HasSubstr("\r\n2,baseline,1,"));

  EXPECT_THAT(CompareTable(result, options, false),
              HasSubstr("ITL p50                         -           -         -"));
  EXPECT_FALSE(
      nlohmann::json::parse(CompareJson(result, options))["figures"]["itl_p50_ms"].contains(
          "candidate"));

  CompareResult invalid = result;
  invalid.invalid = "interrupted <b>";
  EXPECT_THAT(CompareHtml(invalid, options, samples), HasSubstr("interrupted &lt;b&gt;"));
  EXPECT_THAT(CompareHtml(CompareResult(), options, CompareSamples()), HasSubstr("Not worse"));
}

TEST(Compare, ARunWithFaultsMakesItInvalid) {
  CompareOptions options;
  options.figures = ParseFigures("ttft_p50").value();
  const auto measure = [](Side side, int32_t round) -> Result<LoadReport> {
    LoadReport report = RunOf(1, 100);
    if (side == Side::kBaseline && round == 1)
      report.faults = {{FaultKind::kFailedRequests, "1 of 9 requests failed"}};
    if (side == Side::kCandidate) {
      report.faults = {{FaultKind::kObjectiveMissed, "objective missed: ttft_p99"}};
    }
    return report;
  };
  EXPECT_THAT(RunComparison(options, measure)->invalid, HasSubstr("1 of 9 requests failed"));
}

TEST(Compare, FiguresAreNamed) {
  EXPECT_EQ(ParseFigures("ttft_p50,itl_p99")->size(), 2U);
  EXPECT_THAT(ParseFigures("speed").error().message,
              HasSubstr("figure 'speed': expected one of output_tokens_per_s, "));
  EXPECT_FALSE(ParseFigures(""));
}

}  // namespace
}  // namespace weft
