// The body of /v1/responses/compact.
#include "proto/responses/compaction.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(CompactionTest, ReadsTheConversationAlone) {
  const ApiResult<ResponsesRequest> request =
      ParseCompactionRequest(R"({"model":"m","input":"Hi","instructions":"Be brief.","tools":5})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->chat.model, "m");
  EXPECT_EQ(request->instructions, "Be brief.");
  EXPECT_EQ(request->chat.unknown_field_count, 1);
}

TEST(CompactionTest, SaysWhatIsMissing) {
  for (const std::string_view body : {"{}", R"({"tools":5.5})", R"({"model":"m"})"}) {
    EXPECT_EQ(ParseCompactionRequest(body).error().param, "input") << body;
  }
  EXPECT_EQ(ParseCompactionRequest(R"({"input":"Hi"})").error().param, "model");
}

}  // namespace
}  // namespace weft
