#include "proto/score/score_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/score/score_response.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ScoreRequestTest, EverySideHasManyNames) {
  for (const char* first : {"text_1", "data_1", "queries"}) {
    for (const char* second : {"text_2", "data_2", "documents", "items"}) {
      const auto request =
          ParseScoreRequest(json{{first, "a"}, {second, {"b", "c"}}, {"new", 1}}.dump());
      ASSERT_TRUE(request) << request.error().message;
      EXPECT_THAT(request->first.texts, ElementsAre("a"));
      EXPECT_THAT(request->second.texts, ElementsAre("b", "c"));
      EXPECT_EQ(request->second.name, second);
      EXPECT_FALSE(request->first.is_list);
      EXPECT_TRUE(request->second.is_list);
      EXPECT_EQ(request->unknown_field_count, 1);
    }
  }
}

TEST(ScoreRequestTest, WhatIsWrongHasItsPlace) {
  const auto refused = [](const json& body, const char* param, const char* message) {
    const auto request = ParseScoreRequest(body.dump());
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().param, param) << body;
    EXPECT_THAT(request.error().message, HasSubstr(message)) << body;
  };
  refused({{"text_2", "a"}}, "text_1", "'text_1' is missing");
  refused({{"text_1", "a"}}, "text_2", "'text_2' is missing");
  refused({{"text_1", "a"}, {"text_2", json::array()}}, "text_2", "empty array");
  refused({{"text_1", "a"}, {"text_2", {"a", 1}}}, "text_2[1]", "must be a string");
  refused({{"text_1", "a"}, {"text_2", "b"}, {"items", "c"}}, "items", "two names of the same");
  refused({{"text_1", {"a", "b"}}, {"text_2", "b"}}, "text_2",
          "'text_1' has 2 texts and 'text_2' 1");
  refused({{"queries", {"a", "b"}}, {"items", {"a", "b", "c"}}}, "items", "as many of both");
}

TEST(ScoreResponseTest, IsVllms) {
  const ScoreResponse response = {.id = "score-1",
                                  .created = 7,
                                  .model = "m",
                                  .scores = {0.5, -1.25e-05},
                                  .prompt_tokens = 9,
                                  .truncated_tokens = 0};
  EXPECT_EQ(ToJson(response),
            R"({"id":"score-1","object":"list","created":7,"model":"m","data":[)"
            R"({"index":0,"object":"score","score":0.5},)"
            R"({"index":1,"object":"score","score":-1.25e-05}],)"
            R"("usage":{"prompt_tokens":9,"total_tokens":9,"truncated_tokens":0}})");
  EXPECT_LE(ToJson(response).size(), ScoreJsonBytes(2));
}

}  // namespace
}  // namespace weft
