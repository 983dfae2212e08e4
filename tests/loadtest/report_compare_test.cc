// The verdicts on servers that are formulas with seeded noise.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/sweep/compare.h"
#include "loadtest/sweep/compare_report.h"
#include "tests/loadtest/report_runs.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(Compare, ManyFiguresOfServersThatAreAlikeDifferNoOftenerThanOne) {
  constexpr std::string_view kFigures[] = {"ttft_p50",
                                           "ttft_p50,tpot_p50,itl_p50,e2e_p50,ttft_p99"};
  for (const std::string_view figures : kFigures) {
    std::mt19937 random(5);
    std::normal_distribution<> normal;
    CompareOptions options;
    options.figures = ParseFigures(figures).value();
    const auto measure = [&](Side, int32_t) -> Result<LoadReport> {
      LoadReport report = RunOf(1, 1);
      for (Distribution& figure : report.summary.all.latencies) {
        figure = Summarize({100 * std::exp(0.2 * normal(random))});
        figure.p99 = 100 * std::exp(0.2 * normal(random));
      }
      return report;
    };
    int different = 0;
    constexpr int kComparisons = 2000;
    for (int i = 0; i < kComparisons; ++i) {
      const CompareResult result = RunComparison(options, measure).value();
      different += std::any_of(result.figures.begin(), result.figures.end(), [](const auto& each) {
        return each.verdict == Verdict::kBetter || each.verdict == Verdict::kWorse;
      });
    }
    // 5% of them; the standard deviation of the count is 10.
    EXPECT_GT(different, 60) << figures;
    EXPECT_LT(different, 130) << figures;
  }
}

TEST(Compare, ChangesAreShownAsFarAsTheyMeanSomething) {
  EXPECT_EQ(FormatChange(-0.0325), "-3.25%");
  EXPECT_EQ(FormatChange(0.5), "+50%");
  EXPECT_EQ(FormatChange(10), "+1000%");
  EXPECT_EQ(FormatChange(5201.578), "> +1000%");
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
  EXPECT_EQ(json["confidence"], 0.95);
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
  EXPECT_THAT(html, HasSubstr("97.5% interval")) << "of two figures each";
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
