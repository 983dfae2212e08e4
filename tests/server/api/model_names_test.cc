// What models are called: several names of one, any name, and lists of them for each API's clients.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TestModelOptions Named(bool takes_any_name = false) {
  TestModelOptions options;
  options.id = "first";
  options.aliases = {"second", "third"};
  options.takes_any_name = takes_any_name;
  return options;
}

RawResponse Ask(const TestServer& server, std::string_view path, std::string_view fields = "") {
  RawClient client(server.endpoint());
  client.Send(Get(path, fields));
  return client.Read();
}

RawResponse Complete(const TestServer& server, std::string_view model) {
  return server.Post(R"({"prompt":"a","max_tokens":1,"model":")" + std::string(model) + "\"}");
}

TEST(ModelNamesTest, AModelMayHaveSeveral) {
  const TestServer server(Named());
  for (const char* const name : {"first", "second", "third"}) {
    const RawResponse response = Complete(server, name);
    ASSERT_EQ(response.status, 200) << name;
    EXPECT_EQ(json::parse(response.body)["model"], "first");
    EXPECT_EQ(json::parse(Ask(server, std::string("/v1/models/") + name).body)["id"], name);
  }
  const json list = json::parse(Ask(server, "/v1/models").body);
  ASSERT_EQ(list["data"].size(), 3U);
  EXPECT_EQ(list["data"][2]["id"], "third");
  const RawResponse unknown = Complete(server, "fourth");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(ErrorOf(unknown)["code"], "model_not_found");
  EXPECT_THAT(ErrorOf(unknown)["message"], HasSubstr("this server has 'first', 'second', 'third'"));
}

TEST(ModelNamesTest, OrAny) {
  const TestServer server(Named(true));
  const RawResponse response = Complete(server, "gpt-9");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(json::parse(response.body)["model"], "first");
  EXPECT_EQ(json::parse(Ask(server, "/v1/models/gpt-9").body)["id"], "gpt-9");
}

TEST(ModelNamesTest, AnthropicsClientsGetAnthropicsShape) {
  const TestServer server(Named());
  constexpr std::string_view kVersion = "anthropic-version: 2023-06-01\r\n";
  const json list = json::parse(Ask(server, "/v1/models", kVersion).body);
  EXPECT_EQ(list["has_more"], false);
  EXPECT_EQ(list["first_id"], "first");
  EXPECT_EQ(list["last_id"], "third");
  const json card = {{"type", "model"},          {"id", "second"},
                     {"display_name", "second"}, {"created_at", "2023-11-14T22:13:20Z"},
                     {"lifecycle", "active"},    {"max_input_tokens", 512},
                     {"max_tokens", 512}};
  EXPECT_EQ(list["data"][1], card);
  EXPECT_EQ(json::parse(Ask(server, "/models/second", kVersion).body), card);
  const RawResponse unknown = Ask(server, "/v1/models/fourth", kVersion);
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(json::parse(unknown.body)["error"]["type"], "not_found_error");
  EXPECT_EQ(unknown.headers.count("request-id"), 1U);
  // Elsewhere the header says nothing.
  EXPECT_EQ(ErrorOf(Ask(server, "/v1/nowhere", kVersion))["code"], "unknown_route");
}

TEST(ModelNamesTest, FingerprintsAreTheModels) {
  const TestServer server(Named());
  EXPECT_EQ(json::parse(Complete(server, "second").body)["system_fingerprint"], "fp_first");
  const RawResponse stream = server.Post(R"({"prompt":"a","max_tokens":2,"stream":true})");
  for (const std::string& data : SseData(stream.body)) {
    if (data == "[DONE]") continue;
    EXPECT_EQ(json::parse(data)["system_fingerprint"], "fp_first");
  }
}

}  // namespace
}  // namespace weft
