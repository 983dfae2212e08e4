#include "grammar/regex/pattern.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/grammar/regex/regex_match.h"

namespace weft {
namespace {

using testing::HasSubstr;
using enum PatternDialect;

struct Case {
  PatternDialect dialect;
  const char* pattern;
  std::vector<std::string> matching;
  std::vector<std::string> others;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& it : cases) {
    RegexArena arena;
    const Result<RegexId> id = ParsePattern(&arena, it.pattern, it.dialect);
    ASSERT_TRUE(id.has_value()) << id.error().message;
    for (const std::string& text : it.matching) {
      EXPECT_TRUE(RegexMatches(&arena, *id, text)) << it.pattern << " and '" << text << "'";
    }
    for (const std::string& text : it.others) {
      EXPECT_FALSE(RegexMatches(&arena, *id, text)) << it.pattern << " and '" << text << "'";
    }
    EXPECT_TRUE(arena.status().has_value());
  }
}

TEST(ParsePattern, EcmaIsFoundAnywhereAndTheOthersAreWholeTexts) {
  Check({
      {kEcma, "b", {"b", "abc", "\nb\n"}, {"", "ac"}},
      {kEcma, "^b", {"b", "bc"}, {"", "ab"}},
      {kEcma, "b$", {"b", "ab"}, {"ba", "b\n"}},
      {kEcma, "^b$", {"b"}, {"ab", "bc", ""}},
      {kEcma, "^a|b$", {"a", "ax", "xb"}, {"xa", "bx"}},
      {kEcma, "^(?:a|b)+$", {"a", "abba"}, {"", "abc"}},
      {kEcma, "", {"", "x"}, {}},
      {kRe2, "b", {"b"}, {"ab", "bc", ""}},
      {kRe2, "a|bc", {"a", "bc"}, {"abc", "ac"}},
      {kRe2, "^a$", {"a"}, {"ba"}},
      {kRust, "a+?", {"a", "aaa"}, {"", "ab"}},
  });
}

TEST(ParsePattern, Quantifiers) {
  Check({
      {kRe2, "a{2}", {"aa"}, {"a", "aaa"}},
      {kRe2, "a{2,}", {"aa", "aaaaa"}, {"a"}},
      {kRe2, "a{1,2}b??c*?", {"a", "aab", "abccc"}, {"", "aaab"}},
      {kRe2, "a{,b}", {"a{,b}"}, {"a"}},
      {kEcma, "^a{x}$", {"a{x}"}, {"a"}},
      {kEcma, "^{$", {"{"}, {""}},
      {kEcma, "^a]}$", {"a]}"}, {"a"}},
      {kRe2, "(ab){1000000}", {}, {"ab", "abab"}},
  });
}

TEST(ParsePattern, Classes) {
  Check({
      {kEcma, "^[a-c_\\-x]$", {"a", "b", "_", "-", "x"}, {"d", ""}},
      {kEcma, "^[^a-c]$", {"d", "\n", "\xC3\xA4"}, {"a", ""}},
      {kEcma, "^[\\w-.]$", {"w", "-", "."}, {"+"}},
      {kEcma, "^[a-\\d]$", {"a", "-", "5"}, {"b"}},
      {kEcma, "^[a-]$", {"a", "-"}, {"b"}},
      {kEcma, "^[]$", {}, {"", "a"}},
      {kEcma, "^[^]$", {"a", "\n"}, {""}},
      {kEcma, "^[[:alpha:]]$", {"[]", "a]", ":]"}, {"a", "z]"}},
      {kEcma, "^[\\b]$", {"\b"}, {"b"}},
      {kRe2, "[]a]", {"]", "a"}, {"b"}},
      {kRe2, "[^]a]", {"b"}, {"]", "a"}},
      {kRe2, "[[:alpha:]_]", {"a", "Z", "_"}, {"1", ":"}},
      {kRe2, "[[:^digit:]]", {"a"}, {"1"}},
      {kRe2, "[\\d.]+", {"1.5"}, {"1,5"}},
      {kRe2, ".", {"a", "\r"}, {"\n", ""}},
      {kRe2, "(?s).", {"a", "\n"}, {""}},
      {kEcma, "^.$", {"a", "\xF0\x9F\x98\x80"}, {"\n", "\r", "\xE2\x80\xA8"}},
  });
}

TEST(ParsePattern, EscapesOfEachDialect) {
  Check({
      {kEcma, "^\\d$", {"5"}, {"\xD9\xA3"}},
      {kEcma, "^\\s$", {" ", "\v", "\xEF\xBB\xBF", "\xC2\xA0"}, {"\xC2\x85", "a"}},
      {kEcma, "^\\S$", {"a", "\xC2\x85"}, {" ", "\xEF\xBB\xBF"}},
      {kEcma, "^\\w$", {"a", "_", "0"}, {"\xC3\xA9", "-"}},
      {kEcma, "^\\W$", {"\xC3\xA9", "-"}, {"a"}},
      {kEcma, "^\\cA\\0\\x41\\u0042\\u{43}$", {std::string("\x01\0ABC", 5)}, {"ABC"}},
      {kEcma, "^\\uD83D\\uDE00$", {"\xF0\x9F\x98\x80"}, {""}},
      {kEcma,
       "^[a-b\\uD800\\uDBFF-\\uDC00\\uDFFF\\uD83D\\uDE00]$",
       {"a", "\xF0\x9F\x98\x80"},
       {"c", "\xF0\x9F\x98\x81"}},
      {kEcma, "^a|\\uD800$", {"a"}, {"", "b"}},
      {kEcma, "^\\-\\_\\@\\/\\.$", {"-_@/."}, {"-_@/x"}},
      {kEcma, "^\\p{Letter}\\p{Lu}\\P{L}$", {"\xC3\xA9X1"}, {"1X1", "ax1"}},
      {kEcma, "^\\p{Script=Greek}\\p{White_Space}$", {"\xCE\xB1 "}, {"a "}},
      {kEcma,
       "^\\p{Emoji}\\p{ASCII}\\p{Any}$",
       {"\xF0\x9F\x98\x80"
        "aa"},
       {"xaa"}},
      {kRe2, "\\d\\s", {"5 "}, {"5\v", "\xD9\xA3 "}},
      {kRe2, "\\pL\\PL\\p{^L}\\p{Greek}", {"a12\xCE\xB1"}, {"aa2\xCE\xB1"}},
      {kRe2,
       "\\x{1F600}\\x41\\a\\z",
       {"\xF0\x9F\x98\x80"
        "A\a"},
       {"A"}},
      {kRe2, "\\A\\012\\z", {"\n"}, {"012"}},
      {kRust, "\\d\\w\\s", {"\xD9\xA3\xC3\xA9\xC2\x85"}, {"a  "}},
  });
}

TEST(ParsePattern, CaseAndGroups) {
  Check({
      {kRe2,
       "(?i)straSSe",
       {"STRASSE", "strasse"},
       {"stra\xC3\x9F"
        "e"}},
      {kRe2, "(?i)[a-c]\\x41", {"Ba", "ba"}, {"da"}},
      {kRe2, "(?i)k", {"K", "\xE2\x84\xAA"}, {"l"}},
      {kRe2, "(?i)[^a]", {"b"}, {"a", "A"}},
      {kRe2, "a(?i:b)c", {"abc", "aBc"}, {"Abc", "abC"}},
      {kRe2, "a(?i)b|c", {"aB", "C"}, {"Ab"}},
      {kRe2, "((?i)a)b", {"Ab"}, {"aB"}},
      {kRe2, "(?i-s:a)(?P<name>b)(?<other>c)", {"Abc"}, {"ABC"}},
      {kRe2, "(?m)^a$\\n^b$", {"a\nb"}, {"ab"}},
      {kEcma, "(?m)^b$", {"a\nb\nc", "b"}, {"ab"}},
      {kRe2, "()a(|b)", {"a", "ab"}, {"b"}},
  });
}

TEST(ParsePattern, AssertionsAnywhere) {
  Check({
      {kEcma, "^(?!foo)", {"", "fo", "xfoo"}, {"foo", "foobar"}},
      {kEcma, "^((?!foo).)*$", {"", "fo", "of"}, {"foo", "afoob"}},
      {kEcma, "^(?=.*[A-Z])(?=.*\\d).{4,}$", {"aB1x", "1Bxx"}, {"ab1x", "aBxx", "B1"}},
      {kEcma,
       "^(?:(?!-)[a-z-]{1,3}(?<!-)\\.)+[a-z]+$",
       {"a.b", "a-b.c.d"},
       {"-a.b", "a-.b", "abcd.e"}},
      {kEcma, "\\bcat\\b", {"cat", "a cat.", "cat-x"}, {"cats", "a_cat"}},
      {kEcma, "\\Bat", {"cat"}, {"at", "c at"}},
      {kEcma, "(^a|b$)c?", {"ax", "xb"}, {"xa"}},
      {kEcma, "a(?=b|$)", {"ab", "xa"}, {"ac"}},
      {kEcma, "(?<=a)b", {"ab", "xabx"}, {"b", "cb"}},
      {kEcma, "(?<!^a)b", {"b", "xab"}, {"ab"}},
      {kEcma, "^(?!.*\\bno\\b).*$", {"nope", "a not"}, {"no", "a no b"}},
      {kEcma, "x^", {}, {"x", ""}},
      {kEcma, "$^", {""}, {"a"}},
      {kRe2, "(?:\\b[a-z]+\\b ?)+", {"ab cd", "a"}, {"", " a"}},
  });
}

TEST(ParsePattern, RefusesByPlaceAndName) {
  const struct {
    PatternDialect dialect;
    const char* pattern;
    ErrorCode code;
    const char* message;
  } kCases[] = {
      {kEcma, "(a)\\1", ErrorCode::kUnsupported, "at byte 3: back references"},
      {kEcma, "(?<n>a)\\k<n>", ErrorCode::kUnsupported, "at byte 7: back references"},
      {kRe2, "(?P=n)", ErrorCode::kUnsupported, "at byte 0: back references"},
      {kEcma, "ab(c", ErrorCode::kInvalidArgument, "at byte 2: a group is not closed"},
      {kEcma, "ab)", ErrorCode::kInvalidArgument, "at byte 2: a ) that no ( belongs to"},
      {kEcma, "a[b", ErrorCode::kInvalidArgument, "a class is not closed"},
      {kEcma, "a[b-", ErrorCode::kInvalidArgument, "a class is not closed"},
      {kEcma, "[b-a]", ErrorCode::kInvalidArgument, "at byte 1: a range in a class goes downwards"},
      {kEcma, "a|*", ErrorCode::kInvalidArgument, "at byte 2: there is nothing before *"},
      {kEcma, "a**", ErrorCode::kUnsupported, "a quantifier of a quantifier"},
      {kRe2, "a++", ErrorCode::kUnsupported, "a quantifier of a quantifier"},
      {kEcma, "(?i){2}", ErrorCode::kInvalidArgument, "nothing before a quantifier"},
      {kEcma, "a{3,2}", ErrorCode::kInvalidArgument, "at byte 1: a count whose most"},
      {kEcma, "a{,2}", ErrorCode::kUnsupported, "at byte 1: a count without a least number"},
      {kEcma, "a{9999999999}", ErrorCode::kInvalidArgument, "a count of more than 1000000000"},
      {kEcma, "\\", ErrorCode::kInvalidArgument, "nothing follows the backslash"},
      {kEcma, "\\q", ErrorCode::kUnsupported, "at byte 0: the escape \\q is not known"},
      {kEcma, "\\x4", ErrorCode::kInvalidArgument, "2 hexadecimal digits"},
      {kRe2, "\\x{110000}", ErrorCode::kInvalidArgument, "no such code point"},
      {kEcma, "\\p{Nonsense}", ErrorCode::kUnsupported, "the property 'Nonsense' is not known"},
      {kEcma, "\\pL", ErrorCode::kInvalidArgument, "\\p without {name}"},
      {kRe2, "[[:nope:]]", ErrorCode::kInvalidArgument, "at byte 1: [: without the name"},
      {kRust, "[a&&b]", ErrorCode::kUnsupported, "at byte 2: '&&' in a class"},
      {kRust, "a{", ErrorCode::kInvalidArgument, "a { that is no quantifier"},
      {kEcma, "(?>a)", ErrorCode::kUnsupported, "begins with (?>"},
      {kEcma, "(?x)a", ErrorCode::kUnsupported, "the flags i, m, s, u and U"},
      {kEcma, "(?<=a\\b)b", ErrorCode::kUnsupported, "a lookbehind has"},
      {kEcma, "a\xFF", ErrorCode::kInvalidArgument, "at byte 1: not valid UTF-8"},
  };
  for (const auto& [dialect, pattern, code, message] : kCases) {
    RegexArena arena;
    const Result<RegexId> id = ParsePattern(&arena, pattern, dialect);
    ASSERT_FALSE(id.has_value()) << pattern;
    EXPECT_EQ(id.error().code, code) << id.error().message;
    EXPECT_THAT(id.error().message, HasSubstr(message));
    EXPECT_THAT(id.error().message, HasSubstr("pattern '"));
  }
}

TEST(ParsePattern, SizeAndDepthAreBounded) {
  RegexArena arena;
  EXPECT_THAT(ParsePattern(&arena, std::string(200'000, 'a'), kEcma).error().message,
              HasSubstr("the limit is 100000"));
  const std::string deep = std::string(50'000, '(') + std::string(50'000, ')');
  EXPECT_THAT(ParsePattern(&arena, deep, kEcma).error().message, HasSubstr("more than 100 deep"));
  const Result<RegexId> nested =
      ParsePattern(&arena, std::string(90, '(') + "a" + std::string(90, ')'), kRe2);
  EXPECT_TRUE(RegexMatches(&arena, nested.value(), "a"));
}

}  // namespace
}  // namespace weft
