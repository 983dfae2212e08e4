// POST /embed_sparse, through the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/fixture_server.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

TEST(SparseTest, WeightsAreTheModels) {
  const FixtureServer server("distilbert_masked");
  const std::vector<std::string> texts = {"the weft crosses the warp", "abc"};
  const RawResponse response = server.PostTo("/embed_sparse", {{"inputs", texts}});
  ASSERT_EQ(response.status, 200) << response.body;
  const json vectors = json::parse(response.body);
  ASSERT_EQ(vectors.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    Request request;
    request.prompt = server.checkpoint().tokenizer->Encode(texts[i], {}).value();
    request.pooling = {.output = PooledOutput::kSparse};
    const PooledResult pooled = server.Pool(request);
    ASSERT_FALSE(pooled.tokens.empty());
    ASSERT_EQ(vectors[i].size(), pooled.tokens.size());
    for (size_t k = 0; k < pooled.tokens.size(); ++k) {
      EXPECT_EQ(vectors[i][k]["index"], pooled.tokens[k]);
      EXPECT_EQ(vectors[i][k]["value"].get<float>(), pooled.values[k]);
    }
  }
}

TEST(SparseTest, WhatIsTooLongIsRefusedOrCut) {
  const FixtureServer server("distilbert_masked");
  std::string lengthy;
  for (int i = 0; i < 100; ++i) lengthy += "a ";
  const RawResponse refused = server.PostTo("/embed_sparse", {{"inputs", {"abc", lengthy}}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["param"], "inputs[1]");
  EXPECT_EQ(ErrorOf(refused)["code"], "context_length_exceeded");
  EXPECT_EQ(server.PostTo("/embed_sparse", {{"inputs", lengthy}, {"truncate", true}}).status, 200);
  Request request;
  request.prompt = server.checkpoint()
                       .tokenizer->EncodeTruncated("the weft crosses", {}, {.max_tokens = 4})
                       .value()
                       .ids;
  request.pooling = {.output = PooledOutput::kSparse};
  const RawResponse cut = server.PostTo(
      "/embed_sparse", {{"inputs", "the weft crosses"}, {"truncate_prompt_tokens", 4}});
  ASSERT_EQ(cut.status, 200) << cut.body;
  std::vector<TokenId> tokens;
  const json vector = json::parse(cut.body)[0];
  for (const json& entry : vector) tokens.push_back(entry["index"]);
  EXPECT_EQ(tokens, server.Pool(request).tokens);
  const RawResponse unknown =
      server.PostTo("/embed_sparse", {{"inputs", "a"}, {"prompt_name", "query"}});
  EXPECT_EQ(ErrorOf(unknown)["param"], "prompt_name");
}

TEST(SparseTest, OthersSayWhatTheyServe) {
  const FixtureServer server("bert");
  const RawResponse lacks = server.PostTo("/embed_sparse", {{"inputs", "a"}});
  EXPECT_EQ(lacks.status, 400);
  EXPECT_EQ(ErrorOf(lacks)["message"],
            "the model 'bert' is an encoder, which makes no sparse vectors: it serves "
            "/v1/embeddings");
}

}  // namespace
}  // namespace weft
