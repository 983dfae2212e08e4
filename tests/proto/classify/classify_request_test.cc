#include "proto/classify/classify_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/classify/classify_response.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ClassifyRequestTest, ReadsTextsAndIds) {
  const auto texts = ParseClassifyRequest(R"({"input":["a","b"],"model":"m","truncate":true})");
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ(texts->input.prompts.size(), 2U);
  EXPECT_TRUE(texts->truncation.is_wanted);
  EXPECT_FALSE(texts->raw_scores);
  const auto ids = ParseClassifyRequest(R"({"input":[1,2],"use_activation":false,"new":1})");
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_EQ(ids->input.prompts.size(), 1U);
  EXPECT_TRUE(ids->raw_scores);
  EXPECT_EQ(ids->unknown_field_count, 1);
}

TEST(PredictRequestTest, ReadsTextsPairsAndBatches) {
  const auto inputs = [](const json& value) {
    const auto request = ParsePredictRequest(json{{"inputs", value}}.dump());
    EXPECT_TRUE(request) << request.error().message;
    json read = json::array();
    for (const PredictedText& text : request->inputs) {
      read.push_back({text.first});
      if (text.second) read.back().push_back(*text.second);
    }
    return json{request->is_batch, read};
  };
  EXPECT_EQ(inputs("a"), json::parse(R"([false,[["a"]]])"));
  EXPECT_EQ(inputs({"a"}), json::parse(R"([false,[["a"]]])"));
  EXPECT_EQ(inputs({"a", "b"}), json::parse(R"([false,[["a","b"]]])"));
  EXPECT_EQ(inputs(json::parse(R"([["a"],["b","c"]])")),
            json::parse(R"([true,[["a"],["b","c"]]])"));
}

TEST(PredictRequestTest, WhatIsWrongHasItsPlace) {
  const auto refused = [](const char* inputs, const char* param, const char* message) {
    const auto request = ParsePredictRequest(R"({"inputs":)" + std::string(inputs) + "}");
    ASSERT_FALSE(request) << inputs;
    EXPECT_EQ(request.error().param, param) << inputs;
    EXPECT_THAT(request.error().message, HasSubstr(message)) << inputs;
  };
  refused("null", "inputs", "is missing");
  refused("[]", "inputs", "must be a string, a pair");
  refused(R"(["a","b","c"])", "inputs", "has 3 texts");
  refused(R"(["a",1])", "inputs[1]", "must be a string");
  refused(R"([["a"],"b"])", "inputs[1]", "an array of one or two strings");
  refused(R"([["a"],[]])", "inputs[1]", "has 0 texts");
  refused(R"([["a"],["b",2]])", "inputs[1][1]", "must be a string");
}

TEST(ClassifyResponseTest, BothShapes) {
  const ClassifyResponse response = {.id = "classify-1",
                                     .created = 7,
                                     .model = "m",
                                     .labels = {"no", "\"yes\"", "maybe"},
                                     .scores = {{0.25, 0.5, 0.25}, {0.375, 0.25, 0.375}},
                                     .prompt_tokens = 9,
                                     .truncated_tokens = {}};
  EXPECT_EQ(ToJson(response),
            R"({"id":"classify-1","object":"list","created":7,"model":"m","data":[)"
            R"({"index":0,"label":"\"yes\"","probs":[0.25,0.5,0.25],"num_classes":3},)"
            R"({"index":1,"label":"no","probs":[0.375,0.25,0.375],"num_classes":3}],)"
            R"("usage":{"prompt_tokens":9,"total_tokens":9}})");
  const std::string batch = R"([[{"score":0.5,"label":"\"yes\""},{"score":0.25,"label":"no"},)"
                            R"({"score":0.25,"label":"maybe"}],[{"score":0.375,"label":"no"},)"
                            R"({"score":0.375,"label":"maybe"},{"score":0.25,"label":"\"yes\""}]])";
  EXPECT_EQ(ToPredictJson(response, true), batch);
  ClassifyResponse one = response;
  one.scores.resize(1);
  EXPECT_EQ(json::parse(ToPredictJson(one, false)), json::parse(batch)[0]);
  EXPECT_LE(batch.size(), ClassifyJsonBytes(2, response.labels));
}

}  // namespace
}  // namespace weft
