// What is made of the Hub's answers, and of addresses.
#include "server/hub/hub_client.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/hub/content_digest.h"
#include "server/hub/download_progress.h"
#include "server/hub/hub_file.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSha256(64, 'a');
const std::string kGit(40, 'b');

std::string Entry(const std::string& path, const std::string& size = "7") {
  return R"({"type": "file", "oid": ")" + kGit + R"(", "size": )" + size + R"(, "path": ")" + path +
         R"("})";
}

TEST(HubPathTest, WhatMayBecomeAPath) {
  for (const std::string path :
       {"a.gguf", "1_Pooling/config.json", "a/b/c d.gguf", "\xc3\xa4.json"}) {
    EXPECT_TRUE(CheckHubPath(path)) << path;
  }
  for (const std::string& path :
       {std::string(), std::string("../a.gguf"), std::string("a/../../b"),
        std::string("/etc/passwd"), std::string("a//b"), std::string("a/"), std::string("a\\b"),
        std::string("a\nb"), std::string(".a"), std::string("a/.b"), std::string("."),
        std::string("a\0b", 3), std::string(600, 'a'),
        std::string("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17")}) {
    EXPECT_FALSE(CheckHubPath(path)) << path;
  }
}

TEST(HubPathTest, WhichFilesBelongToModels) {
  for (const std::string path :
       {"a.gguf", "model.safetensors", "config.json", "chat_template.jinja", "tokenizer.model",
        "source.spm", "hy.tiktoken", "vocab.txt", "x/merges.txt"}) {
    EXPECT_TRUE(IsModelFile(path)) << path;
  }
  for (const std::string path : {"README.md", "pytorch_model.bin", "LICENSE.txt", "a.pth", "a.onnx",
                                 ".json", "a.py", "gguf"}) {
    EXPECT_FALSE(IsModelFile(path)) << path;
  }
}

TEST(TreePageTest, FilesWithTheirContents) {
  const std::string page =
      "[" + Entry("config.json") + "," + Entry("README.md") + "," + Entry(".eval_results/a.json") +
      R"(,{"type": "directory", "path": "x"},)" +
      R"({"type": "file", "path": "x/a.gguf", "oid": ")" + kGit +
      R"(", "size": 130, "lfs": {"oid": ")" + kSha256 + R"(", "size": 1000, "pointerSize": 130}}])";
  EXPECT_THAT(ReadTreePage(page, "url").value(),
              ElementsAre(HubFile{"config.json", 7, kGit}, HubFile{"x/a.gguf", 1000, kSha256}));
}

TEST(TreePageTest, WhatIsRefused) {
  struct Case {
    std::string json;
    std::string message;
  };
  for (const Case& each : {
           Case{"<html>", "is no JSON"},
           Case{"{}", "is no array"},
           Case{"[" + Entry("../config.json") + "]", "'../config.json'"},
           Case{"[" + Entry("/config.json") + "]", "'/config.json'"},
           Case{"[" + Entry("a\\\\b.json") + "]", "backslash"},
           Case{"[" + Entry("config.json", "-1") + "]", "expected a size"},
           Case{"[" + Entry("config.json", "1e3") + "]", "expected a size"},
           Case{"[" + Entry("config.json", "99999999999999999") + "]", "expected a size"},
           Case{R"([{"type": "file", "path": "a.json", "size": 1, "oid": "../x"}])",
                "an oid of 40"},
           Case{R"([{"type": "file", "path": "a.gguf", "lfs": {"size": 1, "oid": ")" + kGit +
                    R"("}}])",
                "an oid of 64"},
           Case{std::string(100, '[') + std::string(100, ']'), "deep"},
       }) {
    const auto read = ReadTreePage(each.json, "url");
    ASSERT_FALSE(read) << each.json;
    EXPECT_THAT(read.error().message, HasSubstr(each.message));
    EXPECT_THAT(read.error().message, HasSubstr("url"));
  }
}

TEST(HubAddressTest, TheNextPage) {
  EXPECT_EQ(NextPage(""), "");
  EXPECT_EQ(NextPage(R"(<https://h/a?cursor=x,y>; rel="next")"), "https://h/a?cursor=x,y");
  EXPECT_EQ(NextPage(R"(<https://h/1>; rel="prev", <https://h/2>; rel="next")"), "https://h/2");
  EXPECT_EQ(NextPage(R"(<https://h/1>; rel="prev")"), "");
  EXPECT_EQ(NextPage("<https://h/1"), "");
}

TEST(HubAddressTest, WhomTheTokenIsFor) {
  EXPECT_TRUE(HaveSameOrigin("https://Huggingface.co/a", "https://huggingface.co:443"));
  EXPECT_TRUE(HaveSameOrigin("http://[::1]:80/a", "http://[::1]"));
  for (const std::string other :
       {"http://huggingface.co", "https://huggingface.co:8443", "https://cdn.huggingface.co",
        "https://huggingface.co.evil.example", "https://huggingface.co@evil.example", "", "x"}) {
    EXPECT_FALSE(HaveSameOrigin(other, "https://huggingface.co")) << other;
  }
}

TEST(HubAddressTest, PathsArePercentEncoded) {
  EXPECT_EQ(PercentEncoded("refs/pr/1", ""), "refs%2Fpr%2F1");
  EXPECT_EQ(PercentEncoded("a/b c?#%\xc3.gguf", "/"), "a/b%20c%3F%23%25%C3.gguf");
}

// Of `git hash-object` and `sha256sum`.
TEST(ContentDigestTest, NamesOfContents) {
  ContentDigest git(kGit, 6);
  git.Update("hel");
  git.Update("lo\n");
  EXPECT_EQ(git.Finish(), "ce013625030ba8dba906f756967f9e9ca394464a");
  ContentDigest sha256(kSha256, 6);
  sha256.Update("hello\n");
  EXPECT_EQ(sha256.Finish(), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
}

TEST(DownloadProgressTest, ALineForPeople) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(DescribeProgress("a.gguf", 40 * kMiB, 100 * kMiB, 2.0 * kMiB),
            "a.gguf: 40.0 MiB of 100.0 MiB (40%), 2.0 MiB/s, 30 s left");
  EXPECT_EQ(DescribeProgress("a", 0, 100 * kMiB, 0), "a: 0 B of 100.0 MiB (0%)");
  EXPECT_EQ(DescribeProgress("a", 0, 100 * kMiB, 1.0 * kMiB),
            "a: 0 B of 100.0 MiB (0%), 1.0 MiB/s, 1 min 40 s left");
}

TEST(DownloadProgressTest, ABarFitsTheTerminal) {
  EXPECT_EQ(DrawBar("text", 1, 2, 100), "[############            ] text");
  EXPECT_EQ(DrawBar("text", 1, 2, 15), "[####    ] text");
  EXPECT_EQ(DrawBar("text", 2, 2, 15), "[########] text");
  EXPECT_EQ(DrawBar("text", 1, 2, 14), "text");
  EXPECT_EQ(DrawBar("text", 1, 2, 3), "tex");
}

TEST(DownloadProgressTest, WithoutATerminalALineATenth) {
  std::vector<std::string> lines;
  DownloadProgress progress(100 << 20, false,
                            [&](const std::string& line) { lines.push_back(line); });
  const auto start = DownloadProgress::Clock::now();
  progress.Begin("a");
  progress.Skip(20 << 20);
  progress.Add(1 << 20, start + std::chrono::seconds(5));
  EXPECT_TRUE(lines.empty());
  progress.Add(9 << 20, start + std::chrono::seconds(6));
  progress.Add(1 << 20, start + std::chrono::seconds(17));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("a: 30.0 MiB of 100.0 MiB (30%), 1.7 MiB/s"));
  EXPECT_THAT(lines[1], HasSubstr("(31%)"));
}

}  // namespace
}  // namespace weft
