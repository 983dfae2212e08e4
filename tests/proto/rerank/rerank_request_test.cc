#include "proto/rerank/rerank_request.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/rerank/rerank_response.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(RerankRequestTest, ReadsCoheresShape) {
  const auto request = ParseRerankRequest(
      R"({"model":"m","query":"q","documents":["a",{"text":"b","title":"x"}],"top_n":1,
          "return_documents":true,"max_tokens_per_doc":7,"instruction":"i","priority":3,"new":1})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model, "m");
  EXPECT_EQ(request->query, "q");
  EXPECT_THAT(request->documents, ElementsAre("a", "b"));
  EXPECT_EQ(request->top_n, 1);
  EXPECT_EQ(request->max_tokens_per_doc, 7);
  EXPECT_EQ(request->instruction, "i");
  EXPECT_TRUE(request->returns_documents);
  EXPECT_FALSE(request->raw_scores);
  EXPECT_FALSE(request->as_tei);
  EXPECT_FALSE(request->truncation.is_wanted);
  EXPECT_EQ(request->unknown_field_count, 1);
  // vLLM's clients send 0 for all of them.
  EXPECT_FALSE(ParseRerankRequest(R"({"query":"q","documents":["a"],"top_n":0})")->top_n);
}

TEST(RerankRequestTest, TextsMakeItTheOtherShape) {
  const auto request = ParseAnyRerankRequest(
      R"({"query":"q","texts":["a","b"],"raw_scores":true,"return_text":true,"truncate":true,
          "truncation_direction":"Left"})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(request->as_tei);
  EXPECT_EQ(request->documents_path, "texts");
  EXPECT_TRUE(request->raw_scores);
  EXPECT_TRUE(request->returns_documents);
  EXPECT_TRUE(request->truncation.is_wanted);
  EXPECT_TRUE(request->truncation.keeps_end);
  EXPECT_FALSE(ParseAnyRerankRequest(R"({"query":"q","documents":["a"]})")->as_tei);
}

TEST(RerankRequestTest, TruncationHasManyNames) {
  const auto truncation = [](const char* field) {
    return ParseRerankRequest(R"({"query":"q","documents":["a"],)" + std::string(field) + "}")
        ->truncation;
  };
  EXPECT_TRUE(truncation(R"("truncation":true)").is_wanted);
  EXPECT_FALSE(truncation(R"("truncate":false)").is_wanted);
  EXPECT_TRUE(truncation(R"("truncate_prompt_tokens":-1)").is_wanted);
  EXPECT_FALSE(truncation(R"("truncate_prompt_tokens":-1)").max_tokens);
  EXPECT_TRUE(truncation(R"("truncate_prompt_tokens":9)").is_wanted);
  EXPECT_EQ(truncation(R"("truncate_prompt_tokens":9)").max_tokens, 9);
  EXPECT_TRUE(truncation(R"("truncation_side":"left")").keeps_end);
}

TEST(RerankRequestTest, WhatIsWrongHasItsPlace) {
  const auto refused = [](const char* body, const char* param, const char* message) {
    const auto request = ParseAnyRerankRequest(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().param, param) << body;
    EXPECT_THAT(request.error().message, HasSubstr(message)) << body;
  };
  refused(R"({"documents":["a"]})", "query", "'query' is missing");
  refused(R"({"query":"q"})", "documents", "'documents' is missing");
  refused(R"({"query":"q","documents":[]})", "documents", "empty array");
  refused(R"({"query":"q","texts":[]})", "texts", "empty array");
  refused(R"({"query":"q","documents":["a",7]})", "documents[1]", "a string, or an object");
  refused(R"({"query":"q","documents":[{"title":"a"}]})", "documents[0].text", "is missing");
  refused(R"({"query":"q","documents":[{"text":1}]})", "documents[0].text", "must be a string");
  refused(R"({"query":"q","texts":[{"text":"a"}]})", "texts[0]", "must be a string");
  refused(R"({"query":"q","texts":["a"],"documents":["a"]})", "texts", "send one of them");
  refused(R"({"query":"q","documents":["a"],"truncate_prompt_tokens":0})", "truncate_prompt_tokens",
          "at least 1");
  refused(R"({"query":"q","documents":["a"],"truncation_side":"up"})", "truncation_side",
          "'right' or 'left'");
  refused(R"({"query":"q","documents":["a"],"rank_fields":["x"]})", "rank_fields", "");
  const json crowd = {{"query", "q"}, {"documents", std::vector<std::string>(100'001, "a")}};
  refused(crowd.dump().c_str(), "documents", "100001 texts; send at most 100000");
}

TEST(RerankResponseTest, BothShapes) {
  RerankResponse response = {.id = "rerank-1",
                             .model = "m",
                             .results = {{.index = 1, .score = 0.5}, {.index = 0, .score = 0.25}},
                             .documents = {},
                             .prompt_tokens = 9,
                             .truncated_tokens = {}};
  EXPECT_EQ(ToJson(response),
            R"({"id":"rerank-1","model":"m","results":[{"index":1,"relevance_score":0.5},)"
            R"({"index":0,"relevance_score":0.25}],"usage":{"prompt_tokens":9,"total_tokens":9},)"
            R"("meta":{"tokens":{"input_tokens":9,"output_tokens":0}}})");
  EXPECT_EQ(ToTeiJson(response), R"([{"index":1,"score":0.5},{"index":0,"score":0.25}])");
  response.documents = {"a", "\"b\""};
  response.truncated_tokens = 3;
  const json body = json::parse(ToJson(response));
  EXPECT_EQ(body["results"][0]["document"]["text"], "\"b\"");
  EXPECT_EQ(body["usage"]["truncated_tokens"], 3);
  EXPECT_EQ(json::parse(ToTeiJson(response))[0]["text"], "\"b\"");
  EXPECT_LE(ToJson(response).size(), RerankJsonBytes(2, 2 * 4));
}

}  // namespace
}  // namespace weft
