// POST /v1/decisions, through the socket.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/decisions/decision_job.h"
#include "server/api/decisions/decision_prompt.h"
#include "tests/server/fixture_server.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTemplate =
    "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}[bot] ";

json ChoiceQuestion() {
  return json::parse(R"({"type":"choice","name":"c","instructions":"Which?",
      "choices":[{"value":"x","description":"the x"},{"value":"y"},{"value":false}]})");
}

DecisionRequest Parsed(const json& body) { return ParseDecisionRequest(body.dump()).value(); }

TEST(DecisionTest, TheQuestionStandsAtTheEndOfTheConversation) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  const TestModel model(options);
  const DecisionRequest request = Parsed(
      {{"input", "a text"},
       {"questions", {ChoiceQuestion(), {{"type", "predicate"}, {"instructions", "Is it?"}}}}});
  const ServedModel served = model.Served();
  EXPECT_EQ(DecisionPrompt(request, request.questions[0], served),
            "[user] a text\n\nWhich?\n\nA) x: the x\nB) y\nC) false\n\n"
            "Answer with the letter of one of these, and nothing else.\n[bot] ");
  EXPECT_EQ(DecisionPrompt(request, request.questions[1], served),
            "[user] a text\n\nIs it?\n\nAnswer with Yes or No, and nothing else.\n[bot] ");
  EXPECT_THAT(AnswerWords(request.questions[0]), ElementsAre("A", "B", "C"));
  EXPECT_EQ(AnswerToken("[bot] ", "B", served), TokenId{'B'});
  EXPECT_EQ(AnswerToken("[bot] ", "Yes", served), TokenId{'Y'});  // the first of three
}

TEST(DecisionTest, AnAssistantsMessageIsFollowedByTheQuestion) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  const TestModel model(options);
  const DecisionRequest request = Parsed(
      {{"input", {{{"role", "user"}, {"content", "u"}}, {{"role", "assistant"}, {"content", "a"}}}},
       {"questions", json::array({{{"type", "predicate"}, {"instructions", "Is it?"}}})}});
  EXPECT_EQ(DecisionPrompt(request, request.questions[0], model.Served()),
            "[user] u\n[assistant] a\n[user] Is it?\n\n"
            "Answer with Yes or No, and nothing else.\n[bot] ");
}

// A model that reasons is asked not to, and where its template begins to, that is ended.
TEST(DecisionTest, ReasoningDoesNotStandBeforeTheAnswer) {
  TestModelOptions options;
  options.chat_template = "{#- </think> -#}" + std::string(kTemplate) +
                          "{% if enable_thinking is defined and not enable_thinking %}quick "
                          "{% endif %}{{ '<think>\\n' }}";
  const TestModel model(options);
  const DecisionRequest request =
      Parsed({{"input", "a"},
              {"questions", json::array({{{"type", "predicate"}, {"instructions", "b"}}})}});
  const auto prompt = DecisionPrompt(request, request.questions[0], model.Served());
  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_TRUE(prompt->ends_with("[bot] quick <think>\n\n</think>\n\n")) << *prompt;
}

TEST(DecisionTest, AnswersWithoutGenerating) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  const json body = {{"input", "a text"},
                     {"questions", json::array({ChoiceQuestion(), ChoiceQuestion()})}};
  const TestModel shape(options);
  const DecisionRequest request = Parsed(body);
  options.reply = "B";  // is what the model would write
  options.reply_position = static_cast<int32_t>(
      DecisionPrompt(request, request.questions[0], shape.Served()).value().size());
  const TestServer server(options);
  const RawResponse response = server.PostTo("/v1/decisions", body.dump());
  ASSERT_EQ(response.status, 200) << response.body;
  const json decision = json::parse(response.body);
  EXPECT_EQ(decision["model"], "test-model");
  ASSERT_EQ(decision["answers"].size(), 2U);
  const json& answer = decision["answers"][0];
  EXPECT_EQ(answer, decision["answers"][1]);
  EXPECT_EQ(answer["choice"], "y");
  EXPECT_GT(answer["confidence"], 0.99);
  EXPECT_EQ(answer["probabilities"][2]["value"], false);
  EXPECT_EQ(decision["usage"]["input_tokens"], 2 * options.reply_position);
  EXPECT_EQ(decision["usage"]["output_tokens"], 0);
}

TEST(DecisionTest, EachQuestionHasWordsOfItsOwn) {
  const json predicate = {{"type", "predicate"}, {"instructions", "Is it?"}};
  const json body = {{"input", "a"},
                     {"questions", json::array({predicate, ChoiceQuestion(), predicate})}};
  TestModelOptions options;
  options.chat_template = kTemplate;
  const auto answers = [&](const char* word) {
    options.script = word;  // is what the model would write, whatever it is asked
    const TestServer server(options);
    const RawResponse response = server.PostTo("/v1/decisions", body.dump());
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body)["answers"];
  };
  const json second = answers("B");
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(second[1]["choice"], "y");
  EXPECT_EQ(second[1]["probabilities"].size(), 3U);
  EXPECT_EQ(second[0]["probability"], 0.5);  // neither Yes nor No
  EXPECT_GT(answers("Y")[2]["probability"], 0.99);
  EXPECT_LT(answers("N")[0]["probability"], 0.01);
}

// See RerankTest.ManyLongPairsAreAnExcess.
TEST(DecisionTest, ManyQuestionsAboutALongTextAreAnExcess) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  const TestModel model(options);
  ModelRegistry registry({model.Served()});
  RequestModels models(registry);
  const RequestRules rules;
  PrepareContext context = {.models = models, .rules = rules};
  const std::string body = json{{"input", std::string(100, 'a')},
                                {"questions", json::array({ChoiceQuestion(), ChoiceQuestion()})}}
                               .dump();
  context.max_bytes = 2 * body.size();
  EXPECT_EQ(PrepareDecisions(body, context)->prompts.size(), 2U);
  --context.max_bytes;
  const GenerationJob excess = PrepareDecisions(body, context).value();
  EXPECT_EQ(excess.excess_bytes, 2 * body.size());
  EXPECT_TRUE(excess.prompts.empty());
}

TEST(DecisionTest, WhatCannotBeIsRefusedByName) {
  TestModelOptions options;
  options.chat_template = kTemplate;
  const TestServer server(options);
  const json question = ChoiceQuestion();
  const auto refused = [](const RawResponse& response) {
    EXPECT_EQ(response.status, 400) << response.body;
    return ErrorOf(response);
  };
  const json lengthy = {{"input", std::string(600, 'a')}, {"questions", json::array({question})}};
  const json error = refused(server.PostTo("/v1/decisions", lengthy.dump()));
  EXPECT_EQ(error["param"], "input");
  EXPECT_EQ(error["code"], "context_length_exceeded");
  const json predicate = {{"type", "predicate"}, {"instructions", "a"}};
  json longer = predicate;
  longer["instructions"] = std::string(600, 'a');
  const json second = {{"input", "a"}, {"questions", json::array({predicate, longer})}};
  EXPECT_THAT(refused(server.PostTo("/v1/decisions", second.dump()))["message"].get<std::string>(),
              HasSubstr("with 'questions[1]' makes"));
  const json small = {{"input", "a"}, {"questions", json::array({predicate})}};
  const TestServer plain;
  EXPECT_EQ(refused(plain.PostTo("/v1/decisions", small.dump()))["code"], "no_chat_template");
  const FixtureServer encoder("bert");
  EXPECT_THAT(refused(encoder.PostTo("/v1/decisions", small))["message"].get<std::string>(),
              HasSubstr("is an encoder, which generates no text"));
}

}  // namespace
}  // namespace weft
