#include "proto/batches/batch_line.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/batches/batch_object.h"

namespace weft {
namespace {

using nlohmann::json;

struct RefusedLine {
  std::string text;
  std::string code;
  std::string param;
};

TEST(BatchLineTest, WhatIsWrongIsNamed) {
  const std::vector<RefusedLine> cases = {
      {"{", "invalid_json_line", ""},
      {"[]", "invalid_json_line", ""},
      {R"({"custom_id":"a","custom_id":"b"})", "invalid_json_line", ""},
      {R"({"method":"POST"})", "missing_required_parameter", "custom_id"},
      {R"({"custom_id":1})", "invalid_parameter", "custom_id"},
      {R"({"custom_id":""})", "invalid_parameter", "custom_id"},
      {R"({"custom_id":"a"})", "missing_required_parameter", "method"},
      {R"({"custom_id":"a","method":"GET"})", "invalid_method", "method"},
      {R"({"custom_id":"a","method":"POST"})", "missing_required_parameter", "url"},
      {R"({"custom_id":"a","method":"POST","url":"/v1/files"})", "invalid_url", "url"},
      {R"({"custom_id":"a","method":"POST","url":"/v1/rerank"})", "missing_required_parameter",
       "body"},
      {R"({"custom_id":"a","method":"POST","url":"/v1/rerank","body":"{}"})", "invalid_parameter",
       "body"},
      {R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"stream":true}})",
       "stream_not_supported", "body.stream"},
  };
  for (const RefusedLine& each : cases) {
    const auto line = ParseBatchLine(each.text);
    ASSERT_FALSE(line) << each.text;
    EXPECT_EQ(line.error().code, each.code) << each.text;
    EXPECT_EQ(line.error().param, each.param) << each.text;
    EXPECT_FALSE(line.error().message.empty());
  }
}

TEST(BatchLineTest, TheBodyIsAsItWasSent) {
  const auto line = ParseBatchLine(
      R"({"custom_id":"a","method":"POST","url":"/v1/completions",)"
      R"("body":{"prompt":"é","stream":false,"model":"m","seed":18446744073709551615}})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->custom_id, "a");
  EXPECT_EQ(line->url, "/v1/completions");
  EXPECT_EQ(line->body, R"({"prompt":"é","stream":false,"model":"m","seed":18446744073709551615})");
  EXPECT_EQ(line->prompt, R"("é")");
}

TEST(BatchLineTest, LinesOfOutputs) {
  EXPECT_EQ(AnsweredLineJson("i", "a\"b", {.status = 200, .request_id = "r", .body = "{\"x\":1}"}),
            R"({"id":"i","custom_id":"a\"b","response":{"status_code":200,"request_id":"r",)"
            R"("body":{"x":1}},"error":null})");
  const json expired = json::parse(ExpiredLineJson("i", "a"));
  EXPECT_EQ(expired["response"], nullptr);
  EXPECT_EQ(expired["error"]["code"], "batch_expired");
}

TEST(BatchObjectTest, ItsStateIsReadAsItWasWritten) {
  BatchObject batch;
  batch.id = "batch_1";
  batch.endpoint = "/v1/embeddings";
  batch.status = BatchStatus::kCancelling;
  batch.errors = {{.code = "c", .message = "m", .param = "p", .line = 3},
                  {.code = "d", .message = "n", .param = {}, .line = {}}};
  batch.input_file_id = "file-1";
  batch.error_file_id = "file-2";
  batch.created_at = 1;
  batch.expires_at = 2;
  batch.cancelling_at = 3;
  batch.total_count = 9;
  batch.failed_count = 4;
  batch.metadata = {{"k", "v"}};
  batch.output_expiry_seconds = 7200;
  const ApiResult<BatchObject> read = ParseBatchState(BatchStateJson(batch));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(BatchStateJson(*read), BatchStateJson(batch));
  EXPECT_EQ(read->output_expiry_seconds, 7200);
  const json shown = json::parse(ToJson(batch));
  EXPECT_FALSE(shown.contains("output_expiry_seconds"));
  EXPECT_EQ(shown["status"], "cancelling");
  EXPECT_EQ(shown["errors"]["data"][0]["line"], 3);
  EXPECT_EQ(shown["errors"]["data"][1]["line"], nullptr);
  EXPECT_EQ(shown["output_file_id"], nullptr);
  EXPECT_EQ(shown["request_counts"], (json{{"total", 9}, {"completed", 0}, {"failed", 4}}));
}

// The field that is to blame, or "" and the batch.
std::string Blamed(json fields, BatchObject* batch = nullptr) {
  json body = {{"input_file_id", "file-1"},
               {"endpoint", "/v1/chat/completions"},
               {"completion_window", "24h"}};
  body.update(fields);
  const ApiResult<BatchObject> read = ParseBatchRequest(body.dump());
  if (read && batch != nullptr) *batch = *read;
  return read ? "" : read.error().param;
}

TEST(BatchRequestTest, FieldsAndTheirRanges) {
  BatchObject batch;
  EXPECT_EQ(Blamed({{"metadata", {{"a", "b"}}},
                    {"output_expires_after", {{"anchor", "created_at"}, {"seconds", 3600}}}},
                   &batch),
            "");
  EXPECT_EQ(batch.metadata.at("a"), "b");
  EXPECT_EQ(batch.output_expiry_seconds, 3600);
  EXPECT_EQ(Blamed(json::object(), &batch), "");
  EXPECT_EQ(batch.output_expiry_seconds, kMaxExpirySeconds);
  EXPECT_EQ(Blamed({{"input_file_id", nullptr}}), "input_file_id");
  EXPECT_EQ(Blamed({{"endpoint", "/v1/messages"}}), "endpoint");
  EXPECT_EQ(Blamed({{"completion_window", "1h"}}), "completion_window");
  EXPECT_EQ(Blamed({{"metadata", {{"a", 1}}}}), "metadata.a");
  EXPECT_EQ(Blamed({{"output_expires_after", {{"anchor", "now"}, {"seconds", 3600}}}}),
            "output_expires_after.anchor");
  EXPECT_EQ(Blamed({{"output_expires_after", {{"anchor", "created_at"}, {"seconds", 3599}}}}),
            "output_expires_after.seconds");
  EXPECT_EQ(Blamed({{"output_expires_after", {{"anchor", "created_at"}}}}),
            "output_expires_after.seconds");
}

}  // namespace
}  // namespace weft
