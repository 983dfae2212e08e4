// API keys and browsers' preflights, through the socket.
#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/serve_options.h"
#include "tests/server/test_server.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr char kAlice[] = "Authorization: Bearer sk-alice-0123456789\r\n";
constexpr char kBob[] = "x-api-key: sk-bob-0123456789ab\r\n";

class KeyedServerTest : public testing::Test {
 protected:
  ServerOptions Options() {
    ServerOptions options;
    options.api_key_path =
        directory_.Write("keys", "alice:sk-alice-0123456789\nbob:sk-bob-0123456789ab\n");
    options.cors_origins = {"https://a.example"};
    return options;
  }
  RawResponse Ask(std::string_view request) const {
    RawClient client(server_.port());
    client.Send(request);
    return client.Read();
  }

  const TemporaryDirectory directory_;
  const TestServer server_{{}, Options()};
};

TEST_F(KeyedServerTest, EveryRouteButHealthAndReadinessNeedsAKey) {
  EXPECT_EQ(Ask(Get("/health")).status, 200);
  EXPECT_EQ(Ask(Get("/ready")).status, 200);
  for (const std::string& request :
       {Get("/v1/models"), Get("/v1/models/test-model"), Get("/metrics"), Get("/nowhere"),
        Get("/health/"), CompletionPost(R"({"prompt":"a"})"), Post("/v1/chat/completions", "{}")}) {
    const RawResponse refused = Ask(request);
    EXPECT_EQ(refused.status, 401) << request;
    EXPECT_EQ(ErrorOf(refused)["code"], "invalid_api_key");
    EXPECT_EQ(ErrorOf(refused)["type"], "invalid_request_error");
    EXPECT_EQ(refused.headers.at("www-authenticate"), R"(Bearer realm="weft")");
  }
  EXPECT_EQ(Ask(Get("/nowhere", kAlice)).status, 404);
}

TEST_F(KeyedServerTest, EitherHeaderCarriesAKey) {
  for (const char* key : {kAlice, kBob, "authorization: bearer   sk-bob-0123456789ab\r\n",
                          "X-API-Key: sk-alice-0123456789\r\n",
                          // One that is not for this server does not spoil the other.
                          "Authorization: Bearer other\r\nx-api-key: sk-bob-0123456789ab\r\n"}) {
    EXPECT_EQ(Ask(CompletionPost(R"({"prompt":"a","max_tokens":2})", key)).status, 200) << key;
    EXPECT_EQ(Ask(Get("/v1/models", key)).status, 200) << key;
  }
}

TEST_F(KeyedServerTest, WrongKeys) {
  for (const char* key :
       {"Authorization: Bearer sk-alice-012345678\r\n", "Authorization: sk-alice-0123456789\r\n",
        "Authorization: Basic sk-alice-0123456789\r\n", "Authorization: Bearer\r\n",
        "Authorization: Bearer  \r\n", "x-api-key:\r\n", "x-api-key: alice\r\n",
        "Authorization: Bearer sk-alice-0123456789, sk-bob-0123456789ab\r\n",
        "X-Auth: sk-alice-0123456789\r\n"}) {
    EXPECT_EQ(Ask(Get("/v1/models", key)).status, 401) << key;
  }
  const RawResponse refused = Ask(Get("/v1/models", "Authorization: Bearer secret-of-mine\r\n"));
  EXPECT_EQ(refused.headers.at("www-authenticate"),
            R"(Bearer realm="weft", error="invalid_token")");
  EXPECT_THAT(refused.body, Not(HasSubstr("secret-of-mine")));
}

TEST_F(KeyedServerTest, StrangersAreAnsweredBeforeTheirBodyIsRead) {
  RawClient client(server_.port());
  // The body never comes.
  client.Send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n");
  const RawResponse refused = client.Read();
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  RawClient expecting(server_.port());
  expecting.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(expecting.Read().status, 401);
}

TEST_F(KeyedServerTest, WithoutABodyTheConnectionGoesOn) {
  RawClient client(server_.port());
  client.Send(Get("/v1/models") + Get("/v1/models", kBob));
  EXPECT_EQ(client.Read().status, 401);
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(KeyedServerTest, MetricsShowAKeyItselfAlone) {
  RawClient client(server_.port());
  client.Send(CompletionPost(R"({"prompt":"abc","max_tokens":5})", kAlice));
  client.Read();
  client.Send(Get("/v1/models", kBob));
  client.Read();
  client.Send(Get("/metrics", kBob));
  const std::string bobs = client.Read().body;
  EXPECT_THAT(bobs, HasSubstr("weft_api_key_requests_total{key=\"bob\"} 1"));
  EXPECT_THAT(bobs, Not(HasSubstr("alice")));
  EXPECT_THAT(bobs, Not(HasSubstr("weft_api_key_tokens_total")));
  EXPECT_THAT(bobs, HasSubstr("weft_http_requests_total{route=\"/v1/models\",status=\"200\"} 1"));
  client.Send(Get("/metrics", kAlice));
  const std::string alices = client.Read().body;
  EXPECT_THAT(alices, HasSubstr("weft_api_key_requests_total{key=\"alice\"} 1"));
  EXPECT_THAT(alices, HasSubstr("weft_api_key_tokens_total{key=\"alice\",kind=\"prompt\"} 4"));
  EXPECT_THAT(alices, HasSubstr("weft_api_key_tokens_total{key=\"alice\",kind=\"completion\"} 5"));
  EXPECT_THAT(alices, Not(HasSubstr("bob")));
}

TEST_F(KeyedServerTest, NewKeysCountFromTheNextRequestOn) {
  RawClient client(server_.port());
  client.Send(Get("/v1/models", kAlice));
  EXPECT_EQ(client.Read().status, 200);
  directory_.Write("keys", "bob:sk-bob-0123456789ab\n");
  server_.access->Reload();
  client.Send(Get("/v1/models", kAlice));
  EXPECT_EQ(client.Read().status, 401);
  client.Send(Get("/v1/models", kBob));
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(KeyedServerTest, PreflightsNeedNoKey) {
  const RawResponse preflight = Ask(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n"
      "Access-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: authorization,content-type\r\n\r\n");
  EXPECT_EQ(preflight.status, 200);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "https://a.example");
  EXPECT_EQ(preflight.headers.at("access-control-allow-headers"), "authorization,content-type");
  EXPECT_THAT(preflight.headers.at("access-control-allow-methods"), HasSubstr("POST"));
  const RawResponse foreign =
      Ask("OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: https://b.example\r\n"
          "Access-Control-Request-Method: GET\r\n\r\n");
  EXPECT_EQ(foreign.status, 403);
  EXPECT_FALSE(foreign.headers.contains("access-control-allow-origin"));
  // Not a browser's.
  EXPECT_EQ(Ask("OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 401);
}

TEST_F(KeyedServerTest, PagesMayReadEveryAnswer) {
  const std::string origin = "Origin: https://a.example\r\n";
  for (const std::string& request :
       {Get("/v1/models", origin), Get("/v1/models", origin + kBob), Get("/nowhere", origin + kBob),
        CompletionPost(R"({"prompt":"a"})", origin + kBob),
        CompletionPost(R"({"prompt":"a","stream":true})", origin + kBob)}) {
    const RawResponse response = Ask(request);
    EXPECT_EQ(response.headers.at("access-control-allow-origin"), "https://a.example");
    EXPECT_EQ(response.headers.at("access-control-expose-headers"),
              "X-Request-Id, Retry-After, Retry-After-Ms, weft-dropped-tools");
    EXPECT_EQ(response.headers.at("vary"), "Origin");
  }
  EXPECT_FALSE(Ask(Get("/health")).headers.contains("access-control-allow-origin"));
}

// Those who watch the server: a key of their own, or an address.
class OperatorsTest : public testing::Test {
 protected:
  static constexpr char kPrometheus[] = "Authorization: Bearer sk-prometheus-0123\r\n";

  ServerOptions Options(bool has_api_keys) {
    ServerOptions options;
    if (has_api_keys) {
      options.api_key_path =
          directory_.Write("keys", "alice:sk-alice-0123456789\nbob:sk-bob-0123456789ab\n");
    }
    options.metrics_key_path = directory_.Write("metrics", "prometheus:sk-prometheus-0123\n");
    options.metrics_address = {.host = "127.0.0.1", .port = 0};
    return options;
  }
  static RawResponse Ask(uint16_t port, std::string_view request) {
    RawClient client(port);
    client.Send(request);
    return client.Read();
  }
  // A request is counted a moment after its answer.
  static void ExpectBoth(uint16_t port, const std::string& request) {
    EXPECT_TRUE(Eventually([&] {
      const std::string metrics = Ask(port, request).body;
      EXPECT_THAT(metrics, Not(HasSubstr("0123456789")));
      return metrics.find("weft_api_key_requests_total{key=\"alice\"} 1") != std::string::npos &&
             metrics.find("weft_api_key_requests_total{key=\"bob\"} 1") != std::string::npos;
    }));
  }

  const TemporaryDirectory directory_;
};

TEST_F(OperatorsTest, SeeAllKeysAndNothingElse) {
  const TestServer server({}, Options(true));
  for (const char* const key : {kAlice, kBob}) {
    EXPECT_EQ(Ask(server.port(), Get("/v1/models", key)).status, 200);
  }
  EXPECT_EQ(Ask(server.port(), Get("/metrics")).status, 401);
  ExpectBoth(server.port(), Get("/metrics", kPrometheus));
  EXPECT_THAT(Ask(server.port(), Get("/metrics", kBob)).body, Not(HasSubstr("alice")));
  for (const std::string& request : {Get("/v1/models", kPrometheus), Get("/nowhere", kPrometheus),
                                     CompletionPost(R"({"prompt":"a"})", kPrometheus)}) {
    const RawResponse refused = Ask(server.port(), request);
    EXPECT_EQ(refused.status, 403) << request;
    EXPECT_EQ(ErrorOf(refused)["code"], "key_not_allowed");
  }
  // A wrong one beside it does not spoil a key.
  EXPECT_EQ(Ask(server.port(), Get("/v1/models", std::string(kPrometheus) + kBob)).status, 200);
}

TEST_F(OperatorsTest, TheirKeysAreReadAgain) {
  const TestServer server({}, Options(true));
  directory_.Write("metrics", "grafana:sk-grafana-0123456\n");
  server.access->Reload();
  EXPECT_EQ(Ask(server.port(), Get("/metrics", kPrometheus)).status, 401);
  EXPECT_EQ(Ask(server.port(), Get("/metrics", "x-api-key: sk-grafana-0123456\r\n")).status, 200);
}

TEST_F(OperatorsTest, AKeyAndANameAreOfOneFileAlone) {
  ServerOptions options = Options(true);
  for (const char* const line :
       {"alice:sk-another-0123456\n", "prometheus:sk-alice-0123456789\n"}) {
    directory_.Write("metrics", line);
    const auto access = Access::Load(options);
    ASSERT_FALSE(access) << line;
    EXPECT_THAT(access.error().message, HasSubstr(options.api_key_path + " and "));
    EXPECT_THAT(access.error().message, HasSubstr("'alice'"));
    EXPECT_THAT(access.error().message, Not(HasSubstr("0123456")));
  }
}

TEST_F(OperatorsTest, KeysThatAreInBothFilesAfterwardsAreNotTaken) {
  const TestServer server({}, Options(true));
  directory_.Write("metrics", "prometheus:sk-bob-0123456789ab\n");
  server.access->Reload();
  EXPECT_EQ(Ask(server.port(), Get("/v1/models", kBob)).status, 200);
  EXPECT_EQ(Ask(server.port(), Get("/metrics", kPrometheus)).status, 200);
  // It moves from one file to the other.
  directory_.Write("keys", "alice:sk-alice-0123456789\n");
  server.access->Reload();
  EXPECT_EQ(Ask(server.port(), Get("/v1/models", kBob)).status, 403);
  EXPECT_EQ(Ask(server.port(), Get("/metrics", kBob)).status, 200);
  directory_.Write("keys", "alice:sk-alice-0123456789\nbob:sk-bob-0123456789ab\n");
  directory_.Write("metrics", "prometheus:sk-prometheus-0123\n");
  server.access->Reload();
  EXPECT_EQ(Ask(server.port(), Get("/v1/models", kBob)).status, 200);
  // A file that is wrong does not keep the other from being read.
  directory_.Write("metrics", "nothing\n");
  directory_.Write("keys", "alice:sk-alice-0123456789\n");
  server.access->Reload();
  EXPECT_EQ(Ask(server.port(), Get("/v1/models", kBob)).status, 401);
  EXPECT_EQ(Ask(server.port(), Get("/metrics", kPrometheus)).status, 200);
}

TEST_F(OperatorsTest, WithoutApiKeysOnlyMetricsNeedOne) {
  const TestServer server({}, Options(false));
  EXPECT_EQ(Ask(server.port(), Get("/v1/models")).status, 200);
  EXPECT_EQ(Ask(server.port(), Get("/metrics")).status, 401);
  EXPECT_EQ(Ask(server.port(), Get("/metrics", kPrometheus)).status, 200);
}

TEST_F(OperatorsTest, HaveAnAddress) {
  const TestServer server({}, Options(true));
  const uint16_t port = server.server->metrics_port();
  for (const char* const key : {kAlice, kBob}) {
    EXPECT_EQ(Ask(server.port(), Get("/v1/models", key)).status, 200);
  }
  ExpectBoth(port, Get("/metrics"));
  EXPECT_EQ(Ask(port, Get("/health")).status, 200);
  EXPECT_EQ(Ask(port, Get("/ready")).status, 200);
  for (const std::string& request :
       {Get("/v1/models", kAlice), Get("/nowhere"), CompletionPost(R"({"prompt":"a"})", kAlice)}) {
    const RawResponse refused = Ask(port, request);
    EXPECT_EQ(refused.status, 404) << request;
    EXPECT_EQ(ErrorOf(refused)["code"], "unknown_route");
  }
  // Pages reach it as they would the server.
  EXPECT_EQ(Ask(port, Get("/metrics", "Origin: https://evil.example\r\n")).status, 403);
  EXPECT_EQ(Ask(port, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
}

TEST_F(OperatorsTest, TheirAddressSpeaksPlainHttpAndHasConnectionsOfItsOwn) {
  ServerOptions options = Options(true);
  options.max_connections = 1;
  const TestServer server({}, options, Wire::kTls);
  RawClient holder(server.endpoint());
  holder.Send(Get("/health"));
  EXPECT_EQ(holder.Read().status, 200);
  EXPECT_EQ(Ask(server.server->metrics_port(), Get("/metrics")).status, 200);
}

TEST(OperatorsOptionsTest, AnAddressHasAHostAndAPort) {
  const auto parse = [](const char* text) {
    const char* const arguments[] = {"serve", "--metrics-address", text};
    return ParseServeOptions(3, arguments);
  };
  for (const auto& [text, host] :
       std::map<const char*, std::string>{{"0.0.0.0:8081", "0.0.0.0"},
                                          {"[::1]:8081", "::1"},
                                          {"weft.example:8081", "weft.example"}}) {
    const auto options = parse(text);
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->server.metrics_address->host, host);
    EXPECT_EQ(options->server.metrics_address->port, 8081);
  }
  for (const char* const text :
       {"8081", ":8081", "a:", "a:x", "a:70000", "http://a:1", "::1", "a:-1"}) {
    const auto options = parse(text);
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().message, HasSubstr("expected HOST:PORT, not '")) << text;
  }
}

TEST(NoAccessTest, WithoutKeysAndOriginsNothingIsAsked) {
  const TestServer server;
  RawClient client(server.port());
  const std::string origin = "Origin: http://localhost:3000\r\n";
  client.Send(Get("/v1/models", "Authorization: Bearer whatever\r\n" + origin));
  const RawResponse models = client.Read();
  EXPECT_EQ(models.status, 200);
  EXPECT_FALSE(models.headers.contains("access-control-allow-origin"));
  EXPECT_FALSE(models.headers.contains("vary"));
  client.Send("OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\n" + origin +
              "Access-Control-Request-Method: GET\r\n\r\n");
  EXPECT_EQ(client.Read().status, 405);
}

}  // namespace
}  // namespace weft
