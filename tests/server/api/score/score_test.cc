// POST /v1/score, through the socket.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/score/score_answer.h"
#include "server/api/score/score_job.h"
#include "tests/server/fixture_server.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json ScoresOf(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  const json body = json::parse(response.body);
  EXPECT_EQ(body["object"], "list");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("score-"));
  EXPECT_GT(body["created"], 1'700'000'000);
  json scores = json::array();
  for (const json& entry : body["data"]) {
    EXPECT_EQ(entry["index"], scores.size());
    EXPECT_EQ(entry["object"], "score");
    scores.push_back(entry["score"]);
  }
  return scores;
}

TEST(ScoreTest, OfARankerItIsThatOfRerank) {
  const FixtureServer server("jina_reranker_v2");
  const json documents = {"warp", "weft", "the crossing threads"};
  const json one =
      ScoresOf(server.PostTo("/v1/score", {{"text_1", "what crosses"}, {"text_2", documents}}));
  ASSERT_EQ(one.size(), 3U);
  const RawResponse ranked =
      server.PostTo("/v1/rerank", {{"query", "what crosses"}, {"documents", documents}});
  const json ranking = json::parse(ranked.body);
  for (const json& result : ranking["results"]) {
    EXPECT_EQ(one[result["index"].get<size_t>()], result["relevance_score"]);
  }
  const json pairs = {{"queries", {"a", "what crosses", "b"}}, {"items", documents}};
  const json each = ScoresOf(server.PostTo("/score", pairs));
  EXPECT_EQ(each[1], one[1]);
  EXPECT_NE(each[0], one[0]);
  const json raw = ScoresOf(server.PostTo(
      "/v1/score", {{"text_1", "what crosses"}, {"text_2", "warp"}, {"use_activation", false}}));
  EXPECT_EQ(Logistic(raw[0].get<double>()), one[0]);
}

TEST(ScoreTest, OfEmbeddingsItIsTheCosine) {
  const FixtureServer server("bert");
  const json texts = {"warp", "weft", "warp"};
  const json one = ScoresOf(server.PostTo("/v1/score", {{"text_1", "warp"}, {"text_2", texts}}));
  EXPECT_NEAR(one[0].get<double>(), 1, 1e-12);
  EXPECT_EQ(one[0], one[2]);
  EXPECT_LT(one[1], one[0]);
  const json same = ScoresOf(server.PostTo("/v1/score", {{"text_1", texts}, {"text_2", texts}}));
  ASSERT_EQ(same.size(), 3U);
  for (const json& score : same) EXPECT_NEAR(score.get<double>(), 1, 1e-12);
  const json turned = {"warp", "warp", "weft"};
  const json pairs = ScoresOf(server.PostTo("/v1/score", {{"text_1", texts}, {"text_2", turned}}));
  EXPECT_EQ(pairs, json({one[0], one[1], one[1]}));
  const json swapped = ScoresOf(
      server.PostTo("/v1/score", {{"text_1", {"weft", "x"}}, {"text_2", {"warp", "warp"}}}));
  EXPECT_EQ(swapped[0], one[1]);

  const RawResponse vectors = server.PostTo("/v1/embeddings", {{"input", {"warp", "weft"}}});
  const json data = json::parse(vectors.body)["data"];
  EXPECT_NEAR(CosineSimilarity(data[0]["embedding"].get<std::vector<float>>(),
                               data[1]["embedding"].get<std::vector<float>>()),
              one[1].get<double>(), 1e-6);
  const std::vector<float> zeros(2);
  EXPECT_EQ(CosineSimilarity(zeros, zeros), 0);
}

TEST(ScoreTest, WhatCannotBeIsRefusedByName) {
  const FixtureServer classifier("bert_classifier");
  const RawResponse refused = classifier.PostTo("/v1/score", {{"text_1", "a"}, {"text_2", "b"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(ErrorOf(refused)["message"].get<std::string>(),
              HasSubstr("which scores no pairs of texts"));
  const TestServer server;
  const RawResponse lengthy = server.PostTo(
      "/v1/score", json{{"text_1", "a"}, {"text_2", {"b", std::string(600, 'a')}}}.dump());
  EXPECT_EQ(lengthy.status, 400);
  EXPECT_EQ(ErrorOf(lengthy)["param"], "text_2[1]");
  const RawResponse cut = server.PostTo(
      "/v1/score",
      json{{"text_1", "a"}, {"text_2", std::string(600, 'a')}, {"truncation", true}}.dump());
  EXPECT_EQ(json::parse(cut.body)["usage"],
            (json{{"prompt_tokens", 514}, {"total_tokens", 514}, {"truncated_tokens", 89}}));
  const RawResponse instructed = server.PostTo(
      "/v1/score", json{{"text_1", "a"}, {"text_2", "b"}, {"instruction", "c"}}.dump());
  EXPECT_EQ(ErrorOf(instructed)["param"], "model");
}

TEST(ScoreTest, WhatIsTooLongHasItsPlace) {
  const std::string lengthy(600, 'a');
  for (const int label_count : {0, 1}) {  // a decoder's embeddings, and a ranker
    TestModelOptions options;
    options.label_count = label_count;
    const TestServer server(options);
    const auto refused = [&](const json& first, const json& second) {
      const RawResponse response =
          server.PostTo("/v1/score", json{{"queries", first}, {"items", second}}.dump());
      EXPECT_EQ(response.status, 400) << response.body;
      EXPECT_EQ(ErrorOf(response)["code"], "context_length_exceeded");
      return ErrorOf(response)["param"];
    };
    EXPECT_EQ(refused(lengthy, {"a", "b"}), "queries");
    EXPECT_EQ(refused({lengthy}, {"a", "b"}), "queries[0]");
    EXPECT_EQ(refused({"a", lengthy}, {"a", "b"}), "queries[1]");
    EXPECT_EQ(refused("a", lengthy), "items");
    EXPECT_EQ(refused({"a", "b"}, {"a", lengthy}), "items[1]");
  }
}

TEST(ScoreTest, ARankersPairsAreCutOnRequest) {
  TestModelOptions options;
  options.label_count = 1;
  const TestServer server(options);  // of 512 positions; 3 special tokens stand in a pair
  json request = {{"text_1", {"a", "a"}},
                  {"text_2", {std::string(508, 'b'), std::string(600, 'b')}},
                  {"truncation", true}};
  const RawResponse response = server.PostTo("/v1/score", request.dump());
  const json scores = ScoresOf(response);
  EXPECT_EQ(scores[0], scores[1]);
  EXPECT_EQ(json::parse(response.body)["usage"],
            (json{{"prompt_tokens", 1024}, {"total_tokens", 1024}, {"truncated_tokens", 92}}));
  request["model"] = "other";
  EXPECT_EQ(server.PostTo("/v1/score", request.dump()).status, 404);
}

// See RerankTest.ManyLongPairsAreAnExcess.
TEST(ScoreTest, ManyLongPairsAreAnExcess) {
  TestModelOptions options;
  options.label_count = 1;
  const TestModel model(options);
  ServedModel served = model.Served();
  const RequestRules rules;
  const auto excess = [&](const json& first, const json& second) {
    ModelRegistry registry({served});
    RequestModels models(registry);
    const PrepareContext context = {.models = models, .rules = rules, .max_bytes = 500};
    const GenerationJob job =
        PrepareScore(json{{"text_1", first}, {"text_2", second}}.dump(), context).value();
    EXPECT_EQ(job.prompts.empty(), job.excess_bytes > 0);
    return job.excess_bytes;
  };
  const std::string text(200, 'a');
  EXPECT_EQ(excess(text, {"b", "cd"}), 0U);
  EXPECT_EQ(excess(text, {"b", "cd", "e"}), 604U);
  EXPECT_EQ(excess({text, text}, {text, "b"}), 601U);
  served.ranking->prompt = RankingPrompt{.prefix = std::string(50, 'p')};
  EXPECT_EQ(excess(text, {"b", "cd"}), 503U);
  EXPECT_EQ(excess({text, text}, {text, "b"}), 701U);
}

TEST(ScoreTest, ManyPairs) {
  TestModelOptions options;
  options.max_waiting = 4;
  const TestServer server(options);
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back("text " + std::to_string(i % 50));
  const json scores =
      ScoresOf(server.PostTo("/v1/score", json{{"text_1", "text 7"}, {"text_2", texts}}.dump()));
  ASSERT_EQ(scores.size(), 3000U);
  for (size_t i = 50; i < scores.size(); ++i) ASSERT_EQ(scores[i], scores[i % 50]);
  EXPECT_NEAR(scores[7].get<double>(), 1, 1e-12);
}

}  // namespace
}  // namespace weft
