// A server on a free port over a TestModel.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/server.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_model.h"

namespace weft {

class TestServer {
 public:
  explicit TestServer(const TestModelOptions& model_options = {}, ServerOptions options = {})
      : model(model_options) {
    options.port = 0;
    auto loaded = Access::Load(options);
    EXPECT_TRUE(loaded) << loaded.error().message;
    access = *loaded;
    auto started = Server::Start(options, {model.Served()}, model.metrics(), access);
    EXPECT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  ~TestServer() { model.ReleaseSteps(); }

  uint16_t port() const { return server->port(); }

  // One request on a connection of its own.
  RawResponse Post(std::string_view json) const {
    RawClient client(port());
    client.Send(CompletionPost(json));
    return client.Read();
  }

  RawResponse PostTo(std::string_view path, std::string_view json) const {
    RawClient client(port());
    client.Send(weft::Post(path, json));
    return client.Read();
  }

  TestModel model;
  std::shared_ptr<Access> access;
  std::unique_ptr<Server> server;
};

// The choice's text of a whole answer.
inline std::string TextOf(const RawResponse& response) {
  const auto body = nlohmann::json::parse(response.body);
  return body.at("choices").at(0).at("text");
}

// The "error" member of a refusal.
inline nlohmann::json ErrorOf(const RawResponse& response) {
  return nlohmann::json::parse(response.body).at("error");
}

// Polls until the condition holds; false after 20 s.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace weft
