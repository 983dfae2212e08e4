// What browsers are told about pages of other origins.
#include "server/http/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const std::string kExposed = "X-Request-Id, Retry-After, Retry-After-Ms, weft-dropped-tools";

TEST(CorsTest, OffUnlessAsked) {
  const CorsPolicy policy({});
  EXPECT_FALSE(policy.enabled());
  EXPECT_THAT(policy.AnswerHeaders("https://a.example"), IsEmpty());
}

TEST(CorsTest, ExactOriginsAreEchoedAndAnswersVary) {
  const CorsPolicy policy({"https://a.example", "http://localhost:3000"});
  EXPECT_TRUE(policy.enabled());
  EXPECT_THAT(policy.AnswerHeaders("http://localhost:3000"),
              ElementsAre(Pair("Vary", "Origin"),
                          Pair("Access-Control-Allow-Origin", "http://localhost:3000"),
                          Pair("Access-Control-Expose-Headers", kExposed)));
  for (const char* other : {"", "https://a.example:443", "http://a.example", "https://b.a.example",
                            "https://a.example.org", "HTTPS://A.EXAMPLE", "null", "*"}) {
    EXPECT_THAT(policy.AnswerHeaders(other), ElementsAre(Pair("Vary", "Origin"))) << other;
  }
}

TEST(CorsTest, AStarIsForEveryone) {
  const CorsPolicy policy({"https://a.example", "*"});
  EXPECT_THAT(policy.AnswerHeaders("https://b.example"),
              ElementsAre(Pair("Access-Control-Allow-Origin", "*"),
                          Pair("Access-Control-Expose-Headers", kExposed)));
  EXPECT_THAT(policy.AnswerHeaders(""), IsEmpty());
}

TEST(CorsTest, LocalhostIsThisMachineOnAnyPort) {
  const CorsPolicy policy({"localhost", "https://a.example"});
  for (const char* const local :
       {"http://localhost", "http://localhost:3000", "https://localhost:1", "http://127.0.0.1:5173",
        "http://[::1]:8080", "https://a.example"}) {
    EXPECT_TRUE(policy.Allows(local)) << local;
  }
  for (const char* const other :
       {"", "localhost", "null", "http://localhost.evil.example", "http://a.localhost",
        "http://127.0.0.2", "http://127.0.0.1.evil.example", "http://localhost:x",
        "file://localhost", "http://localhost@evil.example", "http://[::2]", "https://b.example"}) {
    EXPECT_FALSE(policy.Allows(other)) << other;
  }
  EXPECT_TRUE(CorsPolicy::CheckOrigin("localhost"));
  EXPECT_FALSE(CorsPolicy::CheckOrigin("localhosts"));
}

TEST(CorsTest, PreflightsAllowWhatIsAskedFor) {
  const CorsPolicy policy({"https://a.example"});
  const std::string asked = "authorization,content-type,x-stainless-os,anthropic-version";
  const HttpResponse response = policy.AnswerPreflight("https://a.example", asked);
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.empty());
  EXPECT_THAT(response.headers,
              ElementsAre(Pair("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE"),
                          Pair("Access-Control-Allow-Headers", asked),
                          Pair("Vary", "Access-Control-Request-Headers"),
                          Pair("Access-Control-Max-Age", "600")));
}

TEST(CorsTest, PreflightsEchoNothingThatIsNoHeaderName) {
  const CorsPolicy policy({"*"});
  for (const std::string& asked : {std::string(), std::string("a\r\nx: y"), std::string("a;b"),
                                   std::string("\x80"), std::string(4097, 'a')}) {
    EXPECT_EQ(policy.AnswerPreflight("https://a.example", asked).headers.size(), 2U);
  }
}

TEST(CorsTest, OtherOriginsArePreflownByNobody) {
  const HttpResponse response =
      CorsPolicy({"https://a.example"}).AnswerPreflight("https://b.example", "authorization");
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(response.body, HasSubstr("'https://b.example'"));
  EXPECT_THAT(response.body, HasSubstr("origin_not_allowed"));
}

TEST(CorsTest, ChecksOrigins) {
  for (const char* good : {"*", "null", "https://a.example", "http://127.0.0.1:8080",
                           "http://[::1]:80", "chrome-extension://abcdef"}) {
    EXPECT_TRUE(CorsPolicy::CheckOrigin(good)) << good;
  }
  for (const char* bad : {"", "a.example", "https://", "://a", "https://a.example/",
                          "https://A.example", "https://*.example", "https://a b", "HTTP://a"}) {
    const auto checked = CorsPolicy::CheckOrigin(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_THAT(checked.error().message, HasSubstr("is not an origin; expected"));
  }
}

}  // namespace
}  // namespace weft
