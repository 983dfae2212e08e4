#include "model/tokenizer/pre_tokenizer.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/tokenizer/unicode.h"

namespace weft {
namespace {

std::vector<std::string> Split(const PreTokenizer& pre_tokenizer, std::string_view text) {
  PreTokenizeScratch scratch;
  std::vector<std::string_view> pieces;
  pre_tokenizer.Split(text, true, &scratch, &pieces);
  return {pieces.begin(), pieces.end()};
}

std::vector<std::string> SplitBy(std::string_view pattern, std::string_view text,
                                 SplitBehavior behavior = SplitBehavior::kIsolated,
                                 bool invert = false) {
  PreTokenizer pre_tokenizer;
  const Result<void> added = pre_tokenizer.AddRegex(pattern, behavior, invert);
  EXPECT_TRUE(added) << added.error().message;
  return Split(pre_tokenizer, text);
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizerTest, BehavioursAreHuggingFaces) {
  const std::string_view text = "the-final--countdown";  // the documentation's example
  EXPECT_EQ(SplitBy("-", text), (Pieces{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(SplitBy("-", text, SplitBehavior::kRemoved), (Pieces{"the", "final", "countdown"}));
  EXPECT_EQ(SplitBy("-", text, SplitBehavior::kMergedWithPrevious),
            (Pieces{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(SplitBy("-", text, SplitBehavior::kMergedWithNext),
            (Pieces{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(SplitBy("-", text, SplitBehavior::kContiguous),
            (Pieces{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(SplitBy("[a-z]+", text, SplitBehavior::kRemoved, true),
            (Pieces{"the", "final", "countdown"}));
}

TEST(PreTokenizerTest, EmptyMatchesCut) {
  EXPECT_EQ(SplitBy("(?=[A-Z])", "camelCaseWord"), (Pieces{"camel", "Case", "Word"}));
  EXPECT_EQ(SplitBy("(?=(?:[0-9]{3})+(?![0-9]))", "1234567"), (Pieces{"1", "234", "567"}));
  EXPECT_EQ(SplitBy("x*", "é€"), (Pieces{"é", "€"}));
}

TEST(PreTokenizerTest, EveryPieceOfGpt2sPatternIsKept) {
  EXPECT_EQ(SplitBy(kGpt2Pattern, "I'll  say 123 x!? \u180E\t\n y"),
            (Pieces{"I", "'ll", " ", " say", " 123", " x", "!?", " \u180E", "\t\n", " y"}));
}

// DeepSeek's pattern has a stage of its own; the group keeps this spelling of it from getting it.
TEST(PreTokenizerTest, TrailingSpaceIsFoundAsByTheRegularExpression) {
  std::mt19937 random(3);
  const std::vector<std::string> parts = {" ", " ", "\n", "\n", "\t", "\u3000", "a", "é"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint32_t left = random() % 14; left > 0; --left) text += parts[random() % parts.size()];
    for (const SplitBehavior behavior : {SplitBehavior::kIsolated, SplitBehavior::kRemoved}) {
      ASSERT_EQ(SplitBy(R"(\s+$)", text, behavior), SplitBy(R"((?:\s+)$)", text, behavior))
          << testing::PrintToString(text);
    }
  }
}

// So have groups of digits; a group around the pattern spells it otherwise.
TEST(PreTokenizerTest, GroupsOfDigitsAreFoundAsByTheRegularExpression) {
  std::mt19937 random(5);
  const std::vector<std::string> parts = {"1", "2",      "3",      "4",     "5", "6",
                                          "7", "\u0663", "\u00BD", "a",     ",", " ",
                                          "_", "\u0301", "\u200D", "\u4E2D"};
  for (const std::string pattern : {R"((?=(\d{3})+(?!\d)))", R"(\d{1,3}(?=(?:\d{3})*\b))"}) {
    for (int round = 0; round < 3000; ++round) {
      std::string text;
      for (uint32_t left = random() % 20; left > 0; --left)
        text += parts[random() % (random() % 2 ? parts.size() : 8)];
      ASSERT_EQ(SplitBy(pattern, text), SplitBy("(?:" + pattern + ")", text))
          << testing::PrintToString(text);
    }
  }
}

TEST(PreTokenizerTest, MetaspacePrependsAsItsSchemeSays) {
  const auto split = [](PrependScheme scheme, bool cuts, std::string_view text) {
    PreTokenizer pre_tokenizer;
    pre_tokenizer.Add(MakeLiteralStage("|", SplitBehavior::kRemoved, false));
    pre_tokenizer.Add(MakeMetaspaceStage("▁", scheme, cuts));
    return Split(pre_tokenizer, text);
  };
  EXPECT_EQ(split(PrependScheme::kAlways, true, "a b| c|d"), (Pieces{"▁a", "▁b", "▁c", "▁d"}));
  EXPECT_EQ(split(PrependScheme::kFirst, true, "a b| c|d"), (Pieces{"▁a", "▁b", "▁c", "d"}));
  EXPECT_EQ(split(PrependScheme::kNever, true, "a b| c|d"), (Pieces{"a", "▁b", "▁c", "d"}));
  EXPECT_EQ(split(PrependScheme::kAlways, false, "a  b|"), (Pieces{"▁a▁▁b"}));
}

TEST(PreTokenizerTest, UnknownNamesAreRefusedByName) {
  const Result<NamedPreTokenizer> named = MakeNamedPreTokenizer("no-such");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(named.error().message.find("'no-such'"), std::string::npos);
}

// As llama.cpp's loader has it, which wrote the files; but for Kimi's, which is tiktoken's.
TEST(PreTokenizerTest, SomeFamiliesTakePiecesThatAreTokensAsTheyAre) {
  for (const std::string_view name : {"llama-bpe", "tekken", "glm4", "kimi-k2", "minicpm5"})
    EXPECT_TRUE(MakeNamedPreTokenizer(name)->ignore_merges) << name;
  for (const std::string_view name : {"gpt-2", "qwen2", "gpt-4o", "chatglm-bpe", "deepseek-v3"})
    EXPECT_FALSE(MakeNamedPreTokenizer(name)->ignore_merges) << name;
}

TEST(PreTokenizerTest, EveryFamilyKeepsEveryByteEvenOfAMegabyteOfOneKind) {
  for (const std::string_view name :
       {"default", "gpt-2",      "starcoder",  "falcon",       "llama-bpe",      "qwen2",
        "qwen35",  "seed-coder", "bailingmoe", "deepseek-llm", "deepseek-coder", "deepseek-v3",
        "tekken",  "gpt-4o",     "bloom",      "viking",       "minicpm5",       "exaone-moe",
        "kimi-k2", "superbpe",   "tiny_aya",   "jais-2"}) {
    const Result<NamedPreTokenizer> named = MakeNamedPreTokenizer(name);
    ASSERT_TRUE(named) << named.error().message;
    for (const std::string unit :
         {"a", "A", " ", "\n", "1", "'", "中", "\u0301", "🦙", "<|", "a "}) {
      std::string text;
      while (text.size() < (1 << 18)) text += unit;
      text += "中a";
      std::string joined;
      for (const std::string& piece : Split(named->pre_tokenizer, text)) joined += piece;
      EXPECT_EQ(joined, text) << name << " " << unit;
    }
  }
}

TEST(RegexTest, ClassesAreOniguruma) {
  EXPECT_EQ(SplitBy(R"(\w+)", "e\u0301_\u0663\u00BD-\u2460"),
            (Pieces{"e\u0301_\u0663\u00BD", "-\u2460"}));
  EXPECT_EQ(SplitBy(R"([^\s\w]+)", "a\u180E\u3000-"), (Pieces{"a", "\u180E", "\u3000", "-"}));
  EXPECT_EQ(SplitBy(R"(\S\W)", "ab \u180E!"), (Pieces{"a", "b ", "\u180E!"}));
  EXPECT_EQ(SplitBy(R"(^b|c$|a.)", "ab\nbc\na\r"), (Pieces{"ab", "\n", "b", "c", "\n", "a\r"}));
  EXPECT_EQ(SplitBy(R"([]a])", "x]a"), (Pieces{"x", "]", "a"}));
  EXPECT_EQ(SplitBy(R"([^]a]+)", "xy]a"), (Pieces{"xy", "]a"}));
  EXPECT_EQ(SplitBy(R"([[:alpha:]]+)", "é1"), (Pieces{"é", "1"}));
  EXPECT_EQ(SplitBy(R"([^(\s|[.,]b)]+)", "a(b[.c|"), (Pieces{"a", "(b", "[", ".", "c", "|"}));
  EXPECT_EQ(SplitBy(R"([a[b-d]]+)", "abcde"), (Pieces{"abcd", "e"}));
  EXPECT_EQ(SplitBy(R"([\p{Lu}\p{M}&&[^\p{Han}B]]+)", "AAB中A"), (Pieces{"AA", "B中", "A"}));
  EXPECT_EQ(SplitBy("[a-z&&aeiou]+", "abeiz"), (Pieces{"a", "b", "ei", "z"}));
  EXPECT_EQ(SplitBy("[a-z&&[aeiou]&&[^e]]+", "abeiz"), (Pieces{"a", "be", "i", "z"}));
}

// Compared with the library: tests/tools/make_pre_tokenizer_fixtures.py has these patterns too.
TEST(RegexTest, RepeatsAndBoundariesAreOniguruma) {
  EXPECT_EQ(SplitBy(R"(\p{N}{1,3}+)", "12345678a9"), (Pieces{"12345678", "a", "9"}));
  EXPECT_EQ(SplitBy(R"(\x{31}{2}\p{N}{1,3})", "11123456"), (Pieces{"11123", "456"}));
  EXPECT_EQ(SplitBy("a{,2}b", "aab{,2}b"), (Pieces{"aab", "{,2}", "b"}));
  EXPECT_EQ(SplitBy(R"(\d{1,3}(?=(?:\d{3})*\b))", "1234567 12 x123456y 1234\u0301"),
            (Pieces{"1", "234", "567", " ", "12", " x123456y 1234\u0301"}));
  EXPECT_EQ(SplitBy(R"(\bx)", "x ax \u00BDx \u2460x"), (Pieces{"x", " ax \u00BDx \u2460", "x"}));
  EXPECT_EQ(SplitBy(R"(\Bx)", "x ax"), (Pieces{"x a", "x"}));
}

TEST(RegexTest, WhatMeansSomethingElseIsRefusedByName) {
  struct Refused {
    std::string pattern;
    std::string name;
  };
  for (const Refused& refused :
       {Refused{R"([\b])", "\\b"}, Refused{R"(\h)", "\\h"}, Refused{"[^a&&b]", "&&"},
        Refused{"[&&b]", "&&"}, Refused{"[a&&[b]c]", "&&"}, Refused{"[a[^b]]", "class"},
        Refused{std::string(20, '['), "nested"}, Refused{"[a&&]", "&&"},
        Refused{"a{2,3}+", "{2,3}+"}, Refused{R"([\W])", "\\W"}, Refused{"(a", "parenthes"},
        Refused{"[[:alpha", "["}, Refused{std::string(1 << 17, 'a'), "bytes"}}) {
    const Result<Regex> regex = Regex::Compile(refused.pattern);
    ASSERT_FALSE(regex) << refused.pattern.substr(0, 20);
    EXPECT_NE(regex.error().message.find(refused.name), std::string::npos)
        << regex.error().message.substr(0, 200);
  }
}

TEST(UnicodeTest, NormalizationOrdersAndComposes) {
  EXPECT_EQ(Normalize("e\u0301", NormalizationForm::kNfc, SIZE_MAX), "\u00E9");
  EXPECT_EQ(Normalize("\u00E9", NormalizationForm::kNfd, SIZE_MAX), "e\u0301");
  EXPECT_EQ(Normalize("q\u0307\u0323", NormalizationForm::kNfc, SIZE_MAX), "q\u0323\u0307");
  EXPECT_EQ(Normalize("\uFB01\u2167", NormalizationForm::kNfkc, SIZE_MAX), "fiVIII");
  EXPECT_EQ(Normalize("\uAC01", NormalizationForm::kNfd, SIZE_MAX), "\u1100\u1161\u11A8");
  EXPECT_EQ(Normalize("\u1100\u1161\u11A8", NormalizationForm::kNfc, SIZE_MAX), "\uAC01");
  EXPECT_EQ(Normalize("\uFDFA", NormalizationForm::kNfkd, SIZE_MAX)->size(),
            33u);  // the longest of all
}

TEST(UnicodeTest, AMegabyteOfMarksIsSorted) {
  std::string text = "a";
  std::string expected = "a";
  for (int i = 0; i < 100000; ++i) text += "\u0301\u0323";
  for (int i = 0; i < 100000; ++i) expected += "\u0323";
  for (int i = 0; i < 100000; ++i) expected += "\u0301";
  EXPECT_EQ(Normalize(text, NormalizationForm::kNfd, SIZE_MAX), expected);
}

TEST(UnicodeTest, LowercaseIsFullAndOfSingleCharacters) {
  EXPECT_EQ(Lowercase("AÉ\u0130\u1E9EΣΣ"), "aéi\u0307\u00DFσσ");
}

}  // namespace
}  // namespace weft
