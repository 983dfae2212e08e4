// The server on a Unix socket: who may connect, what is in the way, what is left behind.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/server/test_server.h"

namespace weft {
namespace {

using testing::HasSubstr;

// What Server::Start says.
std::string ErrorAt(const std::string& path) {
  ServerOptions options;
  options.listens_on_tcp = false;
  options.unix_socket_path = path;
  TestModel model;
  const auto server = Server::Start(options, RegistryOf({model.Served()}), model.metrics(),
                                    *Access::Load(options), std::make_shared<Tracer>());
  return server ? "none" : server.error().message;
}

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? status.st_mode : 0;
}

TEST(UnixSocketTest, ServesAndIsRemovedInTheEnd) {
  std::string path;
  const TemporaryDirectory directory;
  {
    ServerOptions options;
    options.unix_socket_path = directory.path() + "/socket";
    options.listens_on_tcp = false;
    const TestServer server({}, options);
    path = options.unix_socket_path;
    EXPECT_EQ(server.port(), 0);
    EXPECT_EQ(ModeOf(path), S_IFSOCK | mode_t{0660});
    EXPECT_EQ(TextOf(server.Post(R"({"prompt":"a","max_tokens":3})")).size(), 3U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixSocketTest, BesideTcpAndWithAModeOfItsOwn) {
  const TemporaryDirectory directory;
  ServerOptions options;
  options.unix_socket_path = directory.path() + "/socket";
  options.unix_socket_mode = 0606;
  const TestServer server({}, options);
  EXPECT_EQ(ModeOf(options.unix_socket_path), S_IFSOCK | mode_t{0606});
  EXPECT_EQ(server.Post(R"({"prompt":"a"})").status, 200);
  RawClient client(server.port());
  client.Send(Get("/health"));
  EXPECT_EQ(client.Read().status, 200);
}

TEST(UnixSocketTest, OneThatNobodyListensOnIsReplaced) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  const int stale = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(stale);
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(ErrorAt(path), "none");
}

TEST(UnixSocketTest, NothingElseIs) {
  const TestServer server({}, {}, Wire::kUnix);
  EXPECT_THAT(ErrorAt(server.socket_path), HasSubstr(": another process listens there"));
  EXPECT_EQ(server.Post(R"({"prompt":"a"})").status, 200);
  const std::string file = server.directory.Write("file", "precious");
  EXPECT_THAT(ErrorAt(file), HasSubstr("/file: it exists and is no socket"));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_THAT(ErrorAt(server.directory.path() + "/absent/socket"),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(ErrorAt("/tmp/" + std::string(103, 'x')), HasSubstr("1 to 107 bytes, this one 108"));
}

TEST(UnixSocketTest, AnothersSocketIsNotRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  {
    ServerOptions options;
    options.unix_socket_path = path;
    const TestServer server({}, options);
    std::filesystem::rename(path, path + ".old");
    directory.Write("socket", "another's");
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace weft
