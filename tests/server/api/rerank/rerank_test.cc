// POST /v1/rerank, /v2/rerank and /rerank, through the socket, over an engine that makes of each
// text what its tokens say.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/rerank/rerank_job.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TestModelOptions Ranking() {
  TestModelOptions options;
  options.label_count = 1;
  return options;
}

json Answer(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

std::vector<int> IndicesOf(const json& results) {
  std::vector<int> indices;
  for (const json& result : results) indices.push_back(result["index"]);
  return indices;
}

const json kDocuments = {"one", "two", "three", "four"};

TEST(RerankTest, TheBestFirst) {
  const TestServer server(Ranking());
  const json request = {{"query", "q"}, {"documents", kDocuments}};
  const RawResponse response = server.PostTo("/v1/rerank", request.dump());
  const json body = Answer(response);
  EXPECT_EQ(body["model"], "test-model");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("rerank-"));
  const json& results = body["results"];
  ASSERT_EQ(results.size(), 4U);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_GT(results[i - 1]["relevance_score"], results[i]["relevance_score"]);
  }
  for (const json& result : results) {
    EXPECT_FALSE(result.contains("document"));
    EXPECT_GT(result["relevance_score"], 0);
    EXPECT_LT(result["relevance_score"], 1);
  }
  // <s> q </s> document </s>
  EXPECT_EQ(body["usage"], (json{{"prompt_tokens", 31}, {"total_tokens", 31}}));
  EXPECT_EQ(body["meta"]["tokens"]["input_tokens"], 31);
  for (const char* path : {"/v2/rerank", "/rerank"}) {
    EXPECT_EQ(Answer(server.PostTo(path, request.dump()))["results"], results) << path;
  }
}

TEST(RerankTest, TheBestFew) {
  const TestServer server(Ranking());
  json request = {{"query", "q"}, {"documents", kDocuments}};
  const json all = Answer(server.PostTo("/v1/rerank", request.dump()))["results"];
  request["top_n"] = 2;
  request["return_documents"] = true;
  const json best = Answer(server.PostTo("/v1/rerank", request.dump()))["results"];
  ASSERT_EQ(best.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(best[i]["index"], all[i]["index"]);
    EXPECT_EQ(best[i]["document"]["text"], kDocuments[best[i]["index"].get<size_t>()]);
  }
  request["top_n"] = 9;
  EXPECT_EQ(Answer(server.PostTo("/v1/rerank", request.dump()))["results"].size(), 4U);
}

TEST(RerankTest, EqualScoresKeepTheOrderOfTheRequest) {
  const TestServer server(Ranking());
  const json request = {{"query", "q"}, {"documents", json::array({"b", "a", "b", "a", "a", "b"})}};
  const json results = Answer(server.PostTo("/v1/rerank", request.dump()))["results"];
  const std::vector<int> indices = IndicesOf(results);
  EXPECT_TRUE(indices == std::vector<int>({0, 2, 5, 1, 3, 4}) ||
              indices == std::vector<int>({1, 3, 4, 0, 2, 5}))
      << results;
  EXPECT_EQ(results[0]["relevance_score"], results[2]["relevance_score"]);
}

TEST(RerankTest, TextsGetTheOtherAnswer) {
  const TestServer server(Ranking());
  json request = {{"query", "q"}, {"texts", kDocuments}};
  const json plain = Answer(server.PostTo("/rerank", request.dump()));
  ASSERT_EQ(plain.size(), 4U);
  EXPECT_EQ(plain[0].size(), 2U);
  EXPECT_GT(plain[0]["score"], plain[3]["score"]);
  request["raw_scores"] = true;
  request["return_text"] = true;
  const json raw = Answer(server.PostTo("/rerank", request.dump()));
  EXPECT_EQ(IndicesOf(raw), IndicesOf(plain));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(raw[i]["text"], kDocuments[raw[i]["index"].get<size_t>()]);
    EXPECT_EQ(plain[i]["score"], Logistic(raw[i]["score"].get<double>()));
  }
  // Of the other routes it is another field that is missing.
  EXPECT_EQ(ErrorOf(server.PostTo("/v1/rerank", request.dump()))["param"], "documents");
}

TEST(RerankTest, LogitsOnRequest) {
  const TestServer server(Ranking());
  const json request = {{"query", "q"}, {"documents", kDocuments}};
  const json plain = Answer(server.PostTo("/v1/rerank", request.dump()))["results"];
  for (const auto& [field, value] :
       {std::pair("raw_scores", true), std::pair("use_activation", false)}) {
    json changed = request;
    changed[field] = value;
    const json raw = Answer(server.PostTo("/v1/rerank", changed.dump()))["results"];
    ASSERT_EQ(IndicesOf(raw), IndicesOf(plain)) << field;
    for (size_t i = 0; i < 4; ++i) {
      const double logit = raw[i]["relevance_score"];
      EXPECT_NE(logit, plain[i]["relevance_score"].get<double>()) << field;
      EXPECT_EQ(Logistic(logit), plain[i]["relevance_score"].get<double>()) << field;
    }
  }
}

TEST(RerankTest, WhatIsTooLongIsRefusedOrCut) {
  const TestServer server(Ranking());  // of 512 positions
  const std::string lengthy(600, 'a');
  const auto ask = [&](json body) {
    if (!body.contains("query")) body["query"] = "q";
    return server.PostTo("/v1/rerank", body.dump());
  };
  const RawResponse document = ask({{"documents", {"a", lengthy}}});
  EXPECT_EQ(document.status, 400);
  EXPECT_EQ(ErrorOf(document)["param"], "documents[1]");
  EXPECT_EQ(ErrorOf(document)["code"], "context_length_exceeded");
  EXPECT_THAT(ErrorOf(document)["message"].get<std::string>(), HasSubstr("has 604 tokens"));
  const RawResponse query = ask({{"query", lengthy}, {"documents", {"a"}}});
  EXPECT_EQ(query.status, 400);
  EXPECT_EQ(ErrorOf(query)["param"], "query");
  EXPECT_EQ(ErrorOf(query)["code"], "context_length_exceeded");
  // One that leaves room for no token is as well; for a single one there may be room.
  const RawResponse full = ask({{"query", std::string(509, 'a')}, {"documents", {"a"}}});
  EXPECT_EQ(ErrorOf(full)["param"], "query");
  EXPECT_EQ(Answer(ask({{"query", std::string(508, 'a')}, {"documents", {"a"}}}))["usage"],
            (json{{"prompt_tokens", 512}, {"total_tokens", 512}}));

  // 4 tokens stand beside a document.
  const auto usage = [&](const json& body) { return Answer(ask(body))["usage"]; };
  const json both = {{"documents", {"a", lengthy}}};
  json cut = both;
  cut["truncation"] = true;
  EXPECT_EQ(usage(cut),
            (json{{"prompt_tokens", 517}, {"total_tokens", 517}, {"truncated_tokens", 92}}));
  cut["truncate_prompt_tokens"] = 104;
  EXPECT_EQ(usage(cut)["prompt_tokens"], 5 + 104);
  json few = both;
  few["max_tokens_per_doc"] = 10;
  EXPECT_EQ(usage(few),
            (json{{"prompt_tokens", 19}, {"total_tokens", 19}, {"truncated_tokens", 590}}));
  few["max_tokens_per_doc"] = 1000;  // the model's length is less
  EXPECT_EQ(usage(few)["truncated_tokens"], 92);
  // Both texts may lose something.
  EXPECT_EQ(usage({{"query", lengthy}, {"documents", {lengthy}}, {"truncation", true}}),
            (json{{"prompt_tokens", 512}, {"total_tokens", 512}, {"truncated_tokens", 691}}));
  // Which end goes.
  const auto score = [&](const std::string& text, const char* side) {
    return Answer(ask({{"documents", {text}},
                       {"max_tokens_per_doc", 3},
                       {"truncation_side", side}}))["results"][0]["relevance_score"];
  };
  EXPECT_EQ(score("abcxyz", "right"), score("abc", "right"));
  EXPECT_EQ(score("abcxyz", "left"), score("xyz", "right"));
}

TEST(RerankTest, WhatCannotBeIsRefusedByName) {
  const TestServer decoder;
  const std::string body = R"({"query":"q","documents":["a"]})";
  const RawResponse lacks = decoder.PostTo("/v1/rerank", body);
  EXPECT_EQ(lacks.status, 400);
  EXPECT_EQ(ErrorOf(lacks)["param"], "model");
  EXPECT_EQ(ErrorOf(lacks)["message"],
            "the model 'test-model' is a decoder, which ranks no documents: it serves "
            "/v1/chat/completions, /v1/completions and /v1/embeddings");
  const TestServer ranker(Ranking());
  const RawResponse instructed =
      ranker.PostTo("/v1/rerank", R"({"query":"q","documents":["a"],"instruction":"i"})");
  EXPECT_EQ(instructed.status, 400);
  EXPECT_EQ(ErrorOf(instructed)["param"], "instruction");
  EXPECT_EQ(ranker.PostTo("/v1/rerank", R"({"query":"q","documents":["a"],"model":"x"})").status,
            404);
}

// 20,000 documents, in the engine 32 at a time.
TEST(RerankTest, MoreDocumentsThanTheQueueHolds) {
  TestModelOptions options = Ranking();
  options.max_waiting = 4;
  const TestServer server(options);
  std::vector<std::string> documents;
  for (int i = 0; i < 20'000; ++i) documents.push_back("text " + std::to_string(i % 100));
  const json results = Answer(server.PostTo(
      "/v1/rerank", json{{"query", "q"}, {"documents", documents}}.dump()))["results"];
  ASSERT_EQ(results.size(), 20'000U);
  for (size_t i = 1; i < results.size(); ++i) {
    const json& before = results[i - 1];
    ASSERT_GE(before["relevance_score"], results[i]["relevance_score"]);
    if (before["relevance_score"] == results[i]["relevance_score"]) {
      ASSERT_LT(before["index"], results[i]["index"]);
    }
  }
}

// A short body whose pairs are long: each document has the query beside it.
TEST(RerankTest, WhatPairsTakeIsHeldBefore) {
  ServerOptions server_options;
  server_options.request_memory_bytes = 16 << 20;
  TestModelOptions options = Ranking();
  options.max_context = 16384;
  const TestServer server(options, server_options);
  const auto ask = [&](int count) {
    return server.PostTo("/v1/rerank", json{{"query", std::string(10'000, 'q')},
                                            {"documents", std::vector<std::string>(count, "d")}}
                                           .dump());
  };
  const RawResponse refused = ask(4000);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(ErrorOf(refused)["message"].get<std::string>(), HasSubstr("bytes of memory"));
  EXPECT_EQ(Answer(ask(20))["results"].size(), 20U);
}

// Off the io threads, and with memory held for it: what the pairs come to is known before.
TEST(RerankTest, ManyLongPairsAreAnExcess) {
  const TestModel model(Ranking());
  ServedModel served = model.Served();
  const RequestRules rules;
  const auto prepare = [&](json body, size_t max_bytes) {
    ModelRegistry registry({served});
    RequestModels models(registry);
    body["query"] = std::string(400, 'q');
    body["documents"] = {"a", "bc", "d"};
    return PrepareRerank(body.dump(), {.models = models, .rules = rules, .max_bytes = max_bytes})
        .value();
  };
  const GenerationJob fits = prepare(json::object(), 3 * 400 + 4);
  EXPECT_EQ(fits.excess_bytes, 0U);
  EXPECT_EQ(fits.prompts.size(), 3U);
  const GenerationJob excess = prepare(json::object(), 3 * 400 + 3);
  EXPECT_EQ(excess.excess_bytes, 3U * 400 + 4);
  EXPECT_TRUE(excess.prompts.empty());
  // So does what a prompt has around each pair, a client's instruction above all.
  served.ranking->prompt = RankingPrompt{.prefix = "p", .lead = {"l"}, .body = "b", .suffix = "s"};
  EXPECT_EQ(prepare(json::object(), 3 * 400 + 3).excess_bytes, 3U * (400 + 4) + 4);
  EXPECT_EQ(prepare({{"instruction", std::string(70, 'i')}}, 3 * 400 + 3).excess_bytes,
            3U * 474 + 4);
}

TEST(RerankTest, AStepThatFailsIsAnError) {
  TestServer server(Ranking());
  server.model.FailNextStep();
  const RawResponse response =
      server.PostTo("/v1/rerank", R"({"query":"q","documents":["a","b"]})");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(ErrorOf(response)["code"], "generation_failed");
}

}  // namespace
}  // namespace weft
