// What users call models of the Hub, and what the environment says about it.
#include "server/hub/hub_name.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/hub/hub_settings.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(HubNameTest, WhatNamesAreMadeOf) {
  const std::string commit(40, 'a');
  struct Case {
    std::string text;
    HubName expected;
  };
  for (const Case& each : {
           Case{"Qwen/Qwen3-0.6B", {"Qwen/Qwen3-0.6B", "", "main"}},
           Case{"hf:Qwen/Qwen3-0.6B-GGUF:Q4_K_M", {"Qwen/Qwen3-0.6B-GGUF", "Q4_K_M", "main"}},
           Case{"hf:a/b:dir/model-00001-of-00002.gguf@v1.0",
                {"a/b", "dir/model-00001-of-00002.gguf", "v1.0"}},
           Case{"a/b@refs/pr/1", {"a/b", "", "refs/pr/1"}},
           Case{"a/b@" + commit, {"a/b", "", commit}},
       }) {
    const Result<HubName> name = ParseHubName(each.text);
    ASSERT_TRUE(name) << name.error().message;
    EXPECT_EQ(*name, each.expected) << each.text;
    EXPECT_EQ(ParseHubName(ToString(*name)).value(), each.expected);
  }
  EXPECT_EQ(ToString({"a/b", "Q8_0", "main"}), "hf:a/b:Q8_0");
  EXPECT_EQ(ToString({"a/b", "", "v1"}), "hf:a/b@v1");
}

TEST(HubNameTest, WhatIsNoName) {
  for (const std::string& text :
       {std::string("model.gguf"), std::string(""), std::string("hf:"), std::string("a/"),
        std::string("/b"), std::string("a/b/c"), std::string("a/b--c"), std::string("a/../b"),
        std::string("a/.."), std::string("-a/b"), std::string("a/b."), std::string("a/b.git"),
        std::string("a b/c"), std::string("a/b\n"), std::string("a/") + std::string(100, 'b'),
        std::string("a/\xc3\xa4")}) {
    const Result<HubName> name = ParseHubName(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(name.error().message, HasSubstr("ORGANISATION/REPOSITORY")) << text;
  }
  for (const std::string text : {"a/b@", "a/b@../x", "a/b@/x", "a/b@x/", "a/b@x//y", "a/b@.x",
                                 "a/b@x/.y", "a/b@x y", "a/b@x@y"}) {
    EXPECT_THAT(ParseHubName(text).error().message, HasSubstr("is no revision")) << text;
  }
  for (const std::string text : {"a/b:", "a/b:../x.gguf", "a/b:/etc/passwd", "a/b:x\\y"}) {
    EXPECT_THAT(ParseHubName(text).error().message, HasSubstr("a quantisation or a file")) << text;
  }
}

TEST(HubNameTest, CommitsAreFortyLowerCaseDigits) {
  EXPECT_TRUE(IsCommit("0123456789abcdef0123456789abcdef01234567"));
  EXPECT_FALSE(IsCommit("0123456789ABCDEF0123456789abcdef01234567"));
  EXPECT_FALSE(IsCommit("0123456789abcdef"));
}

class HubSettingsTest : public testing::Test {
 protected:
  Result<HubSettings> Read() {
    return ReadHubSettings([this](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }

  std::map<std::string, std::string> variables = {{"HOME", "/home/u"}};
};

TEST_F(HubSettingsTest, WhereTheCacheIs) {
  const auto cache = [this] { return Read().value().cache_path; };
  EXPECT_EQ(cache(), "/home/u/.cache/huggingface/hub");
  variables["XDG_CACHE_HOME"] = "/x";
  EXPECT_EQ(cache(), "/x/huggingface/hub");
  variables["HF_HOME"] = "~/hf";
  EXPECT_EQ(cache(), "/home/u/hf/hub");
  variables["HUGGINGFACE_HUB_CACHE"] = "/old";
  EXPECT_EQ(cache(), "/old");
  variables["DISK"] = "/disk";
  variables["HF_HUB_CACHE"] = "$DISK/a/${DISK}$NONE";
  EXPECT_EQ(cache(), "/disk/a//disk$NONE");
  variables["HF_HUB_CACHE"] = "";
  EXPECT_EQ(cache(), "/old");
  variables.clear();
  EXPECT_THAT(Read().error().message, HasSubstr("HF_HOME"));
}

TEST_F(HubSettingsTest, TheToken) {
  const TemporaryDirectory directory;
  variables["HF_HOME"] = directory.path();
  EXPECT_EQ(Read().value().token, "");
  directory.Write("token", " hf_file\n");
  EXPECT_EQ(Read().value().token, "hf_file");
  variables["HF_TOKEN_PATH"] = directory.Write("other", "hf_other\r\n");
  EXPECT_EQ(Read().value().token, "hf_other");
  variables["HUGGING_FACE_HUB_TOKEN"] = "hf_old";
  EXPECT_EQ(Read().value().token, "hf_old");
  variables["HF_TOKEN"] = "hf_variable\n";
  EXPECT_EQ(Read().value().token, "hf_variable");
  variables["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1";
  EXPECT_EQ(Read().value().token, "");
  variables.erase("HF_HUB_DISABLE_IMPLICIT_TOKEN");
  variables["HF_TOKEN"] = "hf x";
  const Result<HubSettings> read = Read();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("HF_TOKEN: the token has characters"));
  EXPECT_THAT(read.error().message, testing::Not(HasSubstr("hf x")));
}

TEST_F(HubSettingsTest, TheEndpointAndOffline) {
  EXPECT_EQ(Read().value().endpoint, "https://huggingface.co");
  variables["HF_ENDPOINT"] = "http://127.0.0.1:9/mirror//";
  EXPECT_EQ(Read().value().endpoint, "http://127.0.0.1:9/mirror");
  for (const std::string value : {"1", "ON", "Yes", "true"}) {
    variables["HF_HUB_OFFLINE"] = value;
    EXPECT_TRUE(Read().value().is_offline) << value;
  }
  for (const std::string value : {"0", "off", "2", ""}) {
    variables["HF_HUB_OFFLINE"] = value;
    EXPECT_FALSE(Read().value().is_offline) << value;
  }
  variables["HF_ENDPOINT"] = "ftp://a";
  EXPECT_THAT(Read().error().message, HasSubstr("HF_ENDPOINT: 'ftp://a'"));
}

}  // namespace
}  // namespace weft
