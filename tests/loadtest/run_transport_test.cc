// The same exchanges over TLS and over Unix sockets.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loadtest/run_fixture.h"
#include "tests/server/test_certificate.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// A directory of a test's own, for sockets and certificates.
class RunTransport : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string PathOf(const char* name) const { return (directory_ / name).string(); }

  // The file, whose authority is the certificate itself.
  std::string CaFile(const TestCertificate& certificate) const {
    std::ofstream(PathOf("ca.pem")) << certificate.certificate_pem;
    return PathOf("ca.pem");
  }

  std::filesystem::path directory_;
};

// Streams two tokens for every request.
std::function<void(ScriptedConnection&)> TwoTokens(std::atomic<int>& connections) {
  return [&connections](ScriptedConnection& connection) {
    ++connections;
    WithModels([](ScriptedConnection& same, const std::string&) {
      same.Write(Stream({"a", "b"}));
    })(connection);
  };
}

void ExpectTwoTokensEach(const Result<LoadRun>& run, size_t request_count) {
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->records, SizeIs(request_count));
  for (const RequestRecord& record : run->records) {
    EXPECT_EQ(record.failure, "") << record.failure_detail;
    EXPECT_EQ(record.output_tokens, 2);
  }
}

RunOptions StreamingFrom(const ScriptedServer& server) {
  RunOptions options = OptionsFor(server);
  options.stream = true;
  return options;
}

TEST_F(RunTransport, AUnixSocketServesLikeAPort) {
  std::atomic<int> connections = 0;
  const ScriptedServer server({.unix_path = PathOf("socket")}, TwoTokens(connections));
  ExpectTwoTokensEach(RunPlan(PlanOf(20, 2), StreamingFrom(server)), 20);
  EXPECT_LE(connections, 3) << "two users, and the question for the models";
}

TEST_F(RunTransport, AUnixSocketThatIsNotThereIsNamed) {
  RunOptions options;
  options.progress = false;
  options.url = "unix:" + PathOf("nobody");
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message,
              HasSubstr("connect: No such file or directory"));
}

TEST_F(RunTransport, TlsTrustsTheAuthoritiesOfTheFile) {
  const TestCertificate certificate = MakeCertificate();
  std::atomic<int> connections = 0;
  const ScriptedServer server({.certificate = &certificate}, TwoTokens(connections));
  RunOptions options = StreamingFrom(server);
  options.ca_file = CaFile(certificate);
  ExpectTwoTokensEach(RunPlan(PlanOf(20, 2), options), 20);
  EXPECT_LE(connections, 3) << "kept alive";
}

TEST_F(RunTransport, TlsTrustsNobodyElse) {
  const TestCertificate certificate = MakeCertificate();
  std::atomic<int> connections = 0;
  const ScriptedServer server({.certificate = &certificate}, TwoTokens(connections));
  RunOptions options = StreamingFrom(server);
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message,
              HasSubstr("certificate verify failed"));
  options.ca_file = CaFile(MakeCertificate());  // the same name, another key
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message,
              HasSubstr("certificate verify failed"));
  options.insecure = true;
  ExpectTwoTokensEach(RunPlan(PlanOf(2, 1), options), 2);
}

TEST_F(RunTransport, TheCertificateMustBeOfTheHost) {
  const TestCertificate certificate = MakeCertificate();
  std::atomic<int> connections = 0;
  const ScriptedServer server({.address = "127.0.0.2", .certificate = &certificate},
                              TwoTokens(connections));
  RunOptions options = StreamingFrom(server);
  options.ca_file = CaFile(certificate);
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message,
              HasSubstr("certificate verify failed"));
  options.insecure = true;
  ExpectTwoTokensEach(RunPlan(PlanOf(1, 1), options), 1);
}

TEST_F(RunTransport, ACaFileWithoutACertificateIsNamed) {
  RunOptions options;
  options.progress = false;
  options.url = "https://127.0.0.1:1";
  options.ca_file = PathOf("empty");
  std::ofstream(options.ca_file) << "nothing";
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message, HasSubstr("--ca-file"));
}

// Without TLS's own end of the connection: it may have been cut by anybody.
TEST_F(RunTransport, ATlsStreamThatIsCutHasFailed) {
  const TestCertificate certificate = MakeCertificate();
  const ScriptedServer server({.certificate = &certificate}, [](ScriptedConnection& connection) {
    for (std::string request; !(request = connection.ReadRequest()).empty();) {
      if (!request.starts_with("GET")) {
        connection.Write(std::string(kStreamHead) + TextEvent("a"));
        return;
      }
      connection.Write(JsonResponse("200 OK", kModels));
    }
  });
  RunOptions options = StreamingFrom(server);
  options.insecure = true;
  const Result<LoadRun> run = RunPlan(PlanOf(1, 1), options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->records[0].failure, "connection lost");
  EXPECT_EQ(run->records[0].failure_detail, "the server closed the connection");
}

TEST_F(RunTransport, AServerThatSpeaksNoTlsIsNotWaitedForForever) {
  const ScriptedServer server(
      [](ScriptedConnection& connection) { connection.Write("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  RunOptions options = StreamingFrom(server);
  options.url = "https://127.0.0.1:" + std::to_string(server.port());
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message, HasSubstr("connect: "));
  const ScriptedServer silent([](ScriptedConnection& connection) { connection.ReadRequest(); });
  options.url = "https://127.0.0.1:" + std::to_string(silent.port());
  options.timeout_s = 0.05;
  EXPECT_THAT(RunPlan(PlanOf(1, 1), options).error().message, HasSubstr("timeout"));
}

}  // namespace
}  // namespace weft
