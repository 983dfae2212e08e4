// /v1/rerank with real rankers, through the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/fixture_server.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

TEST(RerankModelTest, ScoresAreWhatTheModelMakesOfThePair) {
  const FixtureServer server("jina_reranker_v2");
  const std::vector<std::string> documents = {"abc", "the weft crosses the warp", "", "weft"};
  const RawResponse response =
      server.PostTo("/v1/rerank", {{"query", "who weaves"}, {"documents", documents}});
  ASSERT_EQ(response.status, 200) << response.body;
  const json results = json::parse(response.body)["results"];
  ASSERT_EQ(results.size(), documents.size());
  const Ranking& ranking = *server.checkpoint().ranking;
  double last = 2;
  int64_t token_count = 0;
  for (const json& result : results) {
    const EncodedText pair =
        EncodeRanking(ranking, *server.checkpoint().tokenizer,
                      {.query = "who weaves", .document = documents[result["index"]]}, {})
            .value();
    Request request;
    request.prompt = pair.ids;
    request.second_text = pair.second_text;
    request.pooling = {.output = PooledOutput::kLabels,
                       .pooling = server.checkpoint().spec.classifier->pooling};
    EXPECT_EQ(result["relevance_score"], RankingScore(ranking, server.Pool(request).values));
    EXPECT_LE(result["relevance_score"], last);
    last = result["relevance_score"];
    token_count += std::ssize(pair.ids);
  }
  EXPECT_EQ(json::parse(response.body)["usage"]["prompt_tokens"], token_count);
}

TEST(RerankModelTest, OthersSayWhatTheyServe) {
  const FixtureServer ranker("jina_reranker_v2");
  const RawResponse text = ranker.PostTo("/v1/completions", {{"prompt", "a"}});
  EXPECT_EQ(text.status, 400);
  EXPECT_EQ(ErrorOf(text)["message"],
            "the model 'jina_reranker_v2' is a ranker, which generates no text: it serves "
            "/v1/rerank and /v1/score");
  const FixtureServer encoder("bert");
  const RawResponse ranked =
      encoder.PostTo("/rerank", {{"query", "a"}, {"documents", json::array({"b"})}});
  EXPECT_EQ(ranked.status, 400);
  EXPECT_EQ(ErrorOf(ranked)["param"], "model");
  EXPECT_EQ(ErrorOf(ranked)["message"],
            "the model 'bert' is an encoder, which ranks no documents: it serves /v1/embeddings");
}

}  // namespace
}  // namespace weft
