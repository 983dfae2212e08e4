// A server on a free port, or in other places, over a TestModel.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/http/server.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_certificate.h"
#include "tests/server/test_model.h"
#include "tests/temporary_directory.h"

namespace weft {

enum class Wire { kTcp, kTls, kUnix };

inline std::string NameOf(Wire wire) {
  return wire == Wire::kTcp ? "Tcp" : wire == Wire::kTls ? "Tls" : "Unix";
}

class TestServer {
 public:
  explicit TestServer(const TestModelOptions& model_options = {}, ServerOptions options = {},
                      Wire wire = Wire::kTcp,
                      std::shared_ptr<Tracer> tracer = std::make_shared<Tracer>())
      : model(model_options) {
    options.port = 0;
    if (wire == Wire::kUnix) {
      options.listens_on_tcp = false;
      options.unix_socket_path = directory.path() + "/socket";
    } else if (wire == Wire::kTls) {
      const TestCertificate certificate = MakeCertificate();
      options.tls_certificate_path = directory.Write("cert.pem", certificate.certificate_pem);
      options.tls_key_path = directory.Write("key.pem", certificate.key_pem);
    }
    socket_path = options.unix_socket_path;
    issuer_path = options.tls_certificate_path;  // it vouches for itself
    auto loaded = Access::Load(options);
    EXPECT_TRUE(loaded) << loaded.error().message;
    access = *loaded;
    auto started = Server::Start(options, RegistryOf({model.Served()}), model.metrics(), access,
                                 std::move(tracer));
    EXPECT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  ~TestServer() { model.ReleaseSteps(); }

  uint16_t port() const { return server->port(); }
  Endpoint endpoint() const {
    Endpoint endpoint(port());
    endpoint.unix_path = socket_path;
    endpoint.tls_issuer = issuer_path;
    return endpoint;
  }

  // One request on a connection of its own.
  RawResponse Post(std::string_view json) const {
    RawClient client(endpoint());
    client.Send(CompletionPost(json));
    return client.Read();
  }

  RawResponse PostTo(std::string_view path, std::string_view json) const {
    RawClient client(endpoint());
    client.Send(weft::Post(path, json));
    return client.Read();
  }

  const TemporaryDirectory directory;
  std::string socket_path;  // empty: on TCP
  std::string issuer_path;  // empty: without TLS
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
