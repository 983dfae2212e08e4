// POST /v1/embeddings, through the socket.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "server/api/embeddings/embedding_answer.h"
#include "server/api/embeddings/embedding_job.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

RawResponse Embed(const TestServer& server, const json& body) {
  return server.PostTo("/v1/embeddings", body.dump());
}

std::vector<std::vector<float>> VectorsOf(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  std::vector<std::vector<float>> vectors;
  const json body = json::parse(response.body);
  for (const json& entry : body.at("data")) {
    EXPECT_EQ(entry["index"], vectors.size());
    EXPECT_EQ(entry["object"], "embedding");
    vectors.push_back(entry["embedding"].get<std::vector<float>>());
  }
  return vectors;
}

double LengthOf(const std::vector<float>& vector) {
  double sum = 0;
  for (const float number : vector) sum += double{number} * double{number};
  return std::sqrt(sum);
}

TEST(EmbeddingTest, EveryKindOfInputGivesTheSameVector) {
  const TestServer server;
  const auto text = VectorsOf(Embed(server, {{"input", "abc"}}));
  ASSERT_EQ(text.size(), 1U);
  EXPECT_EQ(text[0].size(), 5U);
  EXPECT_NEAR(LengthOf(text[0]), 1, 1e-6);
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", {"abc"}}})), text);
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", {256, 97, 98, 99}}})), text);
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", {{256, 97, 98, 99}}}})), text);
  for (const char* const mixed :
       {R"([256,"ab",99])", R"([[256,"abc"]])", R"({"prompt_string":"abc"})",
        R"({"content":[{"type":"text","text":"ab"},{"type":"text","text":"c"}]})"}) {
    EXPECT_EQ(VectorsOf(Embed(server, {{"input", json::parse(mixed)}})), text) << mixed;
  }
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", "abc"}, {"pooling", "last"}})), text);
  const auto mean = VectorsOf(Embed(server, {{"input", "abc"}, {"pooling", "mean"}}));
  EXPECT_NEAR(LengthOf(mean[0]), 1, 1e-6);
  EXPECT_NE(mean, text);
}

TEST(EmbeddingTest, TheAnswer) {
  const TestServer server;
  const json body = json::parse(Embed(server, {{"input", {"abc", "de"}}, {"user", "u"}}).body);
  EXPECT_EQ(body["object"], "list");
  EXPECT_EQ(body["model"], "test-model");
  EXPECT_EQ(body["usage"], (json{{"prompt_tokens", 7}, {"total_tokens", 7}}));
  EXPECT_EQ(body["data"].size(), 2U);
}

TEST(EmbeddingTest, Base64HoldsTheSameNumbers) {
  const TestServer server;
  const auto floats = VectorsOf(Embed(server, {{"input", {"abc", "x"}}}));
  const json body =
      json::parse(Embed(server, {{"input", {"abc", "x"}}, {"encoding_format", "base64"}}).body);
  for (size_t i = 0; i < floats.size(); ++i) {
    const std::string text = body["data"][i]["embedding"];
    ASSERT_EQ(text.size(), 28U);  // 20 bytes
    std::vector<unsigned char> bytes(21);
    ASSERT_EQ(EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                              static_cast<int>(text.size())),
              21);
    std::vector<float> numbers(5);
    std::memcpy(numbers.data(), bytes.data(), 20);
    EXPECT_EQ(numbers, floats[i]);
  }
}

TEST(EmbeddingTest, DimensionsCutAndScaleAgain) {
  const TestServer server;
  const auto whole = VectorsOf(Embed(server, {{"input", "abc"}}))[0];
  const auto cut = VectorsOf(Embed(server, {{"input", "abc"}, {"dimensions", 3}}))[0];
  ASSERT_EQ(cut.size(), 3U);
  EXPECT_NEAR(LengthOf(cut), 1, 1e-6);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(cut[i] / cut[0], whole[i] / whole[0], 1e-5);
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", "abc"}, {"dimensions", 5}}))[0], whole);
  EXPECT_THAT(NormalizedEmbedding({3, 4, 5}, 2), ElementsAre(0.6F, 0.8F));
  EXPECT_THAT(NormalizedEmbedding({0, 0}, 2), ElementsAre(0, 0));
}

TEST(EmbeddingTest, WhatIsTooLongIsCutOnRequest) {
  const TestServer server;  // of 512 positions
  const std::string lengthy = std::string(511, 'a') + std::string(89, 'b');
  const auto ask = [&](const json& body) {
    const RawResponse response = Embed(server, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  };
  const json whole = ask({{"input", std::string(511, 'a')}});
  EXPECT_FALSE(whole["usage"].contains("truncated_tokens"));
  const json cut = ask({{"input", lengthy}, {"truncate_prompt_tokens", -1}});
  EXPECT_EQ(cut["data"], whole["data"]);
  EXPECT_EQ(cut["usage"],
            (json{{"prompt_tokens", 512}, {"total_tokens", 512}, {"truncated_tokens", 89}}));
  EXPECT_EQ(ask({{"input", lengthy}, {"truncate", true}})["data"], whole["data"]);
  // More than the model has room for is what it has room for.
  EXPECT_EQ(ask({{"input", lengthy}, {"truncate_prompt_tokens", 1000}}), cut);
  // Special tokens count, and stay.
  const json few = ask({{"input", {"abc", "abcde"}}, {"truncate_prompt_tokens", 4}});
  EXPECT_EQ(few["data"][0]["embedding"], few["data"][1]["embedding"]);
  EXPECT_EQ(few["usage"]["truncated_tokens"], 2);
  const json left =
      ask({{"input", "deabc"}, {"truncate_prompt_tokens", 4}, {"truncation_side", "left"}});
  EXPECT_EQ(left["data"][0]["embedding"], few["data"][0]["embedding"]);
  const json ids = ask({{"input", {256, 97, 98, 99, 100}}, {"truncate_prompt_tokens", 4}});
  EXPECT_EQ(ids["data"][0]["embedding"], few["data"][0]["embedding"]);
}

TEST(EmbeddingTest, WholeNumbersStandForTheOthers) {
  const TestServer server;
  const auto numbers = VectorsOf(Embed(server, {{"input", "abc"}}))[0];
  const auto formatted = [&](const char* format) {
    return VectorsOf(Embed(server, {{"input", "abc"}, {"encoding_format", format}}))[0];
  };
  const auto scaled = formatted("int8");
  ASSERT_EQ(scaled.size(), 5U);
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(scaled[i], numbers[i] * 127 / largest, 0.5001);
  const auto shifted = formatted("uint8");
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(shifted[i], scaled[i] + 128);
  int bits = 0;
  for (size_t i = 0; i < 5; ++i) bits |= numbers[i] > 0 ? 0x80 >> i : 0;
  EXPECT_THAT(formatted("ubinary"), ElementsAre(bits));
  EXPECT_THAT(formatted("binary"), ElementsAre(bits - 128));
}

TEST(EmbeddingTest, PromptsStandBeforeTexts) {
  TestModelOptions options;
  options.has_prompts = true;
  const TestServer server(options);
  const auto named = VectorsOf(Embed(server, {{"input", "abc"}, {"prompt_name", "query"}}));
  EXPECT_EQ(named, VectorsOf(Embed(server, {{"input", "q: abc"}})));
  EXPECT_NE(named, VectorsOf(Embed(server, {{"input", "abc"}})));
  // Tokens stay as they are.
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", {256, 97}}, {"prompt_name", "query"}})),
            VectorsOf(Embed(server, {{"input", "a"}})));
}

TEST(EmbeddingTest, OtherShapes) {
  const TestServer server;
  const json openai = json::parse(Embed(server, {{"input", {"abc", "de"}}}).body);
  const RawResponse tei = server.PostTo("/embed", R"({"inputs":["abc","de"]})");
  EXPECT_EQ(json::parse(tei.body),
            (json{openai["data"][0]["embedding"], openai["data"][1]["embedding"]}));
  const RawResponse one = server.PostTo("/embed", R"({"inputs":"abc","normalize":false})");
  const json raw = json::parse(one.body)[0];
  EXPECT_GT(LengthOf(raw.get<std::vector<float>>()), 2);
  EXPECT_EQ(NormalizedEmbedding(raw.get<std::vector<float>>(), 5),
            openai["data"][0]["embedding"].get<std::vector<float>>());
  const RawResponse pooling = server.PostTo("/pooling", R"({"input":["abc","de"]})");
  const json body = json::parse(pooling.body);
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("pool-"));
  EXPECT_EQ(body["data"][1],
            (json{{"index", 1}, {"object", "pooling"}, {"data", openai["data"][1]["embedding"]}}));
  const RawResponse lacks = server.PostTo("/pooling", R"({"input":"a","task":"classify"})");
  EXPECT_EQ(ErrorOf(lacks)["param"], "model");
  const RawResponse unknown = server.PostTo("/pooling", R"({"input":"a","task":"token_embed"})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(ErrorOf(unknown)["message"],
            "'task' must be 'embed' or 'classify', not the string \"token_embed\"");

  TestModelOptions options;
  options.label_count = 2;
  const TestServer classifier(options);
  const json labels = json::parse(classifier.PostTo("/classify", R"({"input":"abc"})").body);
  const json pooled = json::parse(classifier.PostTo("/pooling", R"({"input":"abc"})").body);
  EXPECT_EQ(pooled["data"][0]["data"], labels["data"][0]["probs"]);
}

TEST(EmbeddingTest, AClassifierPoolsLabelsOrVectors) {
  TestModelOptions options;
  options.label_count = 2;
  const TestServer server(options);
  const auto pool = [&](json fields) {
    if (!fields.contains("input")) fields["input"] = "abc";
    return server.PostTo("/pooling", fields.dump());
  };
  const auto pooled = [&](const json& fields) {
    const RawResponse response = pool(fields);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  };
  EXPECT_EQ(pooled({{"task", "embed"}})["data"][0]["data"].get<std::vector<float>>(),
            VectorsOf(Embed(server, {{"input", "abc"}}))[0]);
  const RawResponse classified = server.PostTo("/classify", R"({"input":"abc","raw_scores":true})");
  const json logits = json::parse(classified.body)["data"][0]["probs"];
  EXPECT_EQ(pooled({{"use_activation", false}})["data"][0]["data"], logits);
  EXPECT_EQ(pooled({{"raw_scores", true}})["data"][0]["data"], logits);
  EXPECT_NE(pooled(json::object())["data"][0]["data"], logits);
  const json cut = pooled({{"input", std::string(600, 'a')}, {"truncate", true}});
  EXPECT_TRUE(cut["id"].get<std::string>().starts_with("pool-"));
  EXPECT_EQ(cut["usage"],
            (json{{"prompt_tokens", 512}, {"total_tokens", 512}, {"truncated_tokens", 89}}));
  // What there is to say of a vector is not ignored.
  for (const json& fields :
       {json{{"encoding_format", "base64"}}, json{{"dimensions", 1}}, json{{"pooling", "mean"}},
        json{{"normalize", false}}, json{{"prompt_name", "query"}}}) {
    const RawResponse refused = pool(fields);
    EXPECT_EQ(refused.status, 400) << fields;
    EXPECT_EQ(ErrorOf(refused)["param"], fields.begin().key());
  }
}

TEST(EmbeddingTest, OneAnswerHasSoManyNumbers) {
  const TestModel model;
  ServedModel served = model.Served();
  served.embedding_size = 4096;
  ModelRegistry registry({served});
  RequestModels models(registry);
  const RequestRules rules;
  const auto prepare = [&](size_t count, json fields) {
    fields["input"] = std::vector<std::string>(count, "a");
    return PrepareEmbedding(fields.dump(), {.models = models, .rules = rules});
  };
  EXPECT_TRUE(prepare(1024, json::object()));
  const ApiResult<GenerationJob> refused = prepare(1025, json::object());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "input");
  EXPECT_THAT(refused.error().message, HasSubstr("at most 4194304 a request"));
  EXPECT_TRUE(prepare(1025, {{"dimensions", 4000}}));
}

TEST(EmbeddingTest, WrongRequestsNameTheField) {
  const TestServer server;
  const auto refused = [&](const json& body, const char* param, const char* message) {
    const RawResponse response = Embed(server, body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_EQ(ErrorOf(response)["param"], param) << body;
    EXPECT_THAT(ErrorOf(response)["message"].get<std::string>(), HasSubstr(message));
  };
  refused(json::object(), "input", "'input' is missing");
  refused({{"input", 3}}, "input", "must be a string");
  refused({{"input", json::array()}}, "input", "empty array");
  refused({{"input", {"a", json::object()}}}, "input[1].prompt_string", "is missing");
  refused({{"input", {97, 258}}}, "input[1]", "258");
  refused({{"input", std::vector<std::string>(2049, "a")}}, "input", "2049 inputs;");
  const RawResponse many =
      server.PostTo("/embed", json{{"inputs", std::vector<std::string>(2049, "a")}}.dump());
  EXPECT_EQ(ErrorOf(many)["message"], "'inputs' has 2049 inputs; send at most 2048 a request");
  refused({{"input", "a"}, {"dimensions", 0}}, "dimensions", "from 1");
  refused({{"input", "a"}, {"dimensions", 6}}, "dimensions", "embeddings have 5");
  refused({{"input", "a"}, {"encoding_format", "hex"}}, "encoding_format", "'binary' or 'ubinary'");
  refused({{"input", "a"}, {"pooling", "max"}}, "pooling", "must be 'last' or 'mean'");
  refused({{"input", {"a", std::string(512, 'a')}}}, "input[1]", "has 513 tokens");
  refused({{"input", "a"}, {"embed_dtype", "float16"}}, "embed_dtype", "");
  refused({{"input", "a"}, {"prompt_name", "poem"}}, "prompt_name", "there is no prompt");
  EXPECT_EQ(Embed(server, {{"input", "a"}, {"model", "other"}}).status, 404);
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", std::string(511, 'a')}})).size(), 1U);
}

TEST(EmbeddingTest, MoreInputsThanTheQueueHolds) {
  TestModelOptions options;
  options.max_waiting = 4;
  const TestServer server(options);
  std::vector<std::string> inputs;
  for (int i = 0; i < 2048; ++i) inputs.push_back("text " + std::to_string(i % 100));
  const auto vectors = VectorsOf(Embed(server, {{"input", inputs}}));
  ASSERT_EQ(vectors.size(), 2048U);
  for (size_t i = 100; i < vectors.size(); ++i) ASSERT_EQ(vectors[i], vectors[i % 100]);
  EXPECT_EQ(VectorsOf(Embed(server, {{"input", inputs[42]}}))[0], vectors[42]);
}

TEST(EmbeddingTest, InACrowdAsAlone) {
  TestServer server;
  const auto alone = VectorsOf(Embed(server, {{"input", "a longer text"}, {"pooling", "mean"}}));
  server.model.HoldSteps();
  std::vector<std::unique_ptr<RawClient>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<RawClient>(server.port()));
    others.back()->Send(
        CompletionPost(R"({"prompt":"abcdefghijklmnop","max_tokens":40,"stream":true})"));
  }
  RawClient client(server.port());
  client.Send(Post("/v1/embeddings", R"({"input":"a longer text","pooling":"mean"})"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.model.ReleaseSteps();
  EXPECT_EQ(VectorsOf(client.Read()), alone);
  for (const auto& other : others) EXPECT_EQ(SseData(other->Read().body).back(), "[DONE]");
}

TEST(EmbeddingTest, AStepThatFailsIsAnError) {
  TestServer server;
  server.model.FailNextStep();
  const RawResponse response = Embed(server, {{"input", {"a", "b"}}});
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(ErrorOf(response)["code"], "generation_failed");
}

}  // namespace
}  // namespace weft
