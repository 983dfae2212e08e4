#include "proto/label_scores/label_score_request.h"

#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/label_scores/label_score_response.h"
#include "proto/score/score_request.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LabelScoreRequestTest, LabelsMakeItTheOtherRequest) {
  const auto labels = ParseAnyScoreRequest(
      R"({"query":"a","items":["b","c"],"label_token_ids":[1,2],"apply_softmax":true,
          "item_first":true,"model":"m","new":1})");
  ASSERT_TRUE(labels) << labels.error().message;
  const auto& request = std::get<LabelScoreRequest>(*labels);
  EXPECT_EQ(std::get<std::string>(request.query), "a");
  EXPECT_EQ(request.items.prompts.size(), 2U);
  EXPECT_THAT(request.label_token_ids, ElementsAre(1, 2));
  EXPECT_TRUE(request.apply_softmax);
  EXPECT_TRUE(request.item_first);
  EXPECT_EQ(request.unknown_field_count, 1);
  const auto pairs = ParseAnyScoreRequest(R"({"queries":"a","items":["b","c"]})");
  ASSERT_TRUE(pairs) << pairs.error().message;
  EXPECT_TRUE(std::holds_alternative<ScoreRequest>(*pairs));
}

TEST(LabelScoreRequestTest, TheSoftmaxIsTheDefaultOfOneShape) {
  const char* body = R"({"query":[1,2],"items":[[3],[4]],"labels":["yes","no"]})";
  const auto sglang = ParseLabelScoreRequest(body, LabelScoreShape::kSglang);
  ASSERT_TRUE(sglang) << sglang.error().message;
  EXPECT_FALSE(sglang->apply_softmax);
  EXPECT_THAT(sglang->labels, ElementsAre("yes", "no"));
  EXPECT_TRUE(ParseLabelScoreRequest(body, LabelScoreShape::kVllm)->apply_softmax);
}

TEST(LabelScoreRequestTest, WhatIsWrongHasItsPlace) {
  const auto refused = [](const json& changes, const char* param, const char* message) {
    json body = {{"query", "a"}, {"items", {"b"}}, {"label_token_ids", {1}}};
    body.update(changes);
    const auto request = ParseLabelScoreRequest(body.dump(), LabelScoreShape::kSglang);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().param, param) << body;
    EXPECT_THAT(request.error().message, HasSubstr(message)) << body;
  };
  refused({{"query", nullptr}}, "query", "is missing");
  refused({{"query", {"a", "b"}}}, "query", "must be a string or an array of token ids");
  refused({{"items", json::array()}}, "items", "empty array; send at least one item");
  refused({{"items", std::vector<std::string>(100'001, "a")}}, "items",
          "'items' has 100001 items; send at most 100000 a request");
  refused({{"items", {"a", {1}}}}, "items[1]", "send items of one kind");
  refused({{"items", {{1, 2}}}}, "", "mix texts and token ids");
  refused({{"label_token_ids", nullptr}}, "label_token_ids", "is missing");
  refused({{"label_token_ids", json::array()}}, "label_token_ids", "has 0 labels");
  refused({{"label_token_ids", {1, -1}}}, "label_token_ids[1]", "");
  refused({{"labels", {"a"}}}, "label_token_ids", "two lists of labels");
  refused({{"label_token_ids", nullptr}, {"labels", {"a", 1}}}, "labels[1]", "must be a string");
}

TEST(LabelScoreResponseTest, IsSglangs) {
  const LabelScoreResponse response = {
      .model = "m", .scores = {{0.5, 0.25}, {0.125, 1}}, .prompt_tokens = 9};
  EXPECT_EQ(ToJson(response),
            R"({"object":"scoring","scores":[[0.5,0.25],[0.125,1]],"model":"m","usage":)"
            R"({"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}})");
  EXPECT_LE(ToJson(response).size(), LabelScoreJsonBytes(2, 2));
}

}  // namespace
}  // namespace weft
