// POST /classify and /predict, through the socket.
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/classify/label_scores.h"
#include "tests/server/fixture_server.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json Answered(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body);
}

TEST(ClassifyTest, ScoresAreTheSoftmaxOfTheModelsLogits) {
  const FixtureServer server("bert_classifier");
  const std::string text = "the weft crosses the warp";
  const json answer = Answered(server.PostTo("/classify", {{"input", {text, "abc"}}}));
  EXPECT_EQ(answer["object"], "list");
  ASSERT_EQ(answer["data"].size(), 2U);
  const auto scores = answer["data"][0]["probs"].get<std::vector<double>>();
  ASSERT_EQ(scores.size(), 3U);
  EXPECT_EQ(answer["data"][0]["num_classes"], 3);
  EXPECT_NEAR(scores[0] + scores[1] + scores[2], 1, 1e-12);
  Request request;
  request.prompt = server.checkpoint().tokenizer->Encode(text, {}).value();
  request.pooling = {.output = PooledOutput::kLabels,
                     .pooling = server.checkpoint().spec.classifier->pooling};
  const std::vector<float> logits = server.Pool(request).values;
  EXPECT_EQ(scores, LabelScores(LabelActivation::kSoftmax, logits));
  const json raw =
      Answered(server.PostTo("/classify", {{"input", request.prompt}, {"use_activation", false}}));
  EXPECT_EQ(raw["data"][0]["probs"].get<std::vector<float>>(), logits);
  const auto best = static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
  EXPECT_EQ(answer["data"][0]["label"], server.checkpoint().spec.classifier->labels[best]);

  const json predicted = Answered(server.PostTo("/predict", {{"inputs", text}}));
  ASSERT_EQ(predicted.size(), 3U);
  EXPECT_EQ(predicted[0]["label"], answer["data"][0]["label"]);
  EXPECT_EQ(predicted[0]["score"], scores[best]);
  EXPECT_GE(predicted[0]["score"], predicted[1]["score"]);
}

TEST(ClassifyTest, PairsAreReadTogether) {
  TestModelOptions options;
  options.label_count = 3;
  const TestServer server(options);
  const auto predict = [&](const json& inputs) {
    return Answered(server.PostTo("/predict", json{{"inputs", inputs}}.dump()));
  };
  const json pair = predict({"ab", "cd"});
  const json batch = predict(json::parse(R"([["ab","cd"],["ab"],["cd"]])"));
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch[0], pair);
  EXPECT_EQ(batch[1], predict("ab"));
  EXPECT_NE(batch[1], pair);
}

// A model that tells them apart is told where the second one begins.
TEST(ClassifyTest, APairsTextsAreOfTwoTypes) {
  const FixtureServer server("bert_classifier");
  const json answer = Answered(
      server.PostTo("/predict", {{"inputs", {"the weft", "the warp"}}, {"raw_scores", true}}));
  const EncodedText pair =
      server.checkpoint()
          .tokenizer->EncodePair("the weft", "the warp", {.parse_special_tokens = false}, {})
          .value();
  Request request;
  request.prompt = pair.ids;
  request.second_text = pair.second_text;
  request.pooling = {.output = PooledOutput::kLabels,
                     .pooling = server.checkpoint().spec.classifier->pooling};
  std::map<std::string, float> logits;
  for (const json& label : answer) {
    logits[label["label"].get<std::string>()] = label["score"].get<float>();
  }
  const std::vector<float> expected = server.Pool(request).values;
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(logits[server.checkpoint().spec.classifier->labels[i]], expected[i]);
  }
  request.second_text = kNoSecondText;
  EXPECT_NE(server.Pool(request).values, expected);
}

TEST(ClassifyTest, PredictsLogitsAndCutsOnRequest) {
  TestModelOptions options;
  options.label_count = 3;
  const TestServer server(options);  // of 512 positions
  const auto predict = [&](const json& inputs, json fields) {
    fields["inputs"] = inputs;
    return server.PostTo("/predict", fields.dump());
  };
  const json plain = Answered(predict("abc", json::object()));
  const json raw = Answered(predict("abc", {{"raw_scores", true}}));
  ASSERT_EQ(raw.size(), 3U);
  EXPECT_EQ(raw[2]["label"], plain[2]["label"]);
  EXPECT_NEAR(std::log(plain[0]["score"].get<double>() / plain[2]["score"].get<double>()),
              raw[0]["score"].get<double>() - raw[2]["score"].get<double>(), 1e-9);

  const std::string lengthy(600, 'a');
  const json cut = {{"truncate", true}};
  EXPECT_EQ(Answered(predict(lengthy, cut)), Answered(predict(lengthy.substr(0, 511), {})));
  EXPECT_EQ(Answered(predict({"b", lengthy}, cut)),
            Answered(predict({"b", lengthy.substr(0, 508)}, {})));
  const auto refused = [&](const json& inputs) {
    const RawResponse response = predict(inputs, json::object());
    EXPECT_EQ(ErrorOf(response)["code"], "context_length_exceeded");
    return ErrorOf(response)["param"];
  };
  EXPECT_EQ(refused(lengthy), "inputs");
  EXPECT_EQ(refused({"a", lengthy}), "inputs");
  EXPECT_EQ(refused(json::parse(R"([["a"],[")" + lengthy + R"("]])")), "inputs[1]");
  EXPECT_EQ(refused(json::parse(R"([["a"],["b",")" + lengthy + R"("]])")), "inputs[1]");
}

TEST(ClassifyTest, EachActivation) {
  const std::vector<float> logits = {1, -1};
  const double sum = std::exp(1.0) + std::exp(-1.0);
  const auto softmax = LabelScores(LabelActivation::kSoftmax, logits);
  EXPECT_NEAR(softmax[0], std::exp(1.0) / sum, 1e-15);
  EXPECT_NEAR(softmax[0] + softmax[1], 1, 1e-15);
  const auto each = LabelScores(LabelActivation::kLogistic, logits);
  EXPECT_NEAR(each[0], 1 / (1 + std::exp(-1.0)), 1e-15);
  EXPECT_THAT(LabelScores(LabelActivation::kNone, logits), ElementsAre(1, -1));
  const std::vector<float> large = {-1e30F, 1e30F};
  EXPECT_THAT(LabelScores(LabelActivation::kSoftmax, large), ElementsAre(0, 1));
}

TEST(ClassifyTest, WhatCannotBeIsRefusedByName) {
  const TestServer decoder;
  const RawResponse lacks = decoder.PostTo("/classify", R"({"input":"a"})");
  EXPECT_EQ(lacks.status, 400);
  EXPECT_THAT(ErrorOf(lacks)["message"].get<std::string>(), HasSubstr("which classifies no texts"));
  TestModelOptions options;
  options.label_count = 2;
  const TestServer server(options);
  const std::string lengthy(600, 'a');
  const RawResponse refused = server.PostTo("/classify", json{{"input", {"a", lengthy}}}.dump());
  EXPECT_EQ(ErrorOf(refused)["param"], "input[1]");
  EXPECT_EQ(ErrorOf(refused)["code"], "context_length_exceeded");
  const RawResponse predicted = server.PostTo("/predict", json{{"inputs", {{lengthy}}}}.dump());
  EXPECT_EQ(predicted.status, 400) << predicted.body;
  const json cut = Answered(server.PostTo(
      "/classify", json{{"input", {"a", lengthy}}, {"truncate_prompt_tokens", 100}}.dump()));
  EXPECT_EQ(cut["usage"],
            (json{{"prompt_tokens", 102}, {"total_tokens", 102}, {"truncated_tokens", 501}}));
  const json ids = Answered(server.PostTo(
      "/classify",
      json{{"input", std::vector<int>(600, 97)}, {"truncate_prompt_tokens", -1}}.dump()));
  EXPECT_EQ(ids["usage"]["truncated_tokens"], 88);
  EXPECT_EQ(server.PostTo("/classify", R"({"input":"a","model":"other"})").status, 404);
  const RawResponse text = server.Post(R"({"prompt":"a","max_tokens":1})");
  EXPECT_EQ(text.status, 200);  // a decoder with labels generates, too
}

}  // namespace
}  // namespace weft
