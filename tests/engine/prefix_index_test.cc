#include "engine/prefix_index.h"

#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using Tokens = std::vector<TokenId>;

constexpr CacheSalt SaltOf(uint8_t byte) {
  CacheSalt salt{};
  salt.back() = byte;
  return salt;
}

BlockContent Content(const Tokens& tokens, ContentId parent = kNoContent, uint8_t salt = 0) {
  return {.parent = parent, .salt = SaltOf(salt), .tokens = tokens};
}

// One bucket: every hash collides.
TEST(PrefixIndex, ComparesWhatCollides) {
  PrefixIndex index(8, 3, 1);
  const Tokens tokens = {1, 2, 3};
  index.Insert(5, Content(tokens));
  for (const Tokens& others : {Tokens{1, 2, 4}, Tokens{0, 2, 3}, Tokens{3, 2, 1}}) {
    EXPECT_EQ(index.Find(Content(others)), std::nullopt);
  }
  EXPECT_EQ(index.Find(Content(tokens, index.id(5))), std::nullopt);
  EXPECT_EQ(index.Find(Content(tokens, kNoContent, 1)), std::nullopt);
  EXPECT_EQ(index.Find(Content(tokens)), 5);

  index.Insert(0, Content(tokens, index.id(5)));
  index.Insert(1, Content(tokens, kNoContent, 1));
  EXPECT_EQ(index.Find(Content(tokens)), 5);
  EXPECT_EQ(index.Find(Content(tokens, index.id(5))), 0);
  EXPECT_EQ(index.Find(Content(tokens, kNoContent, 1)), 1);
}

TEST(PrefixIndex, AContentIsNamedOnceAndNeverAgain) {
  PrefixIndex index(2, 1);
  const Tokens tokens = {9};
  index.Insert(0, Content(tokens));
  const ContentId id = index.id(0);
  EXPECT_NE(id, kNoContent);
  index.Erase(0);
  EXPECT_EQ(index.id(0), kNoContent);
  EXPECT_EQ(index.Find(Content(tokens)), std::nullopt);
  index.Insert(0, Content(tokens));
  EXPECT_NE(index.id(0), id);
}

TEST(PrefixIndex, ReturnsWhatWasPutIn) {
  PrefixIndex index(3, 2);
  const Tokens tokens = {4, 5};
  index.Insert(2, Content(tokens, 77, 3));
  const BlockContent content = index.content(2);
  EXPECT_EQ(content.parent, 77U);
  EXPECT_EQ(content.salt, SaltOf(3));
  EXPECT_EQ(Tokens(content.tokens.begin(), content.tokens.end()), tokens);
}

// Against a map, with few tokens and few buckets, so that chains are long and change everywhere.
TEST(PrefixIndex, AgreesWithAMap) {
  for (const uint32_t bucket_count : {1U, 2U, 16U, 0U}) {
    constexpr int32_t kBlocks = 12;
    PrefixIndex index(kBlocks, 2, bucket_count);
    std::map<std::tuple<Tokens, ContentId, uint8_t>, int32_t> expected;
    std::mt19937_64 random(5);
    const auto below = [&](uint64_t n) { return static_cast<int32_t>(random() % n); };
    for (int step = 0; step < 5000; ++step) {
      const Tokens tokens = {below(3), below(3)};
      const auto parent = static_cast<ContentId>(below(3));
      const auto salt = static_cast<uint8_t>(below(2));
      const int32_t block = below(kBlocks);
      const auto found = expected.find({tokens, parent, salt});
      const auto want = found == expected.end() ? std::nullopt : std::optional(found->second);
      ASSERT_EQ(index.Find(Content(tokens, parent, salt)), want);
      if (index.id(block) != kNoContent) {
        index.Erase(block);
        std::erase_if(expected, [&](const auto& entry) { return entry.second == block; });
      } else if (!want) {
        index.Insert(block, Content(tokens, parent, salt));
        expected[{tokens, parent, salt}] = block;
      }
    }
  }
}

}  // namespace
}  // namespace weft
