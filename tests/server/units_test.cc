// The server's parts that need no socket.
#include <fstream>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "server/api/conversation/chat_template_file.h"
#include "server/commands/command_line.h"
#include "server/commands/serve_options.h"
#include "server/http/connection_limit.h"
#include "server/http/http_message.h"
#include "server/http/router.h"
#include "tests/data_paths.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(RouterTest, FindsRoutesAndMethods) {
  EXPECT_EQ(FindRoute("GET", "/health").route->id, RouteId::kHealth);
  EXPECT_EQ(FindRoute("HEAD", "/v1/models").route->id, RouteId::kModels);
  const RouteMatch model = FindRoute("GET", "/v1/models/owner/name");
  EXPECT_EQ(model.route->id, RouteId::kModel);
  EXPECT_EQ(model.argument, "owner/name");
  EXPECT_EQ(FindRoute("GET", "/v1/models/").route, nullptr);
  EXPECT_EQ(FindRoute("GET", "/v1/completions").allow, "POST");
  EXPECT_EQ(FindRoute("HEAD", "/v1/completions").route, nullptr);
  EXPECT_EQ(FindRoute("get", "/health").route, nullptr);
  EXPECT_EQ(FindRoute("GET", "").label, "other");
}

TEST(RouterTest, PathsMayGoOnAfterAnId) {
  const RouteMatch cancel = FindRoute("POST", "/v1/responses/resp_1/cancel");
  EXPECT_EQ(cancel.route->id, RouteId::kCancelResponse);
  EXPECT_EQ(cancel.argument, "resp_1");
  EXPECT_EQ(FindRoute("GET", "/v1/responses/resp_1").route->id, RouteId::kResponse);
  EXPECT_EQ(FindRoute("DELETE", "/v1/responses/resp_1").route->id, RouteId::kDeleteResponse);
  EXPECT_EQ(FindRoute("POST", "/v1/responses/resp_1").allow, "GET, HEAD, DELETE");
  EXPECT_EQ(FindRoute("GET", "/v1/responses").route->id, RouteId::kResponsesSocket);
  EXPECT_EQ(FindRoute("POST", "/v1/responses/compact").route->id, RouteId::kCompactResponse);
  EXPECT_EQ(FindRoute("GET", "/v1/responses/compact").allow, "POST");
}

TEST(HttpMessageTest, ReadsQueries) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(QueryParameters("/a"), Pairs());
  EXPECT_EQ(QueryParameters("/a?"), Pairs());
  EXPECT_EQ(QueryParameters("/a?b=c%20d&&e&f=+%26=&f="),
            Pairs({{"b", "c d"}, {"e", ""}, {"f", " &="}, {"f", ""}}));
}

TEST(HttpMessageTest, PercentDecodesWhatIsEncoded) {
  EXPECT_EQ(PercentDecode("/a%2Fb%20c"), "/a/b c");
  EXPECT_EQ(PercentDecode("%"), "%");
  EXPECT_EQ(PercentDecode("%4"), "%4");
  EXPECT_EQ(PercentDecode("%41"), "A");
  EXPECT_EQ(PercentDecode("%zz%-1"), "%zz%-1");
}

TEST(HttpMessageTest, RequestIds) {
  EXPECT_TRUE(IsSaneRequestId("aZ0._:-"));
  EXPECT_FALSE(IsSaneRequestId(""));
  EXPECT_FALSE(IsSaneRequestId("a b"));
  EXPECT_FALSE(IsSaneRequestId("a\n"));
  EXPECT_TRUE(IsSaneRequestId(std::string(128, 'x')));
  EXPECT_FALSE(IsSaneRequestId(std::string(129, 'x')));
}

TEST(HttpMessageTest, HeadsBeginWithWhatProbesSend) {
  HttpResponse response;
  response.status = 503;
  const std::string head = FormatHead(response, HttpRequest{}, false, 5);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_TRUE(head.starts_with(kHeadPrefix));
  EXPECT_THAT(head, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  EXPECT_EQ(FormatChunk("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
}

Result<ServeOptions> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "serve");
  return ParseServeOptions(static_cast<int>(arguments.size()), arguments.data());
}

TEST(ServeOptionsTest, FlagsWinOverTheFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/config.json";
  std::ofstream(path)
      << R"({"port": 1234, "max-sequences": 3, "memory": "2GiB", "compute": "f32", "kv-type": "q8",
                            "weights": "q8_0",
                            "idle-timeout": 1.5, "cors-origin": ["https://a", "http://b:1"]})";
  const auto options = Parse({"--config", path.c_str(), "--port", "4321"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->server.port, 4321);
  EXPECT_EQ(options->model.max_sequences, 3);
  EXPECT_EQ(options->model.memory_bytes, 2ULL << 30);
  EXPECT_EQ(options->model.arithmetic, Arithmetic::kF32);
  EXPECT_EQ(options->model.kv_type, KvType::kQ8);
  EXPECT_EQ(options->model.weights.type, DataType::kQ8_0);
  EXPECT_EQ(options->server.idle_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(options->server.host, "127.0.0.1");
  EXPECT_THAT(options->server.cors_origins, testing::ElementsAre("https://a", "http://b:1"));
}

TEST(ServeOptionsTest, WhatIsComputedInWhat) {
  const auto automatic = Parse({"--compute", "auto", "--weights", "auto"});
  ASSERT_TRUE(automatic) << automatic.error().message;
  EXPECT_EQ(automatic->model.arithmetic, std::nullopt);
  EXPECT_EQ(automatic->model.weights.type, std::nullopt);
  EXPECT_FALSE(automatic->model.weights.keeps_file);
  const auto chosen = Parse({"--compute", "bf16pair", "--weights", "q4_k"});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->model.arithmetic, Arithmetic::kBF16Pair);
  EXPECT_EQ(chosen->model.weights.type, DataType::kQ4_K);
  const auto as_in_file = Parse({"--weights", "file"});
  ASSERT_TRUE(as_in_file) << as_in_file.error().message;
  EXPECT_EQ(as_in_file->model.weights.type, std::nullopt);
  EXPECT_EQ(Parse({"--weights", "bf16"}).value().model.weights.type, DataType::kBF16);
  EXPECT_TRUE(as_in_file->model.weights.keeps_file);
}

TEST(ServeOptionsTest, WhoSharesPrefixes) {
  const auto chosen = [](std::vector<const char*> arguments) {
    const auto options = Parse(std::move(arguments));
    EXPECT_TRUE(options) << options.error().message;
    return std::pair(options->model.prefix_cache, options->server.keys_share_prefixes);
  };
  EXPECT_EQ(chosen({}), std::pair(true, false));
  EXPECT_EQ(chosen({"--prefix-cache", "on"}), std::pair(true, false));
  EXPECT_EQ(chosen({"--prefix-cache", "shared"}), std::pair(true, true));
  EXPECT_EQ(chosen({"--prefix-cache", "off"}), std::pair(false, false));
}

TEST(ServeOptionsTest, OriginsAddUp) {
  const auto options = Parse({"--cors-origin", "https://a", "--cors-origin", "*"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->server.cors_origins, testing::ElementsAre("https://a", "*"));
}

TEST(ServeOptionsTest, ModelsAddUp) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("config.json", R"({"model": ["a.gguf", "b"]})");
  const auto listed = Parse({"--config", path.c_str()});
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_THAT(listed->model_paths, testing::ElementsAre("a.gguf", "b"));
  const auto named = Parse({"--model", "a", "--served-model-name", "x", "--model", "b",
                            "--served-model-name", "y", "--task", "x=summarization"});
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_THAT(named->model_paths, testing::ElementsAre("a", "b"));
  EXPECT_THAT(named->served_model_names, testing::ElementsAre("x", "y"));
  EXPECT_THAT(named->tasks, testing::ElementsAre("x=summarization"));
}

TEST(ServeOptionsTest, MistakesAreOneLine) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/config.json";
  const auto refused = [&](std::vector<const char*> arguments, std::string_view part) {
    const auto options = Parse(std::move(arguments));
    ASSERT_FALSE(options);
    EXPECT_THAT(options.error().message, HasSubstr(part));
    EXPECT_EQ(options.error().message.find('\n'), std::string::npos);
  };
  refused({"--port", "70000"}, "--port");
  refused({"--compute", "int3"}, "--compute");
  refused({"--kv-type", "q4"}, "--kv-type");
  refused({"--weights", "q4_1"}, "--weights");
  refused({"--max-body", "0"}, "--max-body");
  for (const char* size : {"-5", "-5GiB", "+5", "5XB", "", "GiB", "1.5GiB", "99999999999GiB"}) {
    for (const char* option : {"--memory", "--max-body", "--response-store"}) {
      refused({option, size}, std::string("weft serve: ") + option +
                                  ": expected a size, as 8GiB or 512MiB, not '" + size + "'");
    }
  }
  for (const char* option : {"--threads", "--context", "--max-batch-tokens", "--max-stall",
                             "--max-sequences", "--max-waiting", "--port", "--max-connections",
                             "--idle-timeout", "--body-timeout", "--shutdown-timeout"}) {
    refused({option, "-5"}, option);
  }
  refused({"--frobnicate"}, "--frobnicate");
  refused({"--model", "a", "--model", "b", "--served-model-name", "x"},
          "--served-model-name is there 1 times, for 2 models");
  refused({"--cors-origin", "https://a/"}, "'https://a/' is not an origin");
  refused({"--cors-origin", "https://a", "https://b"}, "https://b");
  std::ofstream(path) << R"({"prot": 1234})";
  refused({"--config", path.c_str()}, "there is no option 'prot'");
  std::ofstream(path) << "[]";
  refused({"--config", path.c_str()}, "not a JSON object");
  std::ofstream(path) << R"({"port": [[1]]})";
  refused({"--config", path.c_str()},
          "'port' must be a string, a number, true, false, or an array of those");
  const std::string pipe = directory.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refused({"--config", pipe.c_str()}, "--config: " + pipe + ": is a named pipe");
  refused({"--config", "/nowhere"}, "--config: /nowhere: cannot open");
}

TEST(ServeOptionsTest, SizesHaveUnits) {
  const auto options =
      Parse({"--memory", "3GiB", "--max-body", "512 KiB", "--response-store", "0"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->model.memory_bytes, uint64_t{3} << 30);
  EXPECT_EQ(options->server.max_body_bytes, 512u << 10);
  EXPECT_EQ(options->response_store_bytes, 0u);
}

// Words, not the values that CLI11 keeps for flags and lists.
TEST(ServeOptionsTest, HelpIsForPeople) {
  const auto options = Parse({"--help"});
  ASSERT_TRUE(options);
  for (const char* cryptic : {"{false}", "{true}", "=[", "SIZE [", "(=1024b)"}) {
    EXPECT_EQ(options->help.find(cryptic), std::string::npos) << cryptic;
  }
  EXPECT_THAT(options->help, HasSubstr("--max-body SIZE:UINT in [1 - 1073741824]=8MiB\n"));
}

TEST(ConnectionLimitTest, ThereIsAlwaysRoomForOne) {
  constexpr uint64_t kOwnFiles = 192;
  EXPECT_EQ(ConnectionsWithin(1 << 20, 16384), 16384);
  EXPECT_EQ(ConnectionsWithin(16384 + kOwnFiles, 16384), 16384);
  EXPECT_EQ(ConnectionsWithin(16383 + kOwnFiles, 16384), 16383);
  EXPECT_EQ(ConnectionsWithin(kOwnFiles + 2, 16384), 2);
  for (const uint64_t files : {uint64_t{0}, uint64_t{1}, kOwnFiles - 1, kOwnFiles, kOwnFiles + 1}) {
    EXPECT_EQ(ConnectionsWithin(files, 16384), 1);
  }
  EXPECT_EQ(ConnectionsWithin(UINT64_MAX, 16384), 16384);  // RLIM_INFINITY
}

TEST(ChatTemplateFileTest, ErrorsNameTheOptionAndTheFile) {
  const TemporaryDirectory directory;
  const auto error_of = [](const std::string& path) {
    const auto source = ReadChatTemplateFile(path);
    return source ? "none" : source.error().message;
  };
  EXPECT_EQ(ReadChatTemplateFile("").value(), std::nullopt);
  EXPECT_EQ(ReadChatTemplateFile(directory.Write("good", "{{ x }}")).value(), "{{ x }}");
  EXPECT_EQ(
      error_of(directory.path() + "/none"),
      "--chat-template " + directory.path() + "/none: cannot open: No such file or directory");
  EXPECT_EQ(error_of(directory.path()),
            "--chat-template " + directory.path() + ": is a directory, expected a regular file");
  EXPECT_EQ(error_of(directory.Write("bad", "a\n{% if %}")),
            "--chat-template " + directory.path() +
                "/bad: chat template, line 2: found '%}', expected an expression");
  EXPECT_EQ(
      error_of(directory.Write("long", std::string((1 << 20) + 1, ' '))),
      "--chat-template " + directory.path() + "/long: has 1048577 bytes, expected at most 1048576");
}

TEST(CommandLineTest, ReadsTheWholeOfAFile) {
  const TemporaryDirectory directory;
  const std::string contents(200'000, 'x');
  EXPECT_EQ(*ReadText(directory.Write("a", contents)), contents);
  EXPECT_EQ(*ReadText(directory.Write("empty", "")), "");
  EXPECT_EQ(ReadText(directory.path() + "/none").error().message,
            directory.path() + "/none: cannot read it: No such file or directory");
  EXPECT_EQ(ReadText(directory.path()).error().message,
            directory.path() + ": cannot read it: Is a directory");
}

TEST(CommandLineTest, WhatACommandThrowsIsOneLine) {
  EXPECT_EQ(RunCommand("test", [] { return 7; }), 7);
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunCommand("test", []() -> int { throw std::runtime_error("it broke"); }), 1);
  EXPECT_EQ(RunCommand("test", []() -> int { throw std::bad_alloc(); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft test: it broke\nweft test: the operating system refused it more memory\n");
}

}  // namespace
}  // namespace weft
