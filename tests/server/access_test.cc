// API keys and browsers' preflights, through the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST_F(KeyedServerTest, MetricsNameTheKey) {
  RawClient client(server_.port());
  client.Send(CompletionPost(R"({"prompt":"abc","max_tokens":5})", kAlice));
  client.Read();
  client.Send(Get("/v1/models", kBob));
  client.Read();
  client.Send(Get("/metrics", kBob));
  const std::string metrics = client.Read().body;
  EXPECT_THAT(metrics, HasSubstr("weft_api_key_requests_total{key=\"alice\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("weft_api_key_requests_total{key=\"bob\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("weft_api_key_tokens_total{key=\"alice\",kind=\"prompt\"} 4"));
  EXPECT_THAT(metrics, HasSubstr("weft_api_key_tokens_total{key=\"alice\",kind=\"completion\"} 5"));
  EXPECT_THAT(metrics, Not(HasSubstr("0123456789")));
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
              "X-Request-Id, Retry-After, Retry-After-Ms");
    EXPECT_EQ(response.headers.at("vary"), "Origin");
  }
  EXPECT_FALSE(Ask(Get("/health")).headers.contains("access-control-allow-origin"));
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
