// Where a request ends, and to whom it is: what is uncertain is refused, and what follows it on the
// connection is never taken for a request of its own.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using testing::HasSubstr;

// What a smuggler wants to be answered.
constexpr std::string_view kHidden = "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n";

// The statuses of all answers that come until the server closes the connection.
std::vector<int> Statuses(const TestServer& server, std::string_view bytes) {
  RawClient client(server.endpoint());
  client.Send(bytes);
  std::vector<int> statuses;
  while (true) {
    const RawResponse response = client.Read();
    if (response.status == 0) return statuses;
    statuses.push_back(response.status);
  }
}

struct Framing {
  int status;
  std::string head;  // after the request line
};

class FramingTest : public testing::TestWithParam<Wire> {
 protected:
  // Refused with this status alone, whatever follows.
  void ExpectRefused(std::string_view request_line, const Framing& framing) const {
    RawClient client(server_.endpoint());
    client.Send(fmt::format("{}\r\n{}\r\n0\r\n\r\n{}", request_line, framing.head, kHidden));
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, framing.status) << framing.head;
    EXPECT_EQ(response.headers.at("connection"), "close") << framing.head;
    EXPECT_EQ(client.ReadToEnd(), "") << framing.head;
  }

  const TestServer server_{{}, {}, GetParam()};
};

TEST_P(FramingTest, TransferCodingsThatLeaveTheEndUncertainAreRefused) {
  const std::vector<Framing> framings = {
      {501, "Transfer-Encoding: xchunked\r\n"},
      {501, "Transfer-Encoding: identity\r\n"},
      {501, "Transfer-Encoding: gzip, chunked\r\n"},
      {501, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"},
      {501, "transfer-encoding: \"chunked\"\r\n"},
      {501, "Transfer-Encoding: chunked;q=1\r\n"},
      {400, "Transfer-Encoding: chunked\vx\r\n"},
      {400, "Transfer-Encoding: chunked, gzip\r\n"},
      {400, "Transfer-Encoding: chunked, identity\r\n"},
      {400, "Transfer-Encoding: chunked, chunked\r\n"},
      {400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
      {400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"},
      {400, "Transfer-Encoding:\r\n"},
      {400, "Transfer-Encoding: ,\r\n"},
      {400, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"},
      {400, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"},
      {400, "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n"},
      {400, "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n"},
  };
  for (const Framing& framing : framings) {
    for (const std::string_view line : {"POST /v1/completions HTTP/1.1", "GET /health HTTP/1.1"}) {
      ExpectRefused(line, {framing.status, "Host: localhost\r\n" + framing.head});
    }
  }
}

TEST_P(FramingTest, Http10HasNoTransferCodings) {
  for (const char* const head : {"Transfer-Encoding: chunked\r\n",
                                 "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n",
                                 "Connection: keep-alive\r\nTransfer-Encoding: xchunked\r\n"}) {
    ExpectRefused("POST /v1/completions HTTP/1.0", {400, head});
  }
}

TEST_P(FramingTest, ALengthIsOneNumber) {
  for (const char* const head :
       {"Content-Length: +5\r\n", "Content-Length: -5\r\n", "Content-Length: 5, 5\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 0x5\r\n",
        "Content-Length:\r\n", "Content-Length: 5 5\r\n", "Content-Length: 5;\r\n",
        "Content-Length: 18446744073709551616\r\n", "Content-Length: 5.0\r\n"}) {
    ExpectRefused("POST /v1/completions HTTP/1.1",
                  {400, std::string("Host: localhost\r\n") + head});
  }
}

TEST_P(FramingTest, LinesAreWhatTheyLookLike) {
  for (const char* const head :
       {"X: a\r\n Transfer-Encoding: chunked\r\n", "Transfer-Encoding:\r\n chunked\r\n",
        "Content-Length:\r\n\t5\r\n", "Content-Length: \r\n 5\r\n", " X: a\r\n",
        "Content-Length : 5\r\n", "Content-Length\t: 5\r\n", "X: a\nTransfer-Encoding: chunked\r\n",
        "X: a\rTransfer-Encoding: chunked\r\n", ": a\r\n", "X\r\n", "X: a\x01\r\n"}) {
    ExpectRefused("POST /v1/completions HTTP/1.1",
                  {400, std::string("Host: localhost\r\n") + head});
  }
  RawClient client(server_.endpoint());
  client.SendByteByByte("GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
}

TEST_P(FramingTest, ChunkedBodiesAreRead) {
  for (const char* const coding : {"chunked", "Chunked", " chunked \t", "chunked,", ", chunked"}) {
    const std::string request = fmt::format(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:{}\r\n\r\n"
        "E\r\n{{\"prompt\":\"a\"}}\r\n0\r\nX: trailer\r\n\r\n",
        coding);
    RawClient client(server_.endpoint());
    client.Send(request + request);
    EXPECT_EQ(client.Read().status, 200) << coding;
    EXPECT_EQ(client.Read().status, 200) << coding;
  }
}

// A chunk's extension may hold a quoted string, and some take a bare line feed in it for a line's
// end: what follows would be data to one reader and an extension to the other.
TEST_P(FramingTest, ChunksHaveNoHiddenLines) {
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* const body :
       {"E;a=\"\n\"\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n", "E;a\n\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n",
        "E\n{\"prompt\":\"a\"}\r\n0\r\n\r\n", "E\r\n{\"prompt\":\"a\"}\n0\r\n\r\n",
        "E\r\n{\"prompt\":\"a\"}\r\n0;a=\"\n\"\r\n\r\n", "+E\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n",
        "0xE\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n", " E\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n",
        "1000000000000000E\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n",
        "E\r\n{\"prompt\":\"a\"}\r\n0\r\nContent-Length: 3\r\n\r\n",
        "E\r\n{\"prompt\":\"a\"}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    const std::vector<int> statuses = Statuses(server_, head + body + std::string(kHidden));
    ASSERT_EQ(statuses.size(), 1U) << body;
    EXPECT_THAT(statuses[0], testing::AnyOf(400, 413)) << body;
  }
}

TEST_P(FramingTest, AHostIsSaidOnceAndCanBeOne) {
  ExpectRefused("GET /health HTTP/1.1", {400, ""});
  for (const char* const head :
       {"Host: localhost\r\nHost: localhost\r\n", "Host: localhost\r\nhost: other\r\n", "Host:\r\n",
        "Host: a b\r\n", "Host: a/b\r\n", "Host: user@a\r\n", "Host: a:b\r\n", "Host: a:80:80\r\n",
        "Host: a:65536\r\n", "Host: a, b\r\n", "Host: [::1\r\n", "Host: ::1\r\n", "Host: [::g]\r\n",
        "Host: http://a\r\n", "Host: a?b\r\n", "Host: a#b\r\n", "Host: \xc3\xa4\r\n",
        "Host: :80\r\n"}) {
    ExpectRefused("GET /health HTTP/1.1", {400, head});
  }
  ExpectRefused("GET /health HTTP/1.0", {400, "Host: localhost\r\nHost: localhost\r\n"});
  for (const char* const host : {"localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1:1",
                                 "[::1]", "[::1]:8080", "localhost:"}) {
    RawClient client(server_.endpoint());
    client.Send(fmt::format("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", host));
    EXPECT_EQ(client.Read().status, 200) << host;
  }
  RawClient old(server_.endpoint());
  old.Send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Read().status, 200);
}

TEST_P(FramingTest, TargetsInAbsoluteForm) {
  for (const char* const target :
       {"http://localhost/v1/models", "HTTPS://127.0.0.1:99/v1/models?a=b",
        "http://[::1]:8080/v1/models"}) {
    RawClient client(server_.endpoint());
    client.Send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", target));
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, 200) << target;
    EXPECT_THAT(response.body, HasSubstr("test-model")) << target;
  }
  RawClient client(server_.endpoint());
  client.Send("GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Read().body, "Weft is running\n");
  client.Send("POST http://localhost?a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.Read().status, 405);
  ExpectRefused("GET http:///v1/models HTTP/1.1", {400, "Host: localhost\r\n"});
  ExpectRefused("GET http://me:you@localhost/v1/models HTTP/1.1", {400, "Host: localhost\r\n"});
  ExpectRefused("GET ftp://localhost/v1/models HTTP/1.1", {400, "Host: localhost\r\n"});
  ExpectRefused("GET v1/models HTTP/1.1", {400, "Host: localhost\r\n"});
  ExpectRefused("GET http://localhost/v1/models HTTP/1.1", {400, ""});
}

TEST_P(FramingTest, TheWholeServerAsATarget) {
  RawClient client(server_.endpoint());
  client.Send("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const RawResponse options = client.Read();
  EXPECT_EQ(options.status, 200);
  EXPECT_EQ(options.headers.at("allow"), "GET, HEAD, POST, DELETE, OPTIONS");
  EXPECT_EQ(options.body, "");
  client.Send(kHidden);
  EXPECT_EQ(client.Read().status, 200);
  ExpectRefused("GET * HTTP/1.1", {400, "Host: localhost\r\n"});
  ExpectRefused("CONNECT localhost:80 HTTP/1.1", {400, "Host: localhost\r\n"});
}

INSTANTIATE_TEST_SUITE_P(Wires, FramingTest, testing::Values(Wire::kTcp, Wire::kTls),
                         [](const auto& wire) { return NameOf(wire.param); });

}  // namespace
}  // namespace weft
