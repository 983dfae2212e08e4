// The parts of the load generator that need no network: URLs, events, JSON, prompts, statistics,
// reports.
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/plan/prompts.h"
#include "loadtest/report/report.h"
#include "loadtest/report/statistics.h"
#include "loadtest/run/completion_json.h"
#include "loadtest/run/sse_parser.h"
#include "loadtest/run/url.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Url, ReadsHostPortAndPrefix) {
  const struct {
    const char* text;
    const char* host;
    const char* port;
    const char* path;
    const char* authority;
  } cases[] = {
      {"http://localhost:8080", "localhost", "8080", "", "localhost:8080"},
      {"http://10.0.0.1", "10.0.0.1", "80", "", "10.0.0.1:80"},
      {"http://h:1/", "h", "1", "", "h:1"},
      {"http://h:65535/v1/", "h", "65535", "", "h:65535"},
      {"http://h:1/proxy/v1", "h", "1", "/proxy", "h:1"},
      {"http://[::1]:8080/v1", "::1", "8080", "", "[::1]:8080"},
      {"http://[::1]", "::1", "80", "", "[::1]:80"},
  };
  for (const auto& expected : cases) {
    const Result<Url> url = ParseUrl(expected.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->host, expected.host) << expected.text;
    EXPECT_EQ(url->port, expected.port) << expected.text;
    EXPECT_EQ(url->path, expected.path) << expected.text;
    EXPECT_EQ(url->authority(), expected.authority) << expected.text;
  }
}

TEST(Url, RefusesWhatItCannotUse) {
  for (const char* text :
       {"", "localhost:8080", "https://h", "http://", "http://:80", "http://h:", "http://h:0",
        "http://h:65536", "http://h:8x", "http://u@h", "http:///v1"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
  EXPECT_THAT(ParseUrl("https://h").error().message, HasSubstr("https is not supported"));
}

TEST(SseParser, GivesWholeEventsHoweverTheBytesAreCut) {
  const std::string bytes =
      ": comment\nevent: x\ndata: one\n\ndata:two\r\ndata: three\r\n\r\n\n\rdata\r\r";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    SseParser parser;
    std::vector<std::string> events;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      for (std::string& event : parser.Feed(std::string_view(bytes).substr(at, piece))) {
        events.push_back(std::move(event));
      }
    }
    EXPECT_THAT(events, ElementsAre("one", "two\nthree", "")) << "in pieces of " << piece;
  }
}

TEST(SseParser, HoldsBackWhatHasNotEnded) {
  SseParser parser;
  EXPECT_THAT(parser.Feed("data: one\n"), IsEmpty());
  EXPECT_EQ(parser.pending_bytes(), 3);
  EXPECT_THAT(parser.Feed("\n"), ElementsAre("one"));
  EXPECT_EQ(parser.pending_bytes(), 0);
}

TEST(CompletionJson, AsksForUsageAtTheEndOfAStream) {
  const CompletionCall call = {.model = "m",
                               .prompt = "\"\xff",
                               .max_tokens = 3,
                               .temperature = 0.5,
                               .stream = true,
                               .ignore_eos = true};
  EXPECT_EQ(nlohmann::json::parse(RequestBody(call)), nlohmann::json::parse(R"({
    "model": "m", "prompt": "\"\ufffd", "max_tokens": 3, "temperature": 0.5,
    "stream": true, "stream_options": {"include_usage": true}, "ignore_eos": true})"));
  EXPECT_EQ(
      nlohmann::json::parse(RequestBody({.model = "m", .prompt = "p", .stream = false})),
      nlohmann::json::parse(R"({"model":"m","prompt":"p","max_tokens":16,"temperature":0.0})"));
}

TEST(CompletionJson, ReadsWhatServersSend) {
  const Result<CompletionPart> part = ParseCompletion(
      R"({"choices":[{"text":"a","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->text, "a");
  EXPECT_EQ(part->finish_reason, "length");
  EXPECT_EQ(part->prompt_tokens, 1);
  EXPECT_EQ(part->completion_tokens, 2);
  for (const char* nothing :
       {"{}", R"({"choices":[],"usage":null})", R"({"choices":[{"text":null}]})",
        R"({"choices":7,"usage":{"prompt_tokens":-1,"completion_tokens":"2"}})"}) {
    const Result<CompletionPart> empty = ParseCompletion(nothing);
    ASSERT_TRUE(empty) << nothing;
    EXPECT_EQ(empty->text, "") << nothing;
    EXPECT_EQ(empty->prompt_tokens, std::nullopt) << nothing;
  }
}

TEST(CompletionJson, FindsTheErrorInItsDialects) {
  for (const char* json : {R"({"error":{"message":"why"}})", R"({"error":"why"})",
                           R"({"object":"error","message":"why"})"}) {
    EXPECT_EQ(ErrorMessage(json), "why");
    ASSERT_FALSE(ParseCompletion(json));
    EXPECT_EQ(ParseCompletion(json).error().message, "why");
  }
  EXPECT_EQ(ErrorMessage("<html>Bad gateway"), "<html>Bad gateway");
  for (const char* garbage : {"", "[]", "{\"choices\":", "7"})
    EXPECT_FALSE(ParseCompletion(garbage));
}

TEST(CompletionJson, FindsTheFirstModel) {
  EXPECT_EQ(FirstModelId(R"({"object":"list","data":[{"id":"a"},{"id":"b"}]})").value(), "a");
  for (const char* json : {"", "{}", R"({"data":[]})", R"({"data":[{}]})"}) {
    EXPECT_FALSE(FirstModelId(json)) << json;
  }
}

TEST(Prompts, AreReproducibleAndDistinct) {
  EXPECT_EQ(GeneratePrompt(1, 2, 8), GeneratePrompt(1, 2, 8));
  EXPECT_NE(GeneratePrompt(1, 2, 8), GeneratePrompt(1, 3, 8));
  EXPECT_NE(GeneratePrompt(1, 2, 8), GeneratePrompt(2, 2, 8));
  const std::string prompt = GeneratePrompt(0, 0, 5);
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), ' '), 4);
}

TEST(Summarize, PercentilesAreSamples) {
  std::vector<double> samples(200);
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // 200, 199, ... 1
  const Distribution d = Summarize(samples);
  EXPECT_EQ(d.sample_count, 200);
  EXPECT_DOUBLE_EQ(d.mean, 100.5);
  EXPECT_EQ(d.p50, 100);
  EXPECT_EQ(d.p90, 180);
  EXPECT_EQ(d.p95, 190);
  EXPECT_EQ(d.p99, 198);
  EXPECT_EQ(d.max, 200);
}

TEST(Summarize, FewSamplesAreNoSpecialCase) {
  EXPECT_EQ(Summarize({}).sample_count, 0);
  const Distribution one = Summarize({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p99, 7);
  EXPECT_EQ(Summarize({1, 2}).p50, 1);
  EXPECT_EQ(Summarize({1, 2}).p90, 2);
}

RequestResult StreamOf(std::vector<int> arrivals_ms, int64_t output_tokens) {
  using std::chrono::milliseconds;
  RequestResult result;
  const RequestResult::Clock::time_point origin{};
  result.begin = origin;
  for (const int ms : arrivals_ms) result.text_arrivals.push_back(origin + milliseconds(ms));
  result.end = origin + milliseconds(arrivals_ms.back() + 5);
  result.prompt_tokens = 3;
  result.output_tokens = output_tokens;
  return result;
}

std::vector<RequestResult> ThreeResults() {
  RequestResult failed;
  failed.failure = "http 500";
  failed.failure_detail = "first";
  return {StreamOf({100, 110, 140}, 5), failed, StreamOf({50}, 1)};
}

TEST(SummarizeLoadtest, DerivesEveryFigureFromTheSuccesses) {
  const LoadtestSummary summary = SummarizeLoadtest(ThreeResults(), std::chrono::seconds(2));
  EXPECT_EQ(summary.succeeded, 2);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(summary.failures.at("http 500").count, 1);
  EXPECT_EQ(summary.failures.at("http 500").example, "first");
  EXPECT_EQ(summary.prompt_tokens, 6);
  EXPECT_EQ(summary.output_tokens, 6);
  EXPECT_DOUBLE_EQ(summary.requests_per_s, 1.0);
  EXPECT_DOUBLE_EQ(summary.output_tokens_per_s, 3.0);
  EXPECT_DOUBLE_EQ(summary.first_token.mean, 75.0);
  EXPECT_EQ(summary.per_token.sample_count, 1);  // one token has no time between tokens
  EXPECT_DOUBLE_EQ(summary.per_token.mean, 10.0);
  EXPECT_EQ(summary.chunk_gap.sample_count, 2);
  EXPECT_DOUBLE_EQ(summary.chunk_gap.max, 30.0);
  EXPECT_DOUBLE_EQ(summary.whole.max, 145.0);
}

TEST(Report, SaysTheSameToPeopleAndPrograms) {
  LoadtestOptions options;
  options.concurrency = 8;
  const LoadtestSummary summary = SummarizeLoadtest(ThreeResults(), std::chrono::seconds(2));
  const std::string text = TextReport(options, summary);
  EXPECT_THAT(text, HasSubstr("2 succeeded, 1 failed in 2.00 s, 8 at a time"));
  EXPECT_THAT(text, HasSubstr("1.00 requests/s, 3.0 output tokens/s"));
  EXPECT_THAT(text, HasSubstr("time to first token           75.0      50.0     100.0"));
  EXPECT_THAT(text, HasSubstr("1 x http 500: first"));

  const std::string json = JsonReport(options, summary);
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  const auto parsed = nlohmann::json::parse(json);
  EXPECT_EQ(parsed["succeeded"], 2);
  EXPECT_EQ(parsed["failures"]["http 500"]["count"], 1);
  EXPECT_EQ(parsed["first_token_ms"]["p90"], 100.0);
  EXPECT_EQ(parsed["output_tokens_per_s"], 3.0);
}

}  // namespace
}  // namespace weft
