// What a container's health check does: finding the server, asking it, and telling what is wrong.
#include <chrono>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/health_check.h"
#include "tests/server/test_server.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

ServerAddress AddressOf(const TestServer& server, Wire wire) {
  ServerAddress address;
  address.unix_path = server.socket_path;
  address.uses_tls = wire == Wire::kTls;
  address.host = "127.0.0.1";
  address.port = server.port();
  return address;
}

class HealthTest : public testing::TestWithParam<Wire> {};

TEST_P(HealthTest, AServerIsReadyUntilItStops) {
  TestServer server({}, {}, GetParam());
  const ServerAddress address = AddressOf(server, GetParam());
  const Result<void> ready = CheckReady(address, seconds(10));
  EXPECT_TRUE(ready) << ready.error().message;
  server.server.reset();
  EXPECT_FALSE(CheckReady(address, seconds(10)));
}

INSTANTIATE_TEST_SUITE_P(Wires, HealthTest, testing::Values(Wire::kTcp, Wire::kTls, Wire::kUnix),
                         [](const auto& wire) { return NameOf(wire.param); });

TEST(HealthCheckTest, NeedsNoKey) {
  ServerOptions options;
  const TemporaryDirectory directory;
  options.api_key_path = directory.Write("keys", "someone:0123456789abcdef\n");
  const TestServer server({}, options);
  EXPECT_TRUE(CheckReady(AddressOf(server, Wire::kTcp), seconds(10)));
}

TEST(HealthCheckTest, TellsWhatIsWrong) {
  const TestServer plain;
  ServerAddress address = AddressOf(plain, Wire::kTls);
  EXPECT_THAT(CheckReady(address, seconds(10)).error().message, HasSubstr("no TLS handshake"));

  const TestServer secure({}, {}, Wire::kTls);
  address = AddressOf(secure, Wire::kTcp);
  EXPECT_THAT(CheckReady(address, seconds(10)).error().message,
              HasSubstr("expected 200 for /ready, got 'HTTP/1.1 400 Bad Request'"));

  address.unix_path = "/nowhere/socket";
  EXPECT_EQ(CheckReady(address, seconds(10)).error().message,
            "/nowhere/socket: No such file or directory");
  address.unix_path = std::string(200, 'x');
  EXPECT_THAT(CheckReady(address, seconds(10)).error().message, HasSubstr("too long"));
}

TEST(HealthCheckTest, DoesNotWaitForEver) {
  boost::asio::io_context io;
  const boost::asio::ip::tcp::acceptor silent(
      io, {boost::asio::ip::address_v4::loopback(), 0});  // the kernel accepts, nobody reads
  ServerAddress address;
  address.host = "127.0.0.1";
  address.port = silent.local_endpoint().port();
  EXPECT_THAT(CheckReady(address, milliseconds(50)).error().message,
              HasSubstr("no answer in time"));
  address.uses_tls = true;
  EXPECT_THAT(CheckReady(address, milliseconds(50)).error().message, HasSubstr("no TLS handshake"));
}

std::string UrlOf(std::string_view url) {
  const Result<ServerAddress> address = ParseServerUrl(url);
  return address ? ToString(*address) : "";
}

TEST(HealthCheckTest, ReadsUrls) {
  EXPECT_EQ(UrlOf("http://localhost:8080"), "http://localhost:8080");
  EXPECT_EQ(UrlOf("https://weft.example/"), "https://weft.example:443");
  EXPECT_EQ(UrlOf("http://10.0.0.1"), "http://10.0.0.1:80");
  EXPECT_EQ(UrlOf("https://[::1]:8443"), "https://[::1]:8443");
  for (const char* const wrong :
       {"", "localhost:8080", "ftp://a", "http://", "http://:80", "http://a:", "http://a:x",
        "http://a:70000", "http://a:0", "http://[::1", "http://[::1]8080", "http://a:80/ready",
        "http://a/ready"}) {
    EXPECT_EQ(UrlOf(wrong), "") << wrong;
  }
}

std::string Arguments(std::initializer_list<std::string> arguments) {
  std::string line;
  for (const std::string& argument : arguments) line += argument + '\0';
  return line;
}

// Where the server is, or why it is not known.
std::string Found(const TemporaryDirectory& proc) {
  const Result<ServerAddress> address = FindServer(proc.path());
  return address ? ToString(*address) : address.error().message;
}

TEST(HealthCheckTest, FindsTheServerByItsCommandLine) {
  const TemporaryDirectory proc;
  proc.Write("1/cmdline", Arguments({"/sbin/init", "--", "weft", "serve"}));
  proc.Write("2/cmdline", "");
  proc.Write("20/cmdline", Arguments({"weft", "health"}));
  proc.Write("self/cmdline", Arguments({"weft", "serve", "--port", "1"}));
  EXPECT_THAT(Found(proc), HasSubstr("no 'weft serve'"));

  const auto serve = [&](std::initializer_list<std::string> flags) {
    std::string line = Arguments({"/usr/bin/weft", "serve"});
    proc.Write("7/cmdline", line += Arguments(flags));
    return Found(proc);
  };
  EXPECT_EQ(serve({}), "http://127.0.0.1:8080");
  EXPECT_EQ(serve({"--host", "0.0.0.0", "--port", "9000"}), "http://127.0.0.1:9000");
  EXPECT_EQ(serve({"--host", "0.0.0.0", "--host", "::"}), "http://[::1]:8080");
  EXPECT_EQ(serve({"--host=10.1.2.3", "--tls-cert", "c", "--tls-key", "k"}),
            "https://10.1.2.3:8080");
  EXPECT_EQ(serve({"--unix-socket", "/run/weft.sock"}), "/run/weft.sock");
  EXPECT_EQ(serve({"--unix-socket", "/run/weft.sock", "--port", "81"}), "http://127.0.0.1:81");
  EXPECT_EQ(serve({"--config", proc.Write("config", R"({"port": 8123})")}),
            "http://127.0.0.1:8123");
  EXPECT_THAT(serve({"--port", "0"}), HasSubstr("a port that the system chose"));
  EXPECT_THAT(serve({"--nonsense"}), HasSubstr("--nonsense"));

  proc.Write("7/cmdline", Arguments({"/opt/weft/lib/weft", "--library-path", "/opt/weft/lib",
                                     "/opt/weft/lib/weft.bin", "serve", "--port", "82"}));
  EXPECT_EQ(Found(proc), "http://127.0.0.1:82");
  proc.Write("7/cmdline", Arguments({"/opt/weft/lib/weft", "--library-path", "/opt/weft/lib"}));
  EXPECT_THAT(Found(proc), HasSubstr("no 'weft serve'"));

  proc.Write("7/cmdline", Arguments({"weft", "serve"}));
  proc.Write("8/cmdline", Arguments({"weft", "serve"}));
  EXPECT_THAT(Found(proc), HasSubstr("more than one"));
}

}  // namespace
}  // namespace weft
