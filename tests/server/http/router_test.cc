// Paths: with and without /v1, the root, and what requests do not say.
#include "server/http/router.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;

TEST(RouterTest, PathsUnderV1AreThereWithoutItToo) {
  struct Case {
    std::string_view method;
    std::string_view path;
    std::string_view label;
  };
  for (const Case& each :
       {Case{"POST", "/messages", "/v1/messages"},
        Case{"POST", "/messages/count_tokens", "/v1/messages/count_tokens"},
        Case{"POST", "/responses", "/v1/responses"},
        Case{"GET", "/responses/resp_1", "/v1/responses/{id}"},
        Case{"GET", "/models", "/v1/models"}, Case{"HEAD", "/models/owner/name", "/v1/models/{id}"},
        // These are others there.
        Case{"POST", "/rerank", "/rerank"}, Case{"POST", "/score", "/score"},
        Case{"POST", "/chat/completions", "/chat/completions"},
        Case{"POST", "/completions", "/completions"}, Case{"POST", "/embeddings", "/embeddings"}}) {
    const RouteMatch match = FindRoute(each.method, each.path);
    EXPECT_EQ(match.label, each.label);
    EXPECT_NE(match.route, nullptr) << each.path;
  }
  EXPECT_EQ(FindRoute("GET", "/models/owner/name").argument, "owner/name");
  EXPECT_EQ(FindRoute("GET", "/chat/completions").allow, "POST");
  for (const char* const nowhere : {"/v1", "/v1/", "/v1/v1/models", "models", "", "//models"}) {
    EXPECT_EQ(FindRoute("GET", nowhere).label, "other") << nowhere;
  }
}

TEST(RouterTest, WhoseErrorsAPathHas) {
  for (const char* const path : {"/v1/messages", "/messages", "/messages/count_tokens"}) {
    EXPECT_EQ(ApiStyleOf(path, false), ApiStyle::kAnthropic) << path;
  }
  for (const char* const path : {"/v1/models", "/models", "/v1/models/a"}) {
    EXPECT_EQ(ApiStyleOf(path, false), ApiStyle::kOpenAi) << path;
    EXPECT_EQ(ApiStyleOf(path, true), ApiStyle::kAnthropic) << path;
  }
  for (const char* const path : {"/completion", "/completions", "/chat/completions", "/infill",
                                 "/embeddings", "/slots", "/slots/0", "/props"}) {
    EXPECT_EQ(ApiStyleOf(path, false), ApiStyle::kLlama) << path;
  }
  for (const char* const path : {"/v1/chat/completions", "/v1/modelsx", "/"}) {
    EXPECT_EQ(ApiStyleOf(path, true), ApiStyle::kOpenAi) << path;
  }
}

RawResponse Ask(const TestServer& server, std::string_view method, std::string_view path,
                std::string_view fields = "") {
  RawClient client(server.endpoint());
  client.Send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
              std::string(fields) + "\r\n");
  return client.Read(method == "HEAD");
}

TEST(RouterTest, TheRootSaysThatThereIsAServer) {
  const TestServer server;
  const RawResponse line = Ask(server, "GET", "/", "Accept: */*\r\n");
  EXPECT_EQ(line.status, 200);
  EXPECT_EQ(line.body, "Weft is running\n");
  EXPECT_EQ(line.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(Ask(server, "HEAD", "/").status, 200);
  EXPECT_EQ(Ask(server, "DELETE", "/").status, 405);
}

TEST(RouterTest, PropsShowTheDefaults) {
  ServerOptions options;
  options.rules.sampling.temperature = 0.6;
  options.rules.sampling_fields = R"({"temperature":0.6,"stop":["###"]})";
  options.rules.template_variables = R"({"enable_thinking":false})";
  const TestServer server({}, options);
  const json props = json::parse(Ask(server, "GET", "/props").body);
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 512);
  const json& params = props["default_generation_settings"]["params"];
  EXPECT_EQ(params["temperature"], 0.6);
  EXPECT_EQ(params["top_p"], 1.0);
  EXPECT_EQ(params["seed"], 4294967295U);
  EXPECT_EQ(props["modalities"], json({{"vision", false}, {"audio", false}}));
  EXPECT_EQ(props["bos_token"], "<s>");
  EXPECT_EQ(props["eos_token"], "</s>");
  EXPECT_EQ(params["stop"], json::array({"###"}));
  EXPECT_EQ(props["chat_template_kwargs"], json({{"enable_thinking", false}}));
  EXPECT_EQ(props["total_slots"], 64);
  EXPECT_EQ(props["model_alias"], "test-model");
}

}  // namespace
}  // namespace weft
