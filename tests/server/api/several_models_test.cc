// Several models in one server: requests go by name, each to its engine, and metrics tell them
// apart.
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class SeveralModelsTest : public ::testing::Test {
 protected:
  SeveralModelsTest() {
    ServerOptions options;
    options.port = 0;
    auto started =
        Server::Start(options, RegistryOf({writer_.Served(), encoder_.Served(), other_.Served()}),
                      metrics_, Access::Load(options).value(), std::make_shared<Tracer>());
    EXPECT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
  }

  // What generates nothing has no script.
  static TestModelOptions OptionsOf(const std::string& id, const std::string& script) {
    TestModelOptions options;
    options.id = id;
    options.script = script;
    options.is_encoder = script.empty();
    return options;
  }

  RawResponse PostTo(std::string_view path, std::string_view json) const {
    RawClient client{Endpoint(server_->port())};
    client.Send(weft::Post(path, json));
    return client.Read();
  }
  std::string Ask(std::string_view path) const {
    RawClient client{Endpoint(server_->port())};
    client.Send(Get(path));
    return client.Read().body;
  }

  const std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  TestModel writer_{OptionsOf("writer", "w"), metrics_};
  TestModel encoder_{OptionsOf("encoder", ""), metrics_};
  TestModel other_{OptionsOf("other", "o"), metrics_};
  std::unique_ptr<Server> server_;
};

TEST_F(SeveralModelsTest, RequestsGoByName) {
  const auto text_of = [&](std::string_view json) {
    return TextOf(PostTo("/v1/completions", json));
  };
  EXPECT_EQ(text_of(R"({"model":"writer","prompt":"a","max_tokens":2})"), "ww");
  EXPECT_EQ(text_of(R"({"model":"other","prompt":"a","max_tokens":2})"), "oo");
  EXPECT_EQ(text_of(R"({"prompt":"a","max_tokens":2})"), "ww");
  const RawResponse answer = PostTo("/v1/embeddings", R"({"model":"encoder","input":"a"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(nlohmann::json::parse(answer.body).at("model"), "encoder");
  EXPECT_EQ(encoder_.steps(), 1);
  const auto models = nlohmann::json::parse(Ask("/v1/models")).at("data");
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0].at("id"), "writer");
  EXPECT_EQ(models[1].at("id"), "encoder");
  EXPECT_EQ(nlohmann::json::parse(Ask("/v1/models/other")).at("id"), "other");
}

TEST_F(SeveralModelsTest, WhatAModelCannotDoOrDoesNotExistIsSaid) {
  const RawResponse wrong =
      PostTo("/v1/completions", R"({"model":"encoder","prompt":"a","max_tokens":2})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(std::string(ErrorOf(wrong).at("message")),
              HasSubstr("'encoder' is an encoder, which generates no text"));
  const RawResponse unknown = PostTo("/v1/embeddings", R"({"model":"nobody","input":"a"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(ErrorOf(unknown).at("message"),
            "the model 'nobody' does not exist; this server has 'writer', 'encoder', 'other'");
}

TEST_F(SeveralModelsTest, MetricsTellThemApart) {
  PostTo("/v1/completions", R"({"model":"other","prompt":"a","max_tokens":3})");
  EXPECT_TRUE(Eventually([&] {
    return Ask("/metrics").find("weft_completion_tokens_total{model=\"other\"} 3\n") !=
           std::string::npos;
  }));
  const std::string text = Ask("/metrics");
  EXPECT_THAT(text, HasSubstr("weft_completion_tokens_total{model=\"writer\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("vllm:generation_tokens_total{model_name=\"writer\",engine=\"0\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("vllm:generation_tokens_total{model_name=\"other\",engine=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("weft_memory_limit_bytes "));  // of all, once
  // No two series are the same: Prometheus would refuse them all.
  std::set<std::string> series;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("#")) continue;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
  }
}

}  // namespace
}  // namespace weft
