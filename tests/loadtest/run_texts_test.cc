// Endpoints that make a vector or a score of each text, against a server that says what the test
// tells it to.
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/html_report.h"
#include "loadtest/report/json_report.h"
#include "loadtest/report/load_report.h"
#include "loadtest/report/plan_text.h"
#include "loadtest/report/table_report.h"
#include "loadtest/run/texts_answer.h"
#include "tests/loadtest/run_fixture.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(TextsAnswer, EmbeddingsInTheOrderOfTheirTexts) {
  const auto answer = ReadTextsAnswer(
      R"({"id":"e-1","data":[{"index":1,"embedding":"AAA="},{"index":0,"embedding":[0.5,-1]}],)"
      R"("usage":{"prompt_tokens":7,"total_tokens":7}})",
      2);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->id, "e-1");
  EXPECT_EQ(answer->prompt_tokens, 7);
  EXPECT_EQ(answer->values, "[0.5,-1]\n\"AAA=\"\n");
}

TEST(TextsAnswer, ScoresInTheOrderOfTheirDocuments) {
  const auto tokens_of = [](const std::string& rest) {
    const auto answer = ReadTextsAnswer(
        R"({"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.25}])" +
            rest + "}",
        2);
    EXPECT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->values, "0.25\n0.9\n");
    return answer->prompt_tokens;
  };
  EXPECT_EQ(tokens_of(""), std::nullopt);
  EXPECT_EQ(tokens_of(R"(,"usage":{"total_tokens":12})"), 12);
  EXPECT_EQ(tokens_of(R"(,"meta":{"tokens":{"input_tokens":13}})"), 13);
  EXPECT_EQ(tokens_of(R"(,"usage":{"prompt_tokens":-1})"), std::nullopt);
}

TEST(TextsAnswer, WhatIsNone) {
  const auto refused = [](std::string_view body, const std::string& message) {
    const auto answer = ReadTextsAnswer(body, 2);
    ASSERT_FALSE(answer) << body;
    EXPECT_THAT(answer.error().message, HasSubstr(message));
  };
  refused("[]", "expected a JSON object");
  refused("{", "expected a JSON object");
  refused(R"({"error":{"message":"too long"}})", "too long");
  refused("{}", "each of 2 texts, found 0");
  refused(R"({"data":[{"index":0,"embedding":[1]}]})", "each of 2 texts, found 1");
  const auto with = [&](const std::string& entry) {
    refused(R"({"data":[{"index":0,"embedding":[1]},)" + entry + "]}", "one of 2 texts, found");
  };
  with(R"({"index":0,"embedding":[1]})");
  with(R"({"index":2,"embedding":[1]})");
  with(R"({"index":-1,"embedding":[1]})");
  with(R"({"index":1.0,"embedding":[1]})");
  with(R"({"embedding":[1]})");
  with(R"({"index":1})");
  with(R"({"index":1,"embedding":[]})");
  with(R"({"index":1,"embedding":3})");
  with(R"({"index":1,"relevance_score":"high"})");
  with("3");
}

// A vector for each text, which `change` may make another.
std::string Embeddings(const json& body, bool change = false) {
  json data = json::array();
  for (const json& text : body.at("input")) {
    const std::string value = text.is_string() ? text.get<std::string>() : text.dump();
    data.push_back({{"index", data.size()}, {"embedding", value + (change ? "x" : "")}});
  }
  return json{{"data", data}, {"usage", {{"prompt_tokens", 8 * data.size()}}}}.dump();
}

TEST(RunTexts, EmbeddingsOfSeveralTextsARequest) {
  std::mutex mutex;
  std::multiset<std::string> texts;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        EXPECT_TRUE(request.starts_with("POST /v1/embeddings ")) << request;
        const json body = json::parse(BodyOf(request));
        EXPECT_EQ(body.size(), 3U) << body;
        EXPECT_EQ(body["model"], "listed");
        EXPECT_EQ(body["encoding_format"], "base64");
        EXPECT_THAT(body["input"], SizeIs(3));
        {
          const std::lock_guard lock(mutex);
          for (const json& text : body["input"]) texts.insert(text.get<std::string>());
        }
        connection.Write(JsonResponse("200 OK", Embeddings(body)));
      }));
  RunOptions options = OptionsFor(server);
  options.endpoint = Endpoint::kEmbeddings;
  options.texts_per_request = 3;
  options.stream = true;  // there is none
  const LoadPlan plan = PlanOf(10, 2);
  const Result<LoadRun> run = RunPlan(plan, options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_FALSE(run->generates);
  ASSERT_THAT(run->records, SizeIs(10));
  for (const RequestRecord& record : run->records) {
    EXPECT_TRUE(record.ok()) << record.failure << record.failure_detail;
    EXPECT_EQ(record.text_count, 3);
    EXPECT_EQ(record.prompt_tokens, 24);
    EXPECT_EQ(record.output_tokens, 0);
  }
  EXPECT_THAT(std::set<std::string>(texts.begin(), texts.end()), SizeIs(30))
      << "every text is another";

  const LoadReport report = MakeLoadReport(*run, plan, PlanText(plan, options), {});
  EXPECT_EQ(report.summary.all.texts, 30);
  EXPECT_THAT(report.plan, HasSubstr("texts of 8 tokens; 3 a request for embeddings"));
  const json figures = json::parse(JsonReport(report));
  EXPECT_EQ(figures["texts"], 30);
  EXPECT_GT(figures["texts_per_s"], 0);
  EXPECT_FALSE(figures.contains("output_tokens"));
  EXPECT_FALSE(figures.contains("output_tokens_per_s"));
  EXPECT_FALSE(figures["latency_ms"].contains("ttft"));
  EXPECT_TRUE(figures["latency_ms"].contains("e2e"));
  const std::string table = TableReport(report, /*colour=*/false);
  EXPECT_THAT(table, HasSubstr(" texts/s, "));
  EXPECT_THAT(table, HasSubstr("240 in of 30 texts"));
  EXPECT_THAT(table, Not(HasSubstr("output tokens")));
  EXPECT_THAT(table, Not(HasSubstr("first token")));
  const std::string html = HtmlReport(report, *run);
  EXPECT_THAT(html, HasSubstr("texts/s"));
  EXPECT_THAT(html, Not(HasSubstr("tokens/s")));
  EXPECT_THAT(html, Not(HasSubstr("oken latency")));
}

TEST(RunTexts, ARequestOfTokenIds) {
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        const json body = json::parse(BodyOf(request));
        EXPECT_THAT(body["input"], SizeIs(2));
        EXPECT_THAT(body["input"][1], SizeIs(8));
        EXPECT_NE(body["input"][0], body["input"][1]);
        connection.Write(JsonResponse("200 OK", Embeddings(body)));
      }));
  RunOptions options = OptionsFor(server);
  options.endpoint = Endpoint::kEmbeddings;
  options.texts_per_request = 2;
  LoadPlan plan = PlanOf(1, 1);
  plan.vocabulary_size = 1000;
  const Result<LoadRun> run = RunPlan(plan, options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->records[0].ok()) << run->records[0].failure_detail;
}

TEST(RunTexts, AQueryWithItsDocuments) {
  std::vector<json> bodies;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        EXPECT_TRUE(request.starts_with("POST /v1/rerank ")) << request;
        bodies.push_back(json::parse(BodyOf(request)));
        json results = json::array();
        for (size_t i = bodies.back()["documents"].size(); i-- > 0;) {
          results.push_back({{"index", i}, {"relevance_score", 0.1 * static_cast<double>(i)}});
        }
        connection.Write(JsonResponse("200 OK", json{{"results", results}}.dump()));
      }));
  RunOptions options = OptionsFor(server);
  options.endpoint = Endpoint::kRerank;
  options.verify_count = -1;
  ASSERT_TRUE(RunPlan(PlanOf(1, 1), options));
  ASSERT_THAT(bodies, SizeIs(2));
  EXPECT_EQ(bodies[0], bodies[1]) << "verified";
  EXPECT_EQ(bodies[0].size(), 3U) << bodies[0];
  EXPECT_THAT(bodies[0]["documents"], SizeIs(10));
  std::set<std::string> texts = {bodies[0]["query"].get<std::string>()};
  for (const json& document : bodies[0]["documents"]) texts.insert(document.get<std::string>());
  EXPECT_THAT(texts, SizeIs(11));

  bodies.clear();
  options.documents_per_request = 3;
  options.verify_count = 0;
  LoadPlan plan = PlanOf(1, 1);
  plan.requests[0].segments.clear();
  plan.requests[0].given_prompt = 1;
  for (const char* text : {"a", "b", "c"})
    plan.given_prompts.push_back({.text = text, .messages = {}});
  const Result<LoadRun> run = RunPlan(plan, options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->records[0].text_count, 3) << run->records[0].failure_detail;
  ASSERT_THAT(bodies, SizeIs(1));
  EXPECT_EQ(bodies[0]["query"], "b");
  EXPECT_EQ(bodies[0]["documents"], (json{"c", "a", "b"}));
}

TEST(RunTexts, AnotherVectorThanAloneIsAWrongOutput) {
  std::atomic<int> answered = 0;
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        // Two requests of the run, then the same again: the second of these is another.
        const bool change = ++answered == 4;
        connection.Write(JsonResponse("200 OK", Embeddings(json::parse(BodyOf(request)), change)));
      }));
  RunOptions options = OptionsFor(server);
  options.endpoint = Endpoint::kEmbeddings;
  options.verify_count = -1;
  const Result<LoadRun> run = RunPlan(PlanOf(2, 1), options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->verified_count, 2);
  EXPECT_EQ(run->mismatch_count, 1);
  EXPECT_EQ(run->records[1].failure, "wrong output");
}

TEST(RunTexts, AnAnswerThatLacksATextIsAFailure) {
  const ScriptedServer server(
      WithModels([&](ScriptedConnection& connection, const std::string& request) {
        json body = json::parse(BodyOf(request));
        body["input"].erase(0);
        connection.Write(JsonResponse("200 OK", Embeddings(body)));
      }));
  RunOptions options = OptionsFor(server);
  options.endpoint = Endpoint::kEmbeddings;
  options.texts_per_request = 2;
  const Result<LoadRun> run = RunPlan(PlanOf(1, 1), options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->records[0].failure, "bad response");
  EXPECT_EQ(run->records[0].text_count, 0);
}

TEST(RunTexts, OptionsThatDoNotGoTogether) {
  const ScriptedServer server(WithModels([](ScriptedConnection&, const std::string&) {}));
  const auto refused = [&](const LoadPlan& plan, const RunOptions& options, const char* message) {
    const Result<LoadRun> run = RunPlan(plan, options);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(run.error().message, HasSubstr(message));
  };
  RunOptions options = OptionsFor(server);
  options.texts_per_request = 2;
  refused(PlanOf(1, 1), options, "--texts-per-request: expected --endpoint embeddings");
  options.endpoint = Endpoint::kRerank;
  refused(PlanOf(1, 1), options, "--texts-per-request: expected --endpoint embeddings");
  options.texts_per_request.reset();
  LoadPlan ids = PlanOf(1, 1);
  ids.vocabulary_size = 100;
  refused(ids, options, "queries and documents are text");
  refused(TwoTurns(), options, "--turns");
  options.endpoint = Endpoint::kEmbeddings;
  options.documents_per_request = 2;
  refused(PlanOf(1, 1), options, "--documents-per-request: expected --endpoint rerank");
  options.documents_per_request.reset();
  options.ignore_eos = true;
  refused(PlanOf(1, 1), options, "--ignore-eos");
}

}  // namespace
}  // namespace weft
