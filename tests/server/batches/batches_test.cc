// Files and batches as clients have them, through the socket, over a model that is fast.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/batches/batch_store.h"
#include "server/batches/file_store.h"
#include "tests/server/test_server.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr std::string_view kAliceKey = "sk-alice-0123456789";
constexpr std::string_view kBobKey = "sk-bob-0123456789ab";

std::string Form(std::string_view content, std::string_view purpose = "batch") {
  return fmt::format(
      "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n{}\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\r\n{}\r\n"
      "--b--\r\n",
      purpose, content);
}

std::string Head(std::string_view method, std::string_view path, std::string_view key,
                 std::string_view type, size_t length) {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: test\r\nx-api-key: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "\r\n",
      method, path, key, type, length);
}

json Line(const std::string& id, const json& body, const std::string& url = "/v1/completions") {
  return {{"custom_id", id}, {"method", "POST"}, {"url", url}, {"body", body}};
}

class BatchesTest : public ::testing::Test {
 protected:
  BatchesTest() { Start(); }

  void Start(ServerOptions options = {}) {
    server.reset();
    options.files_directory = directory.path() + "/files";
    options.api_key_path =
        directory.Write("keys", fmt::format("alice:{}\nbob:{}\n", kAliceKey, kBobKey));
    server = std::make_unique<TestServer>(TestModelOptions{}, options);
  }
  RawResponse Ask(std::string_view method, std::string_view path, std::string_view body = "",
                  std::string_view key = kAliceKey, std::string_view type = "application/json") {
    RawClient client(server->port());
    client.Send(Head(method, path, key, type, body.size()) + std::string(body));
    return client.Read();
  }
  json Asked(std::string_view method, std::string_view path, std::string_view body = "",
             std::string_view key = kAliceKey) {
    const RawResponse response = Ask(method, path, body, key);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  }
  std::string Code(std::string_view method, std::string_view path, std::string_view body = "",
                   std::string_view key = kAliceKey) {
    return ErrorOf(Ask(method, path, body, key))["code"];
  }
  RawResponse SendForm(std::string_view form) {
    return Ask("POST", "/v1/files", form, kAliceKey, "multipart/form-data; boundary=b");
  }
  std::string Upload(const std::vector<json>& lines) {
    std::string text;
    for (const json& line : lines) text += line.dump() + "\n";
    const RawResponse response = SendForm(Form(text));
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body)["id"];
  }
  std::string Create(const std::string& file_id, const std::string& url = "/v1/completions") {
    const json body = {{"input_file_id", file_id}, {"endpoint", url}, {"completion_window", "24h"}};
    return Asked("POST", "/v1/batches", body.dump())["id"];
  }
  json Await(const std::string& id, const std::string& status) {
    json batch;
    EXPECT_TRUE(Eventually([&] {
      batch = Asked("GET", "/v1/batches/" + id);
      return batch["status"] == status;
    })) << batch;
    return batch;
  }
  // The lines of a file by their custom_id.
  std::map<std::string, json> Lines(const json& file_id) {
    std::map<std::string, json> lines;
    const RawResponse content = Ask("GET", "/v1/files/" + file_id.get<std::string>() + "/content");
    std::string_view text = content.body;
    for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1)) {
      json line = json::parse(text.substr(0, end));
      std::string id = line["custom_id"];
      EXPECT_FALSE(lines.contains(id)) << "twice: " << id;
      lines[std::move(id)] = std::move(line);
    }
    return lines;
  }

  const TemporaryDirectory directory;
  std::unique_ptr<TestServer> server;
};

TEST_F(BatchesTest, LinesGetWhatRequestsGet) {
  std::vector<json> lines;
  std::map<std::string, json> alone;
  for (int i = 0; i < 100; ++i) {
    const std::string id = fmt::format("line {}", i);
    const json body = {{"prompt", fmt::format("Once {}", i % 7)}, {"max_tokens", 5}, {"seed", i}};
    lines.push_back(Line(id, body));
    alone[id] = Asked("POST", "/v1/completions", body.dump())["choices"];
  }
  lines.push_back(Line("wrong", {{"prompt", "a"}, {"temperature", 9}}));
  lines.push_back(Line("nobody", {{"prompt", "a"}, {"model", "other"}}));
  const json batch = Await(Create(Upload(lines)), "completed");
  EXPECT_EQ(batch["request_counts"], (json{{"total", 102}, {"completed", 100}, {"failed", 2}}));
  const auto answers = Lines(batch["output_file_id"]);
  ASSERT_EQ(answers.size(), 100U);
  for (const auto& [id, line] : answers) {
    EXPECT_EQ(line["response"]["status_code"], 200);
    EXPECT_EQ(line["response"]["body"]["choices"], alone[id]) << id;
  }
  const auto errors = Lines(batch["error_file_id"]);
  EXPECT_EQ(errors.at("wrong")["response"]["body"]["error"]["param"], "temperature");
  EXPECT_EQ(errors.at("nobody")["response"]["status_code"], 404);
  const std::string metrics = Ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("weft_batch_lines_total{result=\"answered\"} 100"), std::string::npos);
  EXPECT_NE(metrics.find("weft_batch_lines_total{result=\"refused\"} 2"), std::string::npos);
}

TEST_F(BatchesTest, WhatIsWrongWithAFileIsSaidByLine) {
  const std::string file =
      Upload({Line("a", {{"prompt", "x"}}), Line("a", {{"prompt", "y"}}),
              Line("b", {{"stream", true}}), Line("c", {{"input", "x"}}, "/v1/embeddings")});
  const json batch = Await(Create(file), "failed");
  std::vector<std::string> faults;
  for (const json& error : batch["errors"]["data"]) {
    faults.push_back(
        fmt::format("{}@{}", error["code"].get<std::string>(), error["line"].get<int>()));
  }
  EXPECT_THAT(faults,
              ElementsAre("duplicate_custom_id@2", "stream_not_supported@3", "mismatched_url@4"));
  EXPECT_EQ(batch["output_file_id"], nullptr);
  EXPECT_EQ(Code("POST", "/v1/batches/" + batch["id"].get<std::string>() + "/cancel"),
            "batch_has_ended");
}

TEST_F(BatchesTest, AKeysSecondBatchIsCheckedAtOnceAndWaits) {
  ServerOptions options;
  options.batch_lines = 1;
  Start(options);
  std::vector<json> lines;
  for (int i = 0; i < 20; ++i) {
    lines.push_back(Line(std::to_string(i), {{"prompt", "b"}, {"max_tokens", 400}}));
  }
  server->model.SetStepTime(std::chrono::milliseconds(2));
  const std::string first = Create(Upload(lines));
  const std::string second = Create(Upload({Line("a", {{"prompt", "x"}, {"max_tokens", 1}})}));
  const std::string wrong = Create(Upload({Line("a", {{"stream", true}})}));
  const json waiting = Await(second, "in_progress");
  EXPECT_EQ(waiting["request_counts"], (json{{"total", 1}, {"completed", 0}, {"failed", 0}}));
  Await(wrong, "failed");
  EXPECT_EQ(Asked("GET", "/v1/batches/" + second)["status"], "in_progress");
  EXPECT_EQ(Asked("GET", "/v1/batches/" + first)["status"], "in_progress");
  server->model.SetStepTime({});
  Await(second, "completed");
  EXPECT_EQ(Asked("GET", "/v1/batches/" + first)["status"], "completed");
}

TEST_F(BatchesTest, ACancelledBatchKeepsWhatIsDone) {
  ServerOptions options;
  options.batch_lines = 1;
  Start(options);
  std::vector<json> lines = {Line("short", {{"prompt", "a"}, {"max_tokens", 1}})};
  for (int i = 0; i < 20; ++i) {
    lines.push_back(Line(std::to_string(i), {{"prompt", "b"}, {"max_tokens", 400}}));
  }
  server->model.SetStepTime(std::chrono::milliseconds(2));
  const std::string id = Create(Upload(lines));
  ASSERT_TRUE(Eventually(
      [&] { return Asked("GET", "/v1/batches/" + id)["request_counts"]["completed"] > 0; }));
  const json cancelling = Asked("POST", "/v1/batches/" + id + "/cancel");
  EXPECT_TRUE(cancelling["status"] == "cancelling" || cancelling["status"] == "cancelled");
  const json batch = Await(id, "cancelled");
  const size_t done = batch["request_counts"]["completed"];
  EXPECT_LT(done, lines.size());
  EXPECT_EQ(Lines(batch["output_file_id"]).size(), done);
  EXPECT_EQ(batch["error_file_id"], nullptr);
  EXPECT_TRUE(Eventually([&] { return server->model.used_blocks() == 0; }));
}

TEST_F(BatchesTest, AnotherServerGoesOn) {
  std::vector<json> lines;
  for (int i = 0; i < 60; ++i) {
    lines.push_back(Line(std::to_string(i), {{"prompt", "b"}, {"max_tokens", 20}}));
  }
  ServerOptions options;
  options.batch_lines = 2;
  Start(options);
  server->model.SetStepTime(std::chrono::milliseconds(1));
  const std::string id = Create(Upload(lines));
  for (int restart = 0; restart < 3; ++restart) {
    const int before = Asked("GET", "/v1/batches/" + id)["request_counts"]["completed"];
    ASSERT_TRUE(Eventually(
        [&] { return Asked("GET", "/v1/batches/" + id)["request_counts"]["completed"] > before; }));
    Start(options);
  }
  const json batch = Await(id, "completed");
  EXPECT_EQ(batch["request_counts"], (json{{"total", 60}, {"completed", 60}, {"failed", 0}}));
  EXPECT_EQ(Lines(batch["output_file_id"]).size(), 60U);
}

TEST_F(BatchesTest, AnExpiredBatchKeepsWhatIsDone) {
  ServerOptions options;
  options.batch_lines = 1;
  Start(options);
  std::vector<json> lines = {Line("short", {{"prompt", "a"}, {"max_tokens", 1}})};
  for (int i = 0; i < 20; ++i) {
    lines.push_back(Line(std::to_string(i), {{"prompt", "b"}, {"max_tokens", 400}}));
  }
  server->model.SetStepTime(std::chrono::milliseconds(2));
  const std::string id = Create(Upload(lines));
  ASSERT_TRUE(Eventually(
      [&] { return Asked("GET", "/v1/batches/" + id)["request_counts"]["completed"] > 0; }));
  server.reset();
  {
    const auto files =
        FileStore::Open({.directory = directory.path() + "/files", .max_bytes = 1 << 20, .now = [] {
                           return int64_t{1};
                         }});
    BatchStore batches(**files);
    StoredBatch batch = batches.Unended()->at(0);
    batch.object.expires_at = 1;
    ASSERT_TRUE(*batches.Update(batch, BatchStatus::kInProgress));
  }
  Start(options);
  const json batch = Await(id, "expired");
  EXPECT_NE(batch["expired_at"], nullptr);
  const auto answers = Lines(batch["output_file_id"]);
  const auto errors = Lines(batch["error_file_id"]);
  EXPECT_EQ(batch["request_counts"]["completed"], answers.size());
  EXPECT_EQ(answers.size() + errors.size(), lines.size());
  for (const auto& [custom_id, line] : errors) {
    EXPECT_EQ(line["error"]["code"], "batch_expired") << custom_id;
    EXPECT_EQ(line["response"], nullptr);
  }
}

TEST_F(BatchesTest, WhereResultsNoLongerFitTheOthersAreKept) {
  ServerOptions options;
  options.batch_lines = 1;
  options.files_disk_bytes = 8000;  // half of it is alice's
  Start(options);
  std::vector<json> lines;
  for (int i = 0; i < 20; ++i) {
    lines.push_back(Line(std::to_string(i), {{"prompt", "b"}, {"max_tokens", 20}}));
  }
  const json batch = Await(Create(Upload(lines)), "failed");
  EXPECT_EQ(batch["errors"]["data"][0]["code"], "file_space_spent");
  const size_t done = batch["request_counts"]["completed"];
  EXPECT_GT(done, 0U);
  EXPECT_LT(done, lines.size());
  EXPECT_EQ(Lines(batch["output_file_id"]).size(), done);
}

TEST_F(BatchesTest, LinesWaitForMemory) {
  ServerOptions options;
  options.request_memory_bytes = 1 << 20;  // a quarter of it is for batches: some 10 lines
  Start(options);
  std::vector<json> lines;
  for (int i = 0; i < 50; ++i) {
    lines.push_back(Line(std::to_string(i), {{"prompt", "b"}, {"max_tokens", 20}}));
  }
  const json batch = Await(Create(Upload(lines)), "completed");
  EXPECT_EQ(batch["request_counts"], (json{{"total", 50}, {"completed", 50}, {"failed", 0}}));
}

TEST_F(BatchesTest, OthersFilesAndBatchesAreNotThere) {
  const std::string file = Upload({Line("a", {{"prompt", "x"}, {"max_tokens", 1}})});
  const std::string id = Create(file);
  const json batch = Await(id, "completed");
  const json body = {
      {"input_file_id", file}, {"endpoint", "/v1/completions"}, {"completion_window", "24h"}};
  EXPECT_EQ(Code("POST", "/v1/batches", body.dump(), kBobKey), "file_not_found");
  EXPECT_EQ(Code("GET", "/v1/files/" + file, "", kBobKey), "file_not_found");
  EXPECT_EQ(Code("GET", "/v1/files/" + file + "/content", "", kBobKey), "file_not_found");
  EXPECT_EQ(Code("DELETE", "/v1/files/" + file, "", kBobKey), "file_not_found");
  EXPECT_EQ(Code("GET", "/v1/files/" + batch["output_file_id"].get<std::string>(), "", kBobKey),
            "file_not_found");
  EXPECT_EQ(Code("GET", "/v1/batches/" + id, "", kBobKey), "batch_not_found");
  EXPECT_EQ(Code("POST", "/v1/batches/" + id + "/cancel", "", kBobKey), "batch_not_found");
  EXPECT_EQ(Asked("GET", "/v1/files", "", kBobKey)["data"], json::array());
  EXPECT_EQ(Asked("GET", "/v1/batches", "", kBobKey)["data"], json::array());
  EXPECT_EQ(Asked("GET", "/v1/files")["data"].size(), 2U);
  EXPECT_EQ(Asked("GET", "/v1/batches")["data"].size(), 1U);
}

TEST_F(BatchesTest, ContentIsSavedAndNeverShown) {
  const std::string file = Upload({Line("<script>", json::object())});
  const RawResponse content = Ask("GET", "/v1/files/" + file + "/content");
  EXPECT_EQ(content.headers.at("content-type"), "application/octet-stream");
  EXPECT_EQ(content.headers.at("content-disposition"),
            "attachment; filename=\"" + file + ".jsonl\"");
  EXPECT_EQ(content.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(content.body, Line("<script>", json::object()).dump() + "\n");
}

TEST_F(BatchesTest, HostileUploads) {
  ServerOptions options;
  options.files_disk_bytes = 4 << 20;
  Start(options);
  const std::string form = Form("x");
  EXPECT_EQ(ErrorOf(SendForm(form.substr(0, form.size() - 4)))["code"], "malformed_multipart");
  EXPECT_EQ(ErrorOf(SendForm("--c--"))["code"], "malformed_multipart");
  EXPECT_EQ(ErrorOf(SendForm(Form("x", "vision")))["param"], "purpose");
  EXPECT_EQ(ErrorOf(Ask("POST", "/v1/files", form, kAliceKey, "multipart/form-data"))["code"],
            "malformed_multipart");
  EXPECT_EQ(Ask("POST", "/v1/files", form).status, 415);
  // Half of the space is for others.
  EXPECT_EQ(ErrorOf(SendForm(Form(std::string(3 << 20, 'x'))))["code"], "file_space_spent");
  {
    RawClient client(server->port());
    client.Send(Head("POST", "/v1/files", kAliceKey, "multipart/form-data; boundary=b",
                     uint64_t{210'000'000}));
    EXPECT_EQ(ErrorOf(client.Read())["code"], "body_too_large");
  }
  {
    RawClient client(server->port());
    client.Send(Head("POST", "/v1/files", kAliceKey, "multipart/form-data; boundary=b", 2 << 20));
    client.Send(form.substr(0, form.size() / 2) + std::string(1 << 20, 'x'));
    client.Close();  // in the middle of it
  }
  // Of all this nothing is left: there is room for half of all.
  EXPECT_TRUE(Eventually([&] { return SendForm(Form(std::string(2 << 20, 'x'))).status == 200; }));
  EXPECT_EQ(Asked("GET", "/v1/files")["data"].size(), 1U);
  // A body for another route is no larger than before.
  RawClient client(server->port());
  client.Send(Head("POST", "/v1/completions", kAliceKey, "application/json", 9 << 20));
  EXPECT_EQ(ErrorOf(client.Read())["code"], "body_too_large");
}

TEST(WithoutFilesTest, TheyAreNotOffered) {
  const TestServer server;
  for (const char* const path : {"/v1/files", "/v1/batches", "/v1/files/file-1/content"}) {
    RawClient client(server.port());
    client.Send(Get(path));
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(ErrorOf(response)["code"], "not_offered") << path;
  }
}

}  // namespace
}  // namespace weft
