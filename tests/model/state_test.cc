#include "model/state.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::ElementsAre;

// Layers with these windows and chunks.
ModelSpec SpecOf(const std::vector<std::pair<int64_t, int64_t>>& layers) {
  ModelSpec spec;
  for (const auto& [window, chunk] : layers) {
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention.head_count = layer.attention.kv_head_count = 1;
    layer.attention.window = window;
    layer.attention.chunk = chunk;
  }
  return spec;
}

TEST(StateGroups, LayersThatSeeTheSameAreOne) {
  const auto groups =
      StateGroupsOf(SpecOf({{512, 0}, {512, 0}, {0, 0}, {0, 64}, {512, 0}, {0, 0}}), 4096);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_FALSE(groups[0].forgets());  // comes first
  EXPECT_THAT(groups[0].layers, ElementsAre(2, 5));
  EXPECT_EQ(groups[1].window, 512);
  EXPECT_THAT(groups[1].layers, ElementsAre(0, 1, 4));
  EXPECT_EQ(groups[2].chunk, 64);
  EXPECT_THAT(groups[2].layers, ElementsAre(3));
}

TEST(StateGroups, AWindowThatNobodyLeavesIsNone) {
  const ModelSpec spec = SpecOf({{512, 0}, {0, 0}, {0, 512}});
  ASSERT_EQ(StateGroupsOf(spec, 512).size(), 1U);
  EXPECT_THAT(StateGroupsOf(spec, 512)[0].layers, ElementsAre(0, 1, 2));
  EXPECT_EQ(StateGroupsOf(spec, 513).size(), 3U);
}

TEST(StateGroups, WhoReadsAnEarlierLayerIsInItsGroup) {
  ModelSpec spec = SpecOf({{64, 0}, {0, 0}, {64, 0}, {0, 0}});
  spec.layers[2].attention.kv_layer = 0;
  spec.layers[3].attention.kv_layer = 0;  // sees more than is kept for the first alone
  const auto groups = StateGroupsOf(spec, 4096);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].layers, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(groups[0].forgets());
  spec.layers[3].attention.kv_layer = 1;
  EXPECT_THAT(StateGroupsOf(spec, 4096)[1].layers, ElementsAre(0, 2));
}

TEST(StateGroups, LayersWithAStateSeeThePositionBefore) {
  ModelSpec spec = SpecOf({{0, 0}, {0, 0}, {2, 0}, {0, 0}});
  spec.hidden_size = 8;
  spec.layers[0].short_conv = spec.layers[3].short_conv = ShortConvSpec{.width = 4};
  spec.layers[0].attention = {};  // in the last one beside it
  EXPECT_EQ(RecurrentFloats(spec, spec.layers[0]), 3 * 8);
  EXPECT_EQ(RecurrentFloats(spec, spec.layers[1]), 0);
  const auto groups = StateGroupsOf(spec, 4096);
  ASSERT_EQ(groups.size(), 3U);  // a window of two is something else
  EXPECT_THAT(groups[0].layers, ElementsAre(1, 3));
  EXPECT_FALSE(groups[1].is_recurrent);
  EXPECT_TRUE(groups[2].is_recurrent && groups[2].forgets());
  EXPECT_THAT(groups[2].layers, ElementsAre(0, 3));
  EXPECT_EQ(groups[2].FirstVisible(64), 63);
  EXPECT_EQ(groups[2].FirstVisible(0), 0);
  EXPECT_EQ(groups[2].MostBlocks(4096, 512, 32), 2);
  EXPECT_EQ(groups[2].MostBlocks(32, 512, 32), 1);
}

TEST(StateGroups, AModelWithoutAttentionHasItsStatesAlone) {
  ModelSpec spec = SpecOf({{0, 0}, {0, 0}, {0, 0}});
  for (LayerSpec& layer : spec.layers) layer.attention = {};
  // The last layer is an MLP.
  spec.layers[0].state_space = spec.layers[1].state_space = StateSpaceSpec{
      .head_count = 4, .head_dim = 6, .group_count = 2, .state_dim = 8, .conv_width = 3};
  EXPECT_EQ(RecurrentFloats(spec, spec.layers[0]), 2 * (4 * 6 + 2 * 2 * 8) + 4 * 8 * 6);
  const auto groups = StateGroupsOf(spec, 4096);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(groups[0].is_recurrent);
  EXPECT_THAT(groups[0].layers, ElementsAre(0, 1));
}

// Against all windows of positions.
TEST(StateGroups, MostBlocksIsEnoughWhereverAStepBegins) {
  for (const int64_t window : {1, 5, 16, 33}) {
    for (const bool is_chunk : {false, true}) {
      const StateGroup group = {.window = is_chunk ? 0 : window, .chunk = is_chunk ? window : 0};
      for (const int64_t rows : {1, 7, 16}) {
        for (int64_t first = 0; first < 100; ++first) {
          const int64_t end = first + rows;
          const int64_t held = CeilDivide(end, 8) - group.FirstVisible(first) / 8;
          EXPECT_LE(held, group.MostBlocks(end, rows, 8));
          EXPECT_LE(group.MostBlocks(end, rows, 8), (window + rows + 7) / 8 + 1);
        }
      }
    }
  }
  EXPECT_EQ(StateGroup{}.MostBlocks(100, 7, 8), 13);
}

}  // namespace
}  // namespace weft
