#include "engine/block_pool.h"

#include <set>
#include <utility>

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
