// POST /v1/score with labels and /generative_scoring, through the socket.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/label_scores/label_score_job.h"
#include "tests/server/fixture_server.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Whole(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

// What the engine would write next, by the logits of all letters.
TEST(LabelScoreTest, ProbabilitiesAreThoseOfTheNextToken) {
  const TestServer server;
  std::vector<int> letters;
  for (int letter = 'a'; letter <= 'z'; ++letter) letters.push_back(letter);
  json request = {{"query", "once"}, {"items", {" upon", " more"}}, {"label_token_ids", letters}};
  const json answer = Whole(server.PostTo("/v1/score", request.dump()));
  EXPECT_EQ(answer["object"], "scoring");
  EXPECT_EQ(answer["model"], "test-model");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 20);  // <s> once upon
  ASSERT_EQ(answer["scores"].size(), 2U);
  const auto scores = answer["scores"][0].get<std::vector<double>>();
  double sum = 0;
  for (const double score : scores) sum += score;
  EXPECT_NEAR(sum, 1, 1e-6);  // of the whole vocabulary
  const RawResponse generated =
      server.Post(R"({"prompt":"once upon","max_tokens":1,"temperature":0,"logprobs":1})");
  const json choice = Whole(generated)["choices"][0];
  const auto best = static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
  EXPECT_EQ(choice["text"], std::string(1, static_cast<char>('a' + best)));
  EXPECT_NEAR(std::log(scores[best]), choice["logprobs"]["token_logprobs"][0].get<double>(), 1e-5);

  json alone = request;
  alone["items"] = json::array({" more"});
  EXPECT_EQ(Whole(server.PostTo("/v1/score", alone.dump()))["scores"][0], answer["scores"][1]);

  request["label_token_ids"] = {'a', 'b'};
  request["apply_softmax"] = true;
  const json two = Whole(server.PostTo("/v1/score", request.dump()))["scores"][0];
  EXPECT_NEAR(two[0].get<double>(), scores[0] / (scores[0] + scores[1]), 1e-6);
  request.erase("label_token_ids");
  request["labels"] = {"a", "b"};
  EXPECT_EQ(Whole(server.PostTo("/v1/score", request.dump()))["scores"][0], two);
  // vLLM's: the first label's score.
  request = {{"query", "once"}, {"items", {" upon"}}, {"label_token_ids", {'a', 'b'}}};
  const json vllm = Whole(server.PostTo("/generative_scoring", request.dump()));
  EXPECT_EQ(vllm["data"][0]["score"], two[0]);
  EXPECT_TRUE(vllm["id"].get<std::string>().starts_with("generative-scoring-"));
}

TEST(LabelScoreTest, ItemsMayComeFirstAndBeTokens) {
  const TestServer server;
  const auto scores = [&](const json& query, const json& items, bool item_first) {
    return Whole(server.PostTo("/v1/score", json{{"query", query},
                                                 {"items", items},
                                                 {"item_first", item_first},
                                                 {"label_token_ids", {'a', 'b'}}}
                                                .dump()))["scores"];
  };
  EXPECT_EQ(scores("bc", {"a"}, true), scores("a", {"bc"}, false));
  EXPECT_NE(scores("bc", {"a"}, false), scores("a", {"bc"}, false));
  EXPECT_EQ(scores({256, 'a'}, {{'b', 'c'}}, false), scores("a", {"bc"}, false));
}

// See RerankTest.ManyLongPairsAreAnExcess.
TEST(LabelScoreTest, ManyLongItemsAreAnExcess) {
  const TestModel model;
  ModelRegistry registry({model.Served()});
  RequestModels models(registry);
  const RequestRules rules;
  PrepareContext context = {.models = models, .rules = rules};
  context.max_bytes = 500;
  const auto excess = [&](const json& query, const json& items) {
    const json body = {{"query", query}, {"items", items}, {"label_token_ids", {1, 2}}};
    const GenerationJob job = PrepareGenerativeScoring(body.dump(), context).value();
    EXPECT_EQ(job.prompts.empty(), job.excess_bytes > 0);
    return job.excess_bytes;
  };
  const std::string text(200, 'a');
  EXPECT_EQ(excess(text, {"b", "cd"}), 0U);
  EXPECT_EQ(excess(text, {"b", "cd", "e"}), 604U);
  const std::vector<int> ids(60, 97);
  EXPECT_EQ(excess(ids, {{1}, {2, 3}}), 0U);
  EXPECT_EQ(excess(ids, {{1}, {2, 3}, {4}}), 4U * (3 * 60 + 4));
}

TEST(LabelScoreTest, WhatCannotBeIsRefusedByName) {
  const TestServer server;
  const auto refused = [&](const json& body) {
    const RawResponse response = server.PostTo("/v1/score", body.dump());
    EXPECT_EQ(response.status, 400) << response.body;
    return ErrorOf(response);
  };
  EXPECT_EQ(refused({{"query", "a"}, {"items", {"b"}}, {"label_token_ids", {258}}})["param"],
            "label_token_ids[0]");
  EXPECT_EQ(refused({{"query", "a"}, {"items", {"b"}}, {"labels", {"a", "bc"}}})["message"],
            "'labels[1]' has 2 tokens; a label is a text of one");
  const json lengthy =
      refused({{"query", "a"}, {"items", {"b", std::string(600, 'c')}}, {"label_token_ids", {1}}});
  EXPECT_EQ(lengthy["param"], "items[1]");
  EXPECT_EQ(lengthy["message"],  // nothing here would have it cut
            "'items[1]' is too large: it has 602 tokens, and the model's context 512 positions; "
            "shorten it");
  const FixtureServer encoder("bert");
  const RawResponse lacks = encoder.PostTo(
      "/generative_scoring", {{"query", "a"}, {"items", {"b"}}, {"label_token_ids", {1}}});
  EXPECT_EQ(lacks.status, 400);
  EXPECT_THAT(ErrorOf(lacks)["message"].get<std::string>(),
              HasSubstr("which scores no next tokens"));
}

}  // namespace
}  // namespace weft
