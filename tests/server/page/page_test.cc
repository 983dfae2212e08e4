// The page at /: its files are whole, guarded by their headers, and need no key.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/serve_options.h"
#include "server/page/page_files.h"
#include "tests/server/test_server.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBrowser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
constexpr std::string_view kAlice = "Authorization: Bearer sk-alice-0123456789\r\n";

RawResponse Ask(const TestServer& server, const std::string& request, bool head_only = false) {
  RawClient client(server.port());
  client.Send(request);
  return client.Read(head_only);
}

ServerOptions Keyed(const TemporaryDirectory& directory) {
  ServerOptions options;
  options.api_key_path = directory.Write("keys", "alice:sk-alice-0123456789\n");
  return options;
}

// What stands between `before` and the next quotation mark, wherever `before` stands.
std::vector<std::string> QuotedBehind(std::string_view text, std::string_view before) {
  std::vector<std::string> found;
  for (size_t at = text.find(before); at != std::string_view::npos; at = text.find(before, at)) {
    at += before.size();
    found.emplace_back(text.substr(at, text.find_first_of("'\"", at) - at));
  }
  return found;
}

TEST(PageTest, EveryFileIsServedToEverybody) {
  const TemporaryDirectory directory;
  const TestServer server({}, Keyed(directory));
  for (const PageFile& file : PageFiles()) {
    const std::string path = file.name.empty() ? "/" : "/page/" + std::string(file.name);
    const RawResponse response = Ask(server, Get(path, kBrowser));
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body, file.text) << path;
    EXPECT_FALSE(response.body.empty()) << path;
    EXPECT_EQ(response.headers.at("content-type"), file.content_type) << path;
    EXPECT_EQ(response.headers.at("etag"), file.etag) << path;
    EXPECT_EQ(response.headers.at("cache-control"), "no-cache") << path;
    EXPECT_EQ(response.headers.at("x-content-type-options"), "nosniff") << path;
    EXPECT_EQ(response.headers.at("referrer-policy"), "no-referrer") << path;
    EXPECT_EQ(response.headers.at("cross-origin-opener-policy"), "same-origin") << path;
    EXPECT_EQ(response.headers.at("cross-origin-resource-policy"), "same-origin") << path;
    const std::string policy = response.headers.at("content-security-policy");
    for (const char* const part :
         {"default-src 'none';", "script-src 'self';", "style-src 'self';", "connect-src 'self';",
          "img-src data:;", "frame-ancestors 'none';", "base-uri 'none';"}) {
      EXPECT_THAT(policy, HasSubstr(part)) << path;
    }
    EXPECT_THAT(policy, Not(HasSubstr("unsafe"))) << path;
  }
}

TEST(PageTest, WhatItsFilesLoadIsThere) {
  size_t count = 0;
  for (const PageFile& file : PageFiles()) {
    const std::string_view before = file.name.empty() ? "\"page/" : "from './";
    for (const std::string& name : QuotedBehind(file.text, before)) {
      EXPECT_NE(FindPageFile(name), nullptr) << name << " of " << file.name;
      ++count;
    }
  }
  EXPECT_GT(count, 20U);
}

TEST(PageTest, ItIsSmall) {
  size_t bytes = 0;
  for (const PageFile& file : PageFiles()) bytes += file.text.size();
  EXPECT_LT(bytes, 250'000U);
}

TEST(PageTest, ABrowserThatHasAFileIsToldSo) {
  const TestServer server;
  const PageFile& file = *FindPageFile("app.js");
  RawClient client(server.port());
  for (const std::string& tags :
       {std::string(file.etag), "\"x\", W/" + std::string(file.etag), std::string("*")}) {
    client.Send(Get("/page/app.js", "If-None-Match: " + tags + "\r\n"));
    const RawResponse same = client.Read(true);  // no body behind it
    EXPECT_EQ(same.status, 304) << tags;
    EXPECT_EQ(same.headers.at("etag"), file.etag);
  }
  client.Send(Get("/page/app.js", "If-None-Match: \"x\"\r\n"));
  EXPECT_EQ(client.Read().body, file.text);
  client.Send("HEAD /page/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Read(true).headers.at("content-length"), std::to_string(file.text.size()));
}

TEST(PageTest, NothingElseIsOpen) {
  const TemporaryDirectory directory;
  const TestServer server({}, Keyed(directory));
  EXPECT_EQ(Ask(server, Get("/")).status, 401);  // the line for programs
  EXPECT_EQ(Ask(server, Get("/page/nothing.js")).status, 401);
  EXPECT_EQ(Ask(server, Get("/page/nothing.js", kAlice)).status, 404);
  EXPECT_EQ(Ask(server, Get("/page/../keys", kAlice)).status, 404);
  EXPECT_EQ(Ask(server, Post("/page/app.js", "{}", kAlice)).status, 405);
  EXPECT_EQ(Ask(server, Get("/v1/models", kBrowser)).status, 401);
}

TEST(PageTest, TheServersNameIsChecked) {
  const TestServer server;
  for (const char* const path : {"/", "/page/app.js"}) {
    EXPECT_EQ(Ask(server, "GET " + std::string(path) + " HTTP/1.1\r\nHost: evil.example\r\n" +
                              std::string(kBrowser) + "\r\n")
                  .status,
              403);
  }
}

TEST(PageTest, ItCanBeLeftOut) {
  const char* const arguments[] = {"serve", "--no-page"};
  const auto parsed = ParseServeOptions(2, arguments);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_FALSE(parsed->server.page);
  EXPECT_TRUE(ParseServeOptions(1, arguments)->server.page);
  const TestServer server({}, parsed->server);
  for (const char* const path : {"/", "/page/app.js"}) {
    const RawResponse refused = Ask(server, Get(path, kBrowser));
    EXPECT_EQ(refused.status, 404) << path;
    EXPECT_EQ(ErrorOf(refused)["code"], "unknown_route");
  }
  EXPECT_EQ(Ask(server, Get("/")).body, "Weft is running\n");
}

}  // namespace
}  // namespace weft
