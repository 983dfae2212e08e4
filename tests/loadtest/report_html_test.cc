// The HTML report without a browser: its data, its escaping, its bounds. tests/integration opens
// it.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadtest/report/axis.h"
#include "loadtest/report/csv_report.h"
#include "loadtest/report/html_page.h"
#include "loadtest/report/html_report.h"
#include "loadtest/report/series.h"
#include "loadtest/report/timeline.h"
#include "tests/loadtest/report_records.h"

namespace weft {
namespace {

using testing::ElementsAre;

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(EscapeHtml, LeavesNothingThatEndsATextOrAnAttribute) {
  EXPECT_EQ(EscapeHtml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(EscapeHtml("</script>"), "&lt;/script&gt;");
  EXPECT_EQ(EscapeHtml("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(EscapeHtml, WhatIsNoTextIsReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(EscapeHtml(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(EscapeHtml("\x1b[0m\n"), bad + "[0m\n");
  EXPECT_EQ(EscapeHtml("\xFF"), bad);
  EXPECT_EQ(EscapeHtml("\xC3"), bad) << "cut short";
  EXPECT_EQ(EscapeHtml("\xC0\xBC"), bad + bad) << "an overlong <";
  EXPECT_EQ(EscapeHtml("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(EscapeHtml("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond U+10FFFF";
}

TEST(AxisScale, LinearTicksAreRoundAndBeginAtZero) {
  const AxisScale scale(3, 43, false, 100, 200);
  EXPECT_THAT(scale.ticks(), ElementsAre(0, 10, 20, 30, 40, 50));
  EXPECT_EQ(scale.Place(0), 100);
  EXPECT_EQ(scale.Place(25), 150);
  EXPECT_EQ(scale.Place(60), 200) << "never outside";
  EXPECT_DOUBLE_EQ(scale.Value(150), 25);
  EXPECT_EQ(AxisScale(0, 0, false, 0, 1).ticks().front(), 0);
  EXPECT_EQ(AxisScale(0, 0, false, 0, 1).Place(0), 0);
}

TEST(AxisScale, LogarithmicTicksEncloseTheValues) {
  const AxisScale scale(3, 700, true, 0, 300);
  EXPECT_THAT(scale.ticks(), ElementsAre(10, 100, 1000));
  EXPECT_NEAR(scale.Place(10), 300 * std::log(10 / 2.0) / std::log(1000 / 2.0), 1e-9);
  EXPECT_NEAR(scale.Value(scale.Place(37)), 37, 1e-9);
  EXPECT_THAT(AxisScale(20, 700, true, 0, 1).ticks(), ElementsAre(20, 50, 100, 200, 500, 1000));
  EXPECT_THAT(AxisScale(1.5, 90, true, 0, 1).ticks(), ElementsAre(1, 10, 100));  // seven touch
}

TEST(CumulativeShares, AreExactUntilThereAreTooMany) {
  const std::vector<PlotPoint> few = CumulativeShares({3, 1}, 10);
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[0].x, 1);
  EXPECT_EQ(few[0].y, 0.5);
  EXPECT_EQ(few[1].x, 3);
  EXPECT_EQ(few[1].y, 1);
  std::vector<double> many(1000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i + 1);
  const std::vector<PlotPoint> thinned = CumulativeShares(many, 10);
  ASSERT_EQ(thinned.size(), 10U);
  EXPECT_EQ(thinned[0].x, 100);
  EXPECT_DOUBLE_EQ(thinned[0].y, 0.1);
  EXPECT_EQ(thinned[9].x, 1000);
}

TEST(TimeSeries, PutsEveryEventInItsBucket) {
  LoadRun run;
  run.records.push_back(StreamAt(0, 0, {{100}, {1100, 2}}));  // ends at 1105
  run.records.push_back(StreamAt(1000, 0, {{1995}}));         // ends at 2000
  run.records.push_back(FailedAt(500, 900, "timeout", ""));
  const TimeSeries series = MakeTimeSeries(run, 2);
  EXPECT_DOUBLE_EQ(series.bucket_s, 1);
  ASSERT_EQ(series.buckets.size(), 2U);
  const TimeBucket& first = series.buckets[0];
  const TimeBucket& second = series.buckets[1];
  EXPECT_DOUBLE_EQ(first.first_token.p50, 100);
  EXPECT_EQ(first.inter_token.sample_count, 0);
  EXPECT_DOUBLE_EQ(first.output_tokens_per_s, 1);
  EXPECT_DOUBLE_EQ(first.failed_per_s, 1);
  EXPECT_DOUBLE_EQ(first.in_flight, 1.4);
  EXPECT_EQ(second.inter_token.sample_count, 2) << "by token";
  EXPECT_DOUBLE_EQ(second.inter_token.mean, 500);
  EXPECT_DOUBLE_EQ(second.first_token.p50, 995);
  EXPECT_DOUBLE_EQ(second.output_tokens_per_s, 3);
  EXPECT_DOUBLE_EQ(second.succeeded_per_s, 2);
  EXPECT_NEAR(second.in_flight, 1.105, 1e-9);
}

TEST(TimeSeries, TheLastBucketTakesWhatIsLessThanHalfABucket) {
  LoadRun run;
  run.records.push_back(StreamAt(0, 0, {{2295}}));  // 2.3 s
  const TimeSeries series = MakeTimeSeries(run, 3);
  EXPECT_DOUBLE_EQ(series.bucket_s, 1);
  ASSERT_EQ(series.buckets.size(), 2U);
  EXPECT_DOUBLE_EQ(series.end_s, 2.3);
  EXPECT_NEAR(series.buckets[1].output_tokens_per_s, 1 / 1.3, 1e-9);
  EXPECT_NEAR(series.buckets[1].in_flight, 1, 1e-9);
  EXPECT_TRUE(MakeTimeSeries(LoadRun(), 3).buckets.empty());
}

TEST(Timeline, ShowsEveryKthRequestAndFailures) {
  std::vector<RequestRecord> records;
  for (int i = 999; i >= 0; --i) records.push_back(StreamAt(i, 0, {{i + 100.0}}));
  EXPECT_EQ(ChooseRows(records, 1000).front(), 999U) << "in planned order";
  records[500].failure = "timeout";  // planned at 499 ms
  const std::vector<size_t> rows = ChooseRows(records, 100);
  EXPECT_EQ(rows.size(), 76U);
  EXPECT_NE(std::find(rows.begin(), rows.end(), 500U), rows.end());
}

TEST(HtmlReport, IsBoundedHoweverManyRequestsThereWere) {
  LoadRun run;
  for (int i = 0; i < 10'000; ++i) {
    run.records.push_back(i % 3 == 0 ? FailedAt(i, i + 40, "http 500", "why")
                                     : StreamAt(i, 1, {{i + 10.0}, {i + 30.0 + i % 7}}));
  }
  const std::string html = HtmlReport(MakeLoadReport(run, LoadPlan(), "plan", ReportGoals()), run);
  EXPECT_LT(html.size(), 1U << 20);
  const size_t row_count = Count(html, "<g class=\"row\">");
  EXPECT_GT(row_count, 180U);
  EXPECT_LE(row_count, 240U);
  EXPECT_EQ(Count(html, std::to_string(row_count) + " of 10,000 requests"), 1U);
}

TEST(HtmlReport, LetsNothingOutOfWhatServersSay) {
  const std::string hostile = "</title></style></script><script>alert(1)</script>\"'<img src=x>";
  LoadRun run;
  run.url = run.model = run.server = hostile;
  run.records.push_back(FailedAt(0, 10, hostile, hostile));
  run.records.push_back(StreamAt(0, 0, {{10}}));
  run.client.invalid = hostile;
  LoadPlan plan;
  plan.profiles = {hostile, "b"};
  const std::string html = HtmlReport(MakeLoadReport(run, plan, hostile, ReportGoals()), run);
  EXPECT_EQ(Count(html, "<script"), 0U);
  EXPECT_EQ(Count(html, "<img"), 0U);
  EXPECT_EQ(Count(html, "</title></head>") + Count(html, "</title>\n<style>"), 1U);
  EXPECT_EQ(Count(html, "</style>"), 1U);
  EXPECT_GT(Count(html, "&lt;script&gt;alert(1)&lt;/script&gt;"), 4U);
}

TEST(HtmlReport, OfNothingIsAPage) {
  const LoadRun run;
  const std::string html = HtmlReport(MakeLoadReport(run, LoadPlan(), "", ReportGoals()), run);
  EXPECT_EQ(Count(html, "no request"), 1U);
  EXPECT_EQ(Count(html, "</html>"), 1U);
}

TEST(CsvReport, IsALineARequest) {
  LoadPlan plan;
  plan.profiles = {"chat, long"};
  LoadRun run;
  run.records.push_back(StreamAt(1000, 20, {{1100}, {1110}, {1140, 3}}));
  run.records.back().server.queue_ms = 7;
  run.records.back().id = "=SUM(A1)";
  run.records.push_back(FailedAt(1030, 1050, "http 500", "say \"no\"\r\nagain"));
  run.records.back().request = 1;
  run.records.back().http_status = 500;
  EXPECT_EQ(CsvReport(run, plan),
            "request,profile,outcome,http_status,planned_ms,sent_ms,end_ms,ttft_ms,ttft_sent_ms,"
            "tpot_ms,e2e_ms,e2e_sent_ms,queue_ms,prefill_ms,decode_ms,itl_max_ms,prompt_tokens,"
            "cached_tokens,output_tokens,texts,finish_reason,id,failure_detail\r\n"
            "0,\"chat, long\",ok,200,-20.000,0.000,125.000,100.000,80.000,10.000,145.000,125.000,"
            "7.000,,,10.000,10,,5,0,length,'=SUM(A1),\r\n"
            "1,\"chat, long\",http 500,500,10.000,10.000,30.000,,,,20.000,20.000,,,,,,,0,0,,,"
            "\"say \"\"no\"\"  again\"\r\n");
}

}  // namespace
}  // namespace weft
