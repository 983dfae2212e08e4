// Ollama's routes through a socket: what comes back for what was sent.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/scripted_chat.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kHi = R"("messages":[{"role":"user","content":"Hi"}])";
constexpr std::string_view kTool =
    R"("tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}])";

std::string OllamaBody(std::string_view fields) {
  return "{" + std::string(kHi) + (fields.empty() ? "" : ",") + std::string(fields) + "}";
}

json WholeAt(const TestServer& server, std::string_view path, const std::string& body) {
  const RawResponse response = server.PostTo(path, body);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  return json::parse(response.body);
}

std::vector<json> LinesAt(const TestServer& server, std::string_view path,
                          const std::string& body) {
  const RawResponse response = server.PostTo(path, body);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.at("content-type"), "application/x-ndjson");
  std::vector<json> lines;
  std::istringstream text(response.body);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

// What is different in every run.
void EraseTimes(json& answer) {
  for (const char* name :
       {"total_duration", "load_duration", "prompt_eval_duration", "eval_duration"}) {
    EXPECT_GT(answer.at(name), 0) << name;
    answer.erase(name);
  }
  EXPECT_THAT(answer.at("created_at").get<std::string>(), testing::EndsWith("Z"));
  answer.erase("created_at");
}

TEST(OllamaTest, AChatIsAnsweredWhole) {
  const TestServer server(Saying("Hello."));
  json answer = WholeAt(server, "/api/chat", OllamaBody(R"("stream":false)"));
  EraseTimes(answer);
  EXPECT_EQ(answer, json::parse(R"({"model":"test-model","done":true,"done_reason":"stop",
      "message":{"role":"assistant","content":"Hello."},"prompt_eval_count":256,
      "eval_count":7})"));
}

TEST(OllamaTest, AChatIsStreamedInLines) {
  const TestServer server(Saying("Hello."));
  const std::vector<json> lines = LinesAt(server, "/api/chat", OllamaBody(""));
  std::string text;
  for (const json& line : lines) {
    EXPECT_EQ(line["done"], &line == &lines.back());
    EXPECT_EQ(line["message"]["role"], "assistant");
    text += line["message"]["content"];
  }
  EXPECT_EQ(text, "Hello.");
  EXPECT_EQ(lines.back()["done_reason"], "stop");
  EXPECT_EQ(lines.back()["eval_count"], 7);
}

TEST(OllamaTest, ThinkingIsApart) {
  TestModelOptions options = Saying("<think>Hm.</think>Yes.");
  options.chat_template = "{#- <think></think> -#}" + options.chat_template;
  const TestServer server(options);
  const json answer = WholeAt(server, "/api/chat", OllamaBody(R"("stream":false,"think":true)"));
  EXPECT_EQ(answer["message"]["thinking"], "Hm.");
  EXPECT_EQ(answer["message"]["content"], "Yes.");
  std::string thinking;
  for (const json& line : LinesAt(server, "/api/generate", R"({"prompt":"Hi"})")) {
    thinking += line.value("thinking", "");
  }
  EXPECT_EQ(thinking, "Hm.");
}

TEST(OllamaTest, ACallComesWholeAndWithAnObject) {
  const TestServer server(
      Saying(R"(<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>)"));
  const std::string fields(kTool);
  const json call = WholeAt(server, "/api/chat",
                            OllamaBody(fields + R"(,"stream":false)"))["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"],
            json::parse(R"({"index":0,"name":"weather","arguments":{"city":"Paris"}})"));
  std::vector<json> calls;
  for (const json& line : LinesAt(server, "/api/chat", OllamaBody(fields))) {
    for (const json& each : line["message"].value("tool_calls", json::array())) {
      calls.push_back(each["function"]);
    }
  }
  EXPECT_EQ(calls, std::vector<json>{call["function"]});
}

TEST(OllamaTest, GenerateAppliesTheTemplateUnlessRaw) {
  TestModelOptions options = Saying("Hello.");
  const TestServer server(options);
  EXPECT_EQ(WholeAt(server, "/api/generate",
                    R"({"prompt":"Hi","system":"s","stream":false})")["response"],
            "Hello.");
  const json raw = WholeAt(server, "/api/generate",
                           R"({"prompt":"Hi","raw":true,"stream":false,)"
                           R"("options":{"num_predict":3}})");
  EXPECT_EQ(raw["prompt_eval_count"], 3);  // with <s>
  EXPECT_EQ(raw["eval_count"], 3);
  EXPECT_EQ(raw["done_reason"], "length");
}

TEST(OllamaTest, LengthIsABoundNoPromise) {
  const TestServer server(Saying("Hello."));
  const std::string body = OllamaBody(R"("stream":false,"options":{"num_predict":1000000})");
  EXPECT_EQ(WholeAt(server, "/api/chat", body)["message"]["content"], "Hello.");
}

TEST(OllamaTest, LogProbabilitiesComeWithTheirTokens) {
  const TestServer server(Saying("Hello."));
  const json whole = WholeAt(server, "/api/chat",
                             OllamaBody(R"("stream":false,"logprobs":true,"top_logprobs":2)"));
  EXPECT_EQ(whole["logprobs"].size(), 6);
  EXPECT_EQ(whole["logprobs"][0]["token"], "H");
  EXPECT_EQ(whole["logprobs"][0]["top_logprobs"].size(), 2);
  size_t count = 0;
  for (const json& line : LinesAt(server, "/api/chat", OllamaBody(R"("logprobs":true)"))) {
    count += line.value("logprobs", json::array()).size();
  }
  EXPECT_EQ(count, 6U);
}

TEST(OllamaTest, TheModelsNameMayHaveATagOrBeEmpty) {
  const TestServer server(Saying("Hello."));
  for (const char* name : {"", "test-model", "test-model:latest"}) {
    const std::string body = OllamaBody(R"("stream":false,"model":")" + std::string(name) + '"');
    EXPECT_EQ(WholeAt(server, "/api/chat", body)["model"], "test-model");
  }
  const RawResponse other = server.PostTo("/api/chat", OllamaBody(R"("model":"other:latest")"));
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(other.body,
            R"({"error":"the model 'other' does not exist; this server has 'test-model'"})");
}

TEST(OllamaTest, NothingToSayLoadsAndComputesNothing) {
  const TestServer server(Saying("Hello."));
  for (const auto& [path, body, reason] :
       {std::tuple("/api/chat", R"({"messages":[]})", "load"),
        {"/api/chat", R"({"messages":[],"keep_alive":0})", "unload"},
        {"/api/generate", R"({})", "load"}}) {
    json answer = WholeAt(server, path, body);
    EXPECT_EQ(answer["done"], true);
    EXPECT_EQ(answer["done_reason"], reason);
  }
  EXPECT_EQ(WholeAt(server, "/api/embed", R"({"input":[]})")["embeddings"], json::array());
  EXPECT_EQ(WholeAt(server, "/api/embeddings", R"({"prompt":""})")["embedding"], json::array());
  EXPECT_EQ(server.model.steps(), 0);
}

TEST(OllamaTest, Vectors) {
  const TestServer server;
  const json two = WholeAt(server, "/api/embed", R"({"input":["a","b"],"dimensions":2})");
  EXPECT_EQ(two["embeddings"].size(), 2);
  EXPECT_EQ(two["embeddings"][0].size(), 2);
  EXPECT_EQ(two["prompt_eval_count"], 4);
  EXPECT_GT(two["total_duration"], 0);
  const json one = WholeAt(server, "/api/embeddings", R"({"prompt":"a"})");
  const json normal = WholeAt(server, "/api/embed", R"({"input":"a"})");
  EXPECT_EQ(one["embedding"].size(), normal["embeddings"][0].size());
  EXPECT_NE(one["embedding"], normal["embeddings"][0]);  // as long as it is
}

TEST(OllamaTest, RefusalsSayWhy) {
  const TestServer server(Saying("Hello."));
  for (const auto& [body, reason] :
       {std::pair(OllamaBody(R"("options":{"num_ctx":1025})"),
                  "'options.num_ctx' is 1025, but 'test-model' is served with a context of 1024"),
        {OllamaBody(R"("options":{"top_k":"a"})"), "'options.top_k' must be an integer"},
        {OllamaBody(R"("think":true)"), "'test-model' does not support thinking"}}) {
    const RawResponse response = server.PostTo("/api/chat", body);
    EXPECT_EQ(response.status, 400);
    const json answer = json::parse(response.body);
    EXPECT_EQ(answer.size(), 1U);
    EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr(reason));
  }
  const RawResponse suffix = server.PostTo("/api/generate", R"({"prompt":"a","suffix":"b"})");
  EXPECT_EQ(suffix.status, 400);
  EXPECT_THAT(suffix.body, HasSubstr("does not support insert"));
  EXPECT_EQ(server.PostTo("/api/chat", OllamaBody(R"("options":{"num_ctx":1024})")).status, 200);
}

TEST(OllamaTest, ModelsCannotBeChanged) {
  const TestServer server;
  for (const char* path : {"/api/pull", "/api/push", "/api/create", "/api/copy", "/api/delete",
                           "/api/blobs/sha256:00"}) {
    const RawResponse response = server.PostTo(path, R"({"model":"a"})");
    EXPECT_EQ(response.status, 403) << path;
    EXPECT_EQ(json::parse(response.body),
              json({{"error", std::string(path) + " is not offered: this server has the models "
                                                  "that it was started with"}}));
  }
  EXPECT_EQ(server.PostTo("/api/pulls", "{}").status, 404);
}

TEST(OllamaTest, ModelsAreListedAndDescribed) {
  const TestServer server(Saying("Hello."));
  const auto get = [&](std::string_view path) {
    RawClient client(server.port());
    client.Send(Get(path));
    return json::parse(client.Read().body);
  };
  const json tags = get("/api/tags");
  ASSERT_EQ(tags["models"].size(), 1U);
  EXPECT_EQ(tags["models"][0]["name"], "test-model:latest");
  EXPECT_EQ(tags["models"][0]["modified_at"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(get("/api/ps")["models"][0]["context_length"], 1024);
  EXPECT_EQ(get("/api/version"), json({{"version", "0.13.0"}}));
  const json shown = WholeAt(server, "/api/show", R"({"model":"test-model"})");
  EXPECT_EQ(shown["capabilities"], json({"completion", "tools", "embedding"}));
  EXPECT_EQ(shown["template"], kTemplate);
  EXPECT_EQ(WholeAt(server, "/api/show", R"({"name":"test-model:latest"})"), shown);
  EXPECT_EQ(server.PostTo("/api/show", R"({"model":"other"})").status, 404);
}

TEST(OllamaTest, CurlsOwnContentTypeIsTaken) {
  const TestServer server(Saying("Hello."));
  const auto post = [&](std::string_view path, std::string_view more) {
    const std::string body = OllamaBody(R"("stream":false)");
    RawClient client(server.port());
    client.Send("POST " + std::string(path) +
                " HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n" +
                std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body);
    return client.Read().status;
  };
  EXPECT_EQ(post("/api/chat", ""), 200);
  EXPECT_EQ(post("/api/chat", "Origin: http://localhost\r\n"), 415);  // a page needs no preflight
  EXPECT_EQ(post("/v1/chat/completions", ""), 415);
}

TEST(OllamaTest, AFailureEndsTheStreamWithAnError) {
  TestServer server(Saying("Hello."));
  server.model.FailNextStep();
  const RawResponse response = server.PostTo("/api/chat", OllamaBody(""));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(json::parse(response.body).size(), 1U);
  EXPECT_TRUE(json::parse(response.body).contains("error"));
}

}  // namespace
}  // namespace weft
