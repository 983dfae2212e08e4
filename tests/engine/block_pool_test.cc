#include "engine/block_pool.h"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(BlockPool, HandsOutEveryBlockOnceAndThenNone) {
  BlockPool pool(3);
  std::set<int32_t> blocks;
  for (int i = 0; i < 3; ++i) blocks.insert(pool.Allocate().value());
  EXPECT_EQ(blocks, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(pool.Allocate(), std::nullopt);
  pool.Release(1);
  EXPECT_EQ(pool.free_count(), 1);
  EXPECT_EQ(pool.Allocate(), 1);
}

TEST(BlockPool, ABlockIsFreeWithItsLastReference) {
  BlockPool pool(1);
  const int32_t block = pool.Allocate().value();
  pool.AddReference(block);
  pool.Release(block);
  EXPECT_EQ(pool.used_count(), 1);
  pool.Release(block);
  EXPECT_EQ(pool.used_count(), 0);
}

TEST(BlockPoolDeathTest, ReferencesToFreeBlocksAreABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // OpenBLAS has its threads already
  BlockPool pool(2);
  EXPECT_DEATH(pool.Release(0), "reference_count");
  EXPECT_DEATH(pool.AddReference(1), "reference_count");
  EXPECT_DEATH(pool.Release(2), "block");
}

// One token a block is enough to tell contents apart.
class BlockPoolContentTest : public testing::Test {
 protected:
  // Allocates a block with this content.
  int32_t Put(TokenId token, ContentId parent = kNoContent) {
    const int32_t block = pool_.Allocate().value();
    pool_.SetContent(block, {.parent = parent, .salt = {}, .tokens = {&token, 1}});
    return block;
  }
  std::optional<int32_t> Find(TokenId token, ContentId parent = kNoContent) const {
    return pool_.Find({.parent = parent, .salt = {}, .tokens = {&token, 1}});
  }

  BlockPool pool_{4, 1};
};

TEST_F(BlockPoolContentTest, AFreeBlockIsFoundAndUsedAgain) {
  const int32_t block = Put(7);
  pool_.Release(block);
  EXPECT_EQ(pool_.used_count(), 0);
  EXPECT_EQ(Find(7), block);
  EXPECT_EQ(Find(8), std::nullopt);
  pool_.AddReference(block);
  EXPECT_EQ(pool_.used_count(), 1);
  EXPECT_EQ(pool_.reference_count(block), 1);
  for (int i = 0; i < 3; ++i) EXPECT_NE(pool_.Allocate().value(), block);
  EXPECT_EQ(pool_.Allocate(), std::nullopt);
  EXPECT_EQ(Find(7), block);
}

TEST_F(BlockPoolContentTest, EmptyBlocksGoFirstThenTheLongestReleased) {
  const int32_t a = Put(1);
  const int32_t b = Put(2);
  const int32_t c = Put(3);
  const int32_t empty = pool_.Allocate().value();
  pool_.Release(b);
  pool_.Release(a);
  pool_.Release(empty);
  pool_.Release(c);
  pool_.AddReference(b);  // is used once more, so it goes last
  pool_.Release(b);
  for (const int32_t block : {empty, a, c, b}) {
    EXPECT_EQ(pool_.Allocate(), block);
    EXPECT_EQ(pool_.content_id(block), kNoContent);
  }
  for (const TokenId token : {1, 2, 3}) EXPECT_EQ(Find(token), std::nullopt);
}

TEST_F(BlockPoolContentTest, WhatCameAfterAnEvictedBlockIsNotFoundBehindItsSuccessor) {
  const int32_t parent = Put(1);
  const ContentId id = pool_.content_id(parent);
  const int32_t child = Put(2, id);
  pool_.Release(parent);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool_.Allocate());
  ASSERT_EQ(Put(3), parent);  // the same memory, another content
  EXPECT_NE(pool_.content_id(parent), id);
  EXPECT_EQ(Find(2, pool_.content_id(parent)), std::nullopt);
  EXPECT_EQ(Find(2), std::nullopt);
  EXPECT_EQ(Find(2, id), child);
}

TEST_F(BlockPoolContentTest, ATableReleasesItsTailFirst) {
  BlockTable table(pool_);
  for (TokenId token = 0; token < 3; ++token) {
    ASSERT_TRUE(table.Grow());
    pool_.SetContent(table.blocks().back(),
                     {.parent = kNoContent, .salt = {}, .tokens = {&token, 1}});
  }
  table.Clear();
  ASSERT_TRUE(pool_.Allocate());  // the empty one
  ASSERT_TRUE(pool_.Allocate());
  EXPECT_EQ(Find(2), std::nullopt);
  EXPECT_TRUE(Find(1));
  EXPECT_TRUE(Find(0));
}

TEST_F(BlockPoolContentTest, ATableAdoptsBlocksBehindItsOwnAndInTheirPlace) {
  const int32_t first = Put(1);
  const int32_t second = Put(2, pool_.content_id(first));
  pool_.Release(second);
  pool_.Release(first);
  BlockTable table(pool_);
  table.Adopt(0, first);
  ASSERT_TRUE(table.Grow());
  EXPECT_EQ(pool_.used_count(), 2);
  table.Adopt(1, second);
  EXPECT_EQ(pool_.used_count(), 2);
  EXPECT_EQ(pool_.reference_count(second), 1);
  EXPECT_EQ(std::vector<int32_t>(table.blocks().begin(), table.blocks().end()),
            (std::vector<int32_t>{first, second}));
}

TEST(BlockPool, KeepsNoContentsUnlessAskedTo) {
  const BlockPool pool(2);
  const TokenId token = 1;
  EXPECT_FALSE(pool.keeps_contents());
  EXPECT_EQ(pool.Find({.parent = kNoContent, .salt = {}, .tokens = {&token, 1}}), std::nullopt);
}

TEST(BlockTable, OwnsItsBlocksAndMoves) {
  BlockPool pool(4);
  {
    BlockTable table(pool);
    ASSERT_TRUE(table.Grow());
    ASSERT_TRUE(table.Grow());
    BlockTable moved = std::move(table);
    EXPECT_EQ(moved.block_count(), 2);
    EXPECT_EQ(pool.used_count(), 2);
    BlockTable other(pool);
    ASSERT_TRUE(other.Grow());
    other = std::move(moved);
    EXPECT_EQ(pool.used_count(), 2);
    EXPECT_EQ(other.block_count(), 2);
  }
  EXPECT_EQ(pool.free_count(), 4);
}

TEST(BlockTable, SharesAndUnshares) {
  BlockPool pool(3);
  BlockTable table(pool);
  ASSERT_TRUE(table.Grow());
  ASSERT_TRUE(table.Grow());
  BlockTable twin = table.Share();
  EXPECT_EQ(pool.used_count(), 2);
  EXPECT_TRUE(table.IsShared(1));
  const std::optional<BlockCopy> copy = twin.Unshare(1);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->from, table.blocks()[1]);
  EXPECT_EQ(copy->to, twin.blocks()[1]);
  EXPECT_FALSE(table.IsShared(1));
  EXPECT_TRUE(table.IsShared(0));
  EXPECT_FALSE(twin.Unshare(0));  // no block is free
  EXPECT_TRUE(table.IsShared(0));
  EXPECT_FALSE(table.Grow());
  table.Clear();
  EXPECT_EQ(pool.used_count(), 2);
}

}  // namespace
}  // namespace weft
