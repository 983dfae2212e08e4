// Text for people: quoting what came from outside, amounts of memory. And bytes as text.
#include <string>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/format_bytes.h"
#include "base/quoted.h"

namespace weft {
namespace {

TEST(Quoted, LeavesPrintableAsciiAndEscapesTheRest) {
  EXPECT_EQ(Quoted("blk.0.attn_q.weight"), "'blk.0.attn_q.weight'");
  EXPECT_EQ(Quoted(""), "''");
  EXPECT_EQ(Quoted("a\nb\t\x1b[0m\x7f"), "'a\\x0ab\\x09\\x1b[0m\\x7f'");
  EXPECT_EQ(Quoted("it's \\ \xC3\xA9"), "'it\\x27s \\x5c \\xc3\\xa9'");
  EXPECT_EQ(Quoted(std::string_view("\0x", 2)), "'\\x00x'");
}

TEST(Quoted, CutsLongText) {
  EXPECT_EQ(Quoted(std::string(80, 'a')), "'" + std::string(80, 'a') + "'");
  EXPECT_EQ(Quoted(std::string(81, 'a')), "'" + std::string(80, 'a') + "'...");
}

TEST(FormatBytes, ChoosesTheUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(512 * 1024), "0.5 MiB");
  EXPECT_EQ(FormatBytes(7'549'747), "7.2 MiB");
  EXPECT_EQ(FormatBytes(1024ULL << 20), "1.00 GiB");
  EXPECT_EQ(FormatBytes(1536ULL << 30), "1536.00 GiB");
}

TEST(AppendBase64, PadsTheLastGroup) {
  std::string text = ">";
  AppendBase64("Man\xFB\xFF", &text);
  EXPECT_EQ(text, ">TWFu+/8=");
  text.clear();
  AppendBase64("M", &text);
  EXPECT_EQ(text, "TQ==");
}

TEST(DecodeBase64, TakesPaddedTextAlone) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("TQ=="), "M");
  EXPECT_EQ(DecodeBase64("TWE="), "Ma");
  EXPECT_EQ(DecodeBase64("TWFu+/8A"), std::string("Man\xFB\xFF\0", 6));
  for (const std::string text : {"TQ", "TQ=", "T===", "TQ==TQ==", "TWF\n", "TWF-"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weft
