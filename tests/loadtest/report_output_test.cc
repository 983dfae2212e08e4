// What the reports look like, to people and to programs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/format.h"
#include "loadtest/report/json_report.h"
#include "loadtest/report/table_report.h"
#include "tests/loadtest/report_records.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LoadRun SmallRun() {
  LoadRun run;
  run.url = "http://h:1";
  run.model = "m";
  run.server = "weft";
  run.date = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
  run.records.push_back(StreamAt(0, 0, {{100}, {110}, {140, 3}}));
  run.records.push_back(FailedAt(200, 2000, "http 500", "out\n\x1b[31mof luck"));
  run.records.push_back(StreamAt(1000, 1, {{1050}}));
  run.client.cpu_share = 0.02;
  run.client.cpu_us_per_request = 85;
  run.client.timer = {.sample_count = 400, .p99_ms = 1};
  return run;
}

LoadReport SmallReport(const LoadRun& run = SmallRun(), double max_error_rate = 0) {
  ReportGoals goals;
  goals.objectives = ParseObjectives("ttft_p99=50ms,error_rate=50%").value();
  goals.max_error_rate = max_error_rate;
  goals.request_limits = ParseRequestLimits("ttft=60ms,tpot=50ms").value();
  return MakeLoadReport(run, LoadPlan(), "2 users", goals);
}

TEST(Format, NumbersHaveThreeDigitsThatCount) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(0.01234), "0.0123");
  EXPECT_EQ(FormatNumber(0.9996), "1.00");
  EXPECT_EQ(FormatNumber(12.34), "12.3");
  EXPECT_EQ(FormatNumber(99.96), "100");
  EXPECT_EQ(FormatNumber(12345.6), "12,346");
  EXPECT_EQ(FormatDuration(0), "0 ms");
  EXPECT_EQ(FormatDuration(0.0853), "85.3 us");
  EXPECT_EQ(FormatDuration(999.4), "999 ms");
  EXPECT_EQ(FormatDuration(1500), "1.50 s");
  EXPECT_EQ(FormatPercent(0.015), "1.5%");
  EXPECT_EQ(FormatPercent(1), "100%");
  EXPECT_EQ(FormatPercent(0), "0%");
  EXPECT_EQ(FormatDate(SmallRun().date), "2023-11-14 22:13:20 UTC");
}

std::vector<std::string> FaultTexts(const LoadReport& report) {
  std::vector<std::string> texts;
  for (const Fault& fault : report.faults) texts.push_back(fault.text);
  return texts;
}

TEST(LoadReport, FaultsAreWhatFailsTheRun) {
  LoadRun run = SmallRun();
  EXPECT_THAT(FaultTexts(SmallReport(run)),
              ElementsAre("1 of 3 requests failed", HasSubstr("objective missed: ttft_p99 100 ms, "
                                                              "at most 50.0 ms")));
  ReportGoals lenient;
  lenient.max_error_rate = 0.34;
  EXPECT_THAT(FaultTexts(MakeLoadReport(run, LoadPlan(), "", lenient)), ElementsAre());
  run.client.invalid = "lag";
  run.client.was_bottleneck = true;
  run.interrupted = true;
  run.verified_count = 3;
  run.mismatch_count = 1;
  EXPECT_THAT(FaultTexts(MakeLoadReport(run, LoadPlan(), "", lenient)),
              ElementsAre("invalid, the client was the bottleneck: lag", "interrupted",
                          HasSubstr("1 of 3 differ")));
  run.client.was_bottleneck = false;
  EXPECT_EQ(FaultTexts(MakeLoadReport(run, LoadPlan(), "", lenient)).front(),
            "invalid, others had the client's core when it needed it: lag");
}

TEST(TableReport, SaysWhatHappened) {
  const std::string text = TableReport(SmallReport(), /*colour=*/false);
  EXPECT_THAT(text, HasSubstr("server      http://h:1  m  (weft)\nload        2 users\n"));
  EXPECT_THAT(text, HasSubstr("requests    2 succeeded, 1 failed (33.33%)\n"));
  EXPECT_THAT(text, HasSubstr("throughput  3.00 output tokens/s, 1.00 requests/s, 10.0 input"));
  EXPECT_THAT(text, HasSubstr("  steady    5.00 output tokens/s"));
  EXPECT_THAT(text, HasSubstr("goodput     0.500 requests/s meet ttft <= 60.0 ms, tpot <= 50.0 ms"
                              ": 33.33% of all"));
  EXPECT_THAT(text, HasSubstr("milliseconds                    mean      p50      p90      p95     "
                              " p99    p99.9      max"
                              "   stddev\n"
                              "Time to first token            75.00    50.00    100.0"));
  EXPECT_THAT(text, Not(HasSubstr("Server: queue"))) << "it does not say";
  EXPECT_THAT(text, HasSubstr("objective   MISSED  ttft_p99 100 ms, at most 50.0 ms\n"));
  EXPECT_THAT(text, HasSubstr("failed      1 x http 500: out  [31mof luck\n"));
  EXPECT_THAT(text, HasSubstr("FAILED      1 of 3 requests failed\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "neither colours nor what the server sent";
}

TEST(TableReport, ColoursOnlyWhenAsked) {
  const std::string text = TableReport(SmallReport(), /*colour=*/true);
  EXPECT_THAT(text, HasSubstr("\x1b[1;31m1 failed\x1b[0m"));
}

TEST(TableReport, AnInvalidRunSaysSoFirst) {
  LoadRun run = SmallRun();
  run.client.invalid = "it used 99% of a core";
  const std::string text = TableReport(SmallReport(run, 1), false);
  EXPECT_LT(text.find("INVALID RUN: others had the client's core when it needed it"),
            text.find("throughput"));
  EXPECT_THAT(text, HasSubstr("it used 99% of a core"));
}

// Its numbers to nine digits.
nlohmann::ordered_json Rounded(nlohmann::ordered_json json) {
  if (json.is_number_float()) return std::stod(fmt::format("{:.9g}", json.get<double>()));
  if (json.is_structured()) {
    for (auto& member : json) member = Rounded(member);
  }
  return json;
}

TEST(JsonReport, IsTheSchemaThatIsDocumented) {
  const std::string json = JsonReport(SmallReport());
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  const auto parsed = nlohmann::ordered_json::parse(json);
  EXPECT_EQ(Rounded(parsed).dump(), Rounded(nlohmann::ordered_json::parse(R"({
    "schema_version": 2, "kind": "run", "url": "http://h:1", "model": "m",
    "date": "2023-11-14 22:13:20 UTC", "plan": "2 users",
    "faults": ["1 of 3 requests failed", "objective missed: ttft_p99 100 ms, at most 50.0 ms"],
    "interrupted": false, "duration_s": 2.0, "server": "weft",
    "succeeded": 2, "failed": 1, "hostile": 0, "error_rate": 0.3333333333333333,
    "failures": {"http 500": {"count": 1, "example": "out\n\u001b[31mof luck"}},
    "finish_reasons": {"length": 2},
    "prompt_tokens": 20, "output_tokens": 6,
    "requests_per_s": 1.0, "prompt_tokens_per_s": 10.0, "output_tokens_per_s": 3.0,
    "latency_ms": {
      "ttft": {"samples": 2, "mean": 75.0, "stddev": 35.35533905932738, "p50": 50.0, "p90": 100.0,
               "p95": 100.0, "p99": 100.0, "p999": 100.0, "max": 100.0},
      "ttft_sent": {"samples": 2, "mean": 74.5, "stddev": 36.06244584051392, "p50": 49.0,
                    "p90": 100.0, "p95": 100.0, "p99": 100.0, "p999": 100.0, "max": 100.0},
      "tpot": {"samples": 1, "mean": 10.0, "stddev": 0.0, "p50": 10.0, "p90": 10.0, "p95": 10.0,
               "p99": 10.0, "p999": 10.0, "max": 10.0},
      "itl": {"samples": 4, "mean": 10.0, "stddev": 0.0, "p50": 10.0, "p90": 10.0, "p95": 10.0,
              "p99": 10.0, "p999": 10.0, "max": 10.0},
      "e2e": {"samples": 2, "mean": 100.0, "stddev": 63.63961030678928, "p50": 55.0, "p90": 145.0,
              "p95": 145.0, "p99": 145.0, "p999": 145.0, "max": 145.0},
      "e2e_sent": {"samples": 2, "mean": 99.5, "stddev": 64.34671708797583, "p50": 54.0,
                   "p90": 145.0, "p95": 145.0, "p99": 145.0, "p999": 145.0, "max": 145.0}},
    "steady": {"begin_s": 0.0, "end_s": 1.001, "requests_per_s": 0.9990009990009991,
               "output_tokens_per_s": 4.995004995004996},
    "in_flight": {"mean": 0.9995, "peak": 2},
    "objectives": [{"name": "ttft_p99", "met": false, "limit_ms": 50.0, "measured_ms": 100.0},
                   {"name": "error_rate", "met": true, "limit": 0.5,
                    "measured": 0.3333333333333333}],
    "goodput": {"limits_ms": {"ttft": 60.0, "tpot": 50.0}, "met": 1,
                "share": 0.3333333333333333, "requests_per_s": 0.5},
    "profiles": {}, "hostile_outcomes": {},
    "correctness": {"verified": 0, "mismatched": 0},
    "client": {"valid": true, "cpu_s": 0.0, "cpu_share": 0.02, "cpu_us_per_request": 85.0,
               "timer_lag_ms": {"samples": 400, "p50": 0.0, "p99": 1.0, "max": 0.0},
               "timer_late_share": 0.0, "waiting_share": 0.0}
  })"))
                                        .dump());
}

TEST(JsonReport, WhatWasNotMeasuredIsAbsent) {
  LoadRun run = SmallRun();
  run.server = "";
  for (RequestRecord& record : run.records) record.prompt_tokens = std::nullopt;
  ReportGoals goals;
  goals.objectives = ParseObjectives("queue_p99=50ms").value();
  const auto json =
      nlohmann::json::parse(JsonReport(MakeLoadReport(run, LoadPlan(), "2 users", goals)));
  for (const char* member :
       {"server", "prompt_tokens", "prompt_tokens_per_s", "cached_tokens", "goodput"}) {
    EXPECT_FALSE(json.contains(member)) << member;
  }
  EXPECT_FALSE(json["objectives"][0].contains("measured_ms"));
  EXPECT_FALSE(json["latency_ms"].contains("queue"));
  EXPECT_FALSE(json["client"].contains("cpu_us_per_token"));
  EXPECT_FALSE(json["client"].contains("sending_lag_ms"));

  run.records.clear();
  const std::string empty = JsonReport(MakeLoadReport(run, LoadPlan(), "2 users", goals));
  EXPECT_FALSE(nlohmann::json::parse(empty).contains("error_rate"));
  EXPECT_THAT(empty, Not(HasSubstr("null")));
}

TEST(TableReport, TokensAndTheClientAreSaidAsFarAsTheyAreKnown) {
  LoadRun run = SmallRun();
  run.records[0].cached_tokens = 1200;
  EXPECT_THAT(TableReport(SmallReport(run), false),
              HasSubstr("tokens      20 in (1,200 of them cached), 6 out\n"));
  for (RequestRecord& record : run.records) record.prompt_tokens = record.cached_tokens = {};
  run.client.sending = {.sample_count = 3, .p50_ms = 1, .p99_ms = 2, .max_ms = 3};
  const std::string text = TableReport(SmallReport(run), false);
  EXPECT_THAT(text, HasSubstr("tokens      6 out\n"));
  EXPECT_THAT(text, HasSubstr("1.00 requests/s\n"));
  EXPECT_THAT(text, HasSubstr("client      2% of a core, 85.0 us a request; its timer late by 0 ms "
                              "(p50), 1.00 ms (p99), 0 ms at most; sent late by 1.00 ms (p50), "
                              "2.00 ms (p99), 3.00 ms at most\n"));
}

TEST(JsonReport, SurvivesWhatServersSay) {
  LoadRun run = SmallRun();
  run.records[1].failure_detail = "\xff</script>\"";
  run.server = "\xc3";
  const std::string json = JsonReport(SmallReport(run));
  EXPECT_EQ(nlohmann::json::parse(json)["failures"]["http 500"]["example"],
            "\xEF\xBF\xBD</script>\"");
}

}  // namespace
}  // namespace weft
