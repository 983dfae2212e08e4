// Text never ends in half a character, and every invalid byte becomes U+FFFD as WHATWG says.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {
namespace {

std::string DecodeWhole(std::string_view bytes) {
  IncrementalDecoder decoder;
  const std::string text = decoder.Append(bytes);
  return text + decoder.Finish();
}

// An independent reading of the WHATWG decoder (https://encoding.spec.whatwg.org/#utf-8-decoder),
// byte by byte as the standard words it.
std::string WhatwgDecode(std::string_view bytes) {
  std::string text;
  std::string seen;
  int needed = 0;
  uint8_t lower = 0x80;
  uint8_t upper = 0xBF;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (needed == 0) {
      seen = bytes[i];
      if (byte <= 0x7F) {
        text += bytes[i];
      } else if (byte >= 0xC2 && byte <= 0xDF) {
        needed = 1;
      } else if (byte >= 0xE0 && byte <= 0xEF) {
        if (byte == 0xE0) lower = 0xA0;
        if (byte == 0xED) upper = 0x9F;
        needed = 2;
      } else if (byte >= 0xF0 && byte <= 0xF4) {
        if (byte == 0xF0) lower = 0x90;
        if (byte == 0xF4) upper = 0x8F;
        needed = 3;
      } else {
        text += "\uFFFD";
      }
      continue;
    }
    const bool continues = byte >= lower && byte <= upper;
    lower = 0x80;
    upper = 0xBF;
    if (!continues) {
      needed = 0;
      text += "\uFFFD";
      --i;  // read again as a first byte
      continue;
    }
    seen += bytes[i];
    if (--needed == 0) text += seen;
  }
  if (needed > 0) text += "\uFFFD";
  return text;
}

TEST(IncrementalDecoderTest, EverySplitOfAValidTextGivesTheTextAndOnlyWholeCharacters) {
  const std::string text =
      "aé€😀z\u0301\u200d日本👨‍👩‍👧ÿ\U0010FFFF\uFFFD" + std::string(1, '\0');
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      IncrementalDecoder decoder;
      std::string decoded;
      for (const std::string_view part : {std::string_view(text).substr(0, first),
                                          std::string_view(text).substr(first, second - first),
                                          std::string_view(text).substr(second)}) {
        const std::string appended = decoder.Append(part);
        EXPECT_EQ(ValidUtf8Prefix(appended), appended.size());
        decoded += appended;
      }
      EXPECT_EQ(decoded, text);
      EXPECT_EQ(decoder.Finish(), "");
    }
  }
}

TEST(IncrementalDecoderTest, CharactersComeOutAsSoonAsTheyAreWhole) {
  IncrementalDecoder decoder;
  EXPECT_EQ(decoder.Append("\xF0"), "");
  EXPECT_EQ(decoder.Append("\x9F\x98"), "");
  EXPECT_EQ(decoder.Append("\x80"), "😀");
  EXPECT_EQ(decoder.Append("\xE2\x82"), "");
  EXPECT_EQ(decoder.Append("x"), "\uFFFDx");
  EXPECT_EQ(decoder.Append("\xE2"), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD");
  EXPECT_EQ(decoder.Finish(), "");
}

TEST(IncrementalDecoderTest, SpacesThatAreNotTheTextsOwnAreLeftOut) {
  IncrementalDecoder one(LeadingSpaces(1));
  EXPECT_EQ(one.Append(""), "");
  EXPECT_EQ(one.Append(" "), "");
  EXPECT_EQ(one.Append(" a"), " a");
  EXPECT_EQ(one.Append(" b"), " b");
  IncrementalDecoder all(LeadingSpaces(SIZE_MAX));
  EXPECT_EQ(all.Append("  "), "");
  EXPECT_EQ(all.Append(" a"), "a");
  EXPECT_EQ(all.Append("  b "), "  b ");
  IncrementalDecoder own(LeadingSpaces(1));
  EXPECT_EQ(own.Append("\xC3"), "");
  EXPECT_EQ(own.Append("\xA9"), "é");
  EXPECT_EQ(own.Append(" "), " ");
  IncrementalDecoder continuing;
  EXPECT_EQ(continuing.Append(" a"), " a");
}

struct InvalidCase {
  std::string_view name;
  std::string_view bytes;
  std::string_view expected;
};

TEST(IncrementalDecoderTest, InvalidBytesBecomeReplacementCharacters) {
  const std::vector<InvalidCase> cases = {
      {"lone continuation", "a\x80z", "a\uFFFDz"},
      {"two continuations", "\x80\xBF", "\uFFFD\uFFFD"},
      {"never a byte of UTF-8", "\xFE\xFF\xC0\xC1\xF5", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"overlong slash, 2 bytes", "\xC0\xAF", "\uFFFD\uFFFD"},
      {"overlong slash, 3 bytes", "\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD"},
      {"overlong slash, 4 bytes", "\xF0\x80\x80\xAF", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"overlong U+07FF", "\xE0\x9F\xBF", "\uFFFD\uFFFD\uFFFD"},
      {"overlong U+FFFF", "\xF0\x8F\xBF\xBF", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"first surrogate", "\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"last surrogate", "\xED\xBF\xBF", "\uFFFD\uFFFD\uFFFD"},
      {"above U+10FFFF", "\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"truncated, then ASCII", "\xF0\x9F\x98q", "\uFFFDq"},
      {"truncated twice", "\xF0\x9F\xF0\x9F", "\uFFFD\uFFFD"},
      {"truncated at the end", "ok\xE2\x82", "ok\uFFFD"},
      {"Unicode's example", "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64",
       "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd"},
  };
  for (const InvalidCase& invalid : cases) {
    EXPECT_EQ(DecodeWhole(invalid.bytes), invalid.expected) << invalid.name;
    EXPECT_EQ(WhatwgDecode(invalid.bytes), invalid.expected) << invalid.name;
  }
}

TEST(IncrementalDecoderTest, EveryPairOfBytesIsReadAsTheStandardSays) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second), '\x80', '-'};
      EXPECT_EQ(DecodeWhole(bytes), WhatwgDecode(bytes)) << first << " " << second;
    }
  }
}

TEST(IncrementalDecoderTest, RandomBytesCutAnywhereGiveWhatTheWholeGives) {
  std::mt19937 random(7);
  // Bytes near the borders of the ranges, so that long valid and nearly valid sequences come up.
  constexpr uint8_t kBytes[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2,
                                0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
  for (int round = 0; round < 5000; ++round) {
    std::string bytes;
    for (uint32_t left = random() % 24; left > 0; --left) {
      bytes += static_cast<char>(kBytes[random() % std::size(kBytes)]);
    }
    IncrementalDecoder decoder;
    std::string decoded;
    for (size_t offset = 0; offset < bytes.size();) {
      const size_t count = random() % 4;
      decoded += decoder.Append(std::string_view(bytes).substr(offset, count));
      offset = std::min(bytes.size(), offset + count);
    }
    decoded += decoder.Finish();
    ASSERT_EQ(decoded, WhatwgDecode(bytes));
  }
}

}  // namespace
}  // namespace weft
