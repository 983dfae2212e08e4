#include "proto/decisions/decision_request.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/decisions/decision_response.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const json kPredicate = {{"type", "predicate"}, {"instructions", "Is it true?"}};

TEST(DecisionRequestTest, ReadsQuestionsOfEachKind) {
  const auto request = ParseDecisionRequest(R"({"model":"m","input":"a text","questions":[
      {"type":"predicate","name":"p","instructions":"Is it?"},
      {"type":"choice","instructions":[{"type":"input_text","text":"Which"},
                                       {"type":"input_json","data":{"a":1}}],
       "choices":[{"value":"x","description":"the x"},{"value":true}]},
      {"type":"score","instructions":"How?","levels":[{"label":"low"},{"label":"high"}]}],
      "prompt_cache_key":"k","new":1})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model, "m");
  EXPECT_THAT(request->messages, ElementsAre(DecisionMessage{"user", "a text"}));
  ASSERT_EQ(request->questions.size(), 3U);
  EXPECT_EQ(request->questions[0].name, "p");
  EXPECT_EQ(request->questions[1].instructions, "Which\n{\"a\":1}");
  EXPECT_EQ(request->questions[1].options[0],
            (DecisionOption{.text = "x", .boolean = {}, .description = "the x"}));
  EXPECT_EQ(request->questions[1].options[1].boolean, true);
  EXPECT_EQ(request->questions[2].options[1].text, "high");
  EXPECT_EQ(request->unknown_field_count, 1);
}

TEST(DecisionRequestTest, ReadsConversations) {
  const auto request = ParseDecisionRequest(json{
      {"input",
       {{{"role", "developer"}, {"type", nullptr}, {"content", "d"}},
        {{"role", "user"},
         {"type", "message"},
         {"content", {{{"type", "input_text"}, {"text", "a"}}}}}}},
      {"questions", {kPredicate}}}.dump());
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->messages,
              ElementsAre(DecisionMessage{"system", "d"}, DecisionMessage{"user", "a"}));
}

TEST(DecisionRequestTest, WhatIsWrongHasItsPlace) {
  const auto refused = [](const json& body, const char* param, const char* message) {
    const auto request = ParseDecisionRequest(body.dump());
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().param, param) << body;
    EXPECT_THAT(request.error().message, HasSubstr(message)) << body;
  };
  const auto with_question = [](const json& question) {
    return json{{"input", "a"}, {"questions", json::array({question})}};
  };
  refused({{"questions", json::array({kPredicate})}}, "input", "is missing");
  refused({{"input", "a"}}, "questions", "is missing");
  refused({{"input", "a"}, {"questions", json::array()}}, "questions", "send 1 to 400");
  refused(with_question({{"type", "poem"}, {"instructions", "a"}}), "questions[0].type",
          "'predicate', 'choice' or 'score'");
  refused(with_question({{"type", "predicate"}}), "questions[0].instructions", "is missing");
  refused(with_question({{"type", "choice"}, {"instructions", "a"}}), "questions[0].choices",
          "is missing");
  const auto choices = [&](const json& list) {
    return with_question({{"type", "choice"}, {"instructions", "a"}, {"choices", list}});
  };
  refused(choices(json::array({{{"value", "x"}}})), "questions[0].choices", "send 2 to 26");
  refused(choices(json::array({{{"value", "x"}}, {{"value", "x"}}})), "questions[0].choices[1]",
          "is there twice");
  refused(choices(json::array({{{"value", "x"}}, {{"value", 1}}})), "questions[0].choices[1].value",
          "a string or a boolean");
  const json image = {{"role", "user"}, {"content", json::array({{{"type", "input_image"}}})}};
  refused({{"input", json::array({image})}, {"questions", json::array({kPredicate})}},
          "input[0].content[0]", "no part of text or JSON");
  refused({{"input", json::array({{{"type", "function_call"}}})},
           {"questions", json::array({kPredicate})}},
          "input[0].type", "only messages are read");
}

TEST(DecisionResponseTest, AnAnswerOfEachKind) {
  const DecisionOption low = {.text = "low", .boolean = {}, .description = ""};
  const DecisionOption high = {.text = "high", .boolean = {}, .description = ""};
  const DecisionOption yes = {.text = "true", .boolean = true, .description = ""};
  const DecisionResponse response = {
      .model = "m",
      .questions =
          {{.kind = QuestionKind::kPredicate, .name = "p", .instructions = "", .options = {}},
           {.kind = QuestionKind::kChoice, .name = {}, .instructions = "", .options = {low, yes}},
           {.kind = QuestionKind::kScore, .name = "s", .instructions = "", .options = {low, high}}},
      .probabilities = {{0.75, 0.25}, {0.25, 0.75}, {0.25, 0.75}},
      .prompt_tokens = 9,
      .cached_tokens = 4};
  const json body = json::parse(ToJson(response));
  EXPECT_EQ(body["answers"], json::parse(R"([{"type":"predicate","name":"p","probability":0.75},
      {"type":"choice","name":null,"choice":true,"confidence":0.75,"probabilities":[
        {"value":"low","probability":0.25},{"value":true,"probability":0.75}]},
      {"type":"score","name":"s","score":0.75,"confidence":0.75,"probabilities":[
        {"value":0,"label":"low","probability":0.25},
        {"value":1,"label":"high","probability":0.75}]}])"));
  EXPECT_EQ(body["usage"]["input_tokens"], 9);
  EXPECT_EQ(body["usage"]["input_tokens_details"]["cached_tokens"], 4);
}

}  // namespace
}  // namespace weft
