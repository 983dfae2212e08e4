#include "grammar/schema/uri_reference.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Resolution {
  std::string base;
  std::string reference;
  std::string expected;
};

// RFC 3986, section 5.4, without the fragments, which are split off before.
TEST(UriReferenceTest, ResolvesAsTheStandardsExamples) {
  const std::string base = "http://a/b/c/d;p?q";
  for (const auto& [reference, expected] : std::vector<std::pair<std::string, std::string>>{
           {"g:h", "g:h"},
           {"g", "http://a/b/c/g"},
           {"./g", "http://a/b/c/g"},
           {"g/", "http://a/b/c/g/"},
           {"/g", "http://a/g"},
           {"//g", "http://g"},
           {"?y", "http://a/b/c/d;p?y"},
           {"g?y", "http://a/b/c/g?y"},
           {";x", "http://a/b/c/;x"},
           {"", "http://a/b/c/d;p?q"},
           {".", "http://a/b/c/"},
           {"./", "http://a/b/c/"},
           {"..", "http://a/b/"},
           {"../g", "http://a/b/g"},
           {"../..", "http://a/"},
           {"../../g", "http://a/g"},
           {"../../../g", "http://a/g"},
           {"/./g", "http://a/g"},
           {"/../g", "http://a/g"},
           {"g.", "http://a/b/c/g."},
           {"..g", "http://a/b/c/..g"},
           {"./g/.", "http://a/b/c/g/"},
           {"g/../h", "http://a/b/c/h"},
           {"g;x=1/../y", "http://a/b/c/y"},
           {"g?y/../x", "http://a/b/c/g?y/../x"},
           {"http:g", "http:g"},
       }) {
    EXPECT_EQ(ResolveUri(base, reference), expected) << reference;
  }
}

TEST(UriReferenceTest, ResolvesBesideOtherBases) {
  for (const auto& [base, reference, expected] : std::vector<Resolution>{
           {"", "node", "node"},
           {"tree", "node", "node"},
           {"http://a", "g", "http://a/g"},
           {"urn:uuid:1", "urn:uuid:2", "urn:uuid:2"},
           {"urn:uuid:1", "", "urn:uuid:1"},
       }) {
    EXPECT_EQ(ResolveUri(base, reference), expected) << base << " " << reference;
  }
}

TEST(UriReferenceTest, SplitsAtTheFirstHash) {
  EXPECT_EQ(SplitFragment("a#b#c").resource, "a");
  EXPECT_EQ(SplitFragment("a#b#c").fragment, "b#c");
  EXPECT_EQ(SplitFragment("a#").fragment, "");
  EXPECT_EQ(SplitFragment("a").fragment, std::nullopt);
}

TEST(UriReferenceTest, DecodesPercent) {
  EXPECT_EQ(PercentDecoded("a%25b%C3%a9"), "a%b\xC3\xA9");
  EXPECT_EQ(PercentDecoded("%4"), std::nullopt);
  EXPECT_EQ(PercentDecoded("%"), std::nullopt);
  EXPECT_EQ(PercentDecoded("%4g"), std::nullopt);
}

TEST(UriReferenceTest, EscapesTokensOfPointers) {
  EXPECT_EQ(PointerToken("a/b~1"), "a~1b~01");
  EXPECT_EQ(PointerTokenName("a~1b~01"), "a/b~1");
  EXPECT_EQ(PointerTokenName("a~"), std::nullopt);
  EXPECT_EQ(PointerTokenName("a~2"), std::nullopt);
}

}  // namespace
}  // namespace weft
