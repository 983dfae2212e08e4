// The latest value passes without anybody waiting.
#include "base/triple_buffer.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(TripleBuffer, TheLatestCounts) {
  TripleBuffer<int> buffer(1);
  EXPECT_EQ(buffer.Latest(), 1);
  EXPECT_EQ(buffer.Latest(), 1);
  buffer.Publish(2);
  buffer.Publish(3);
  EXPECT_EQ(buffer.Latest(), 3);
  EXPECT_EQ(buffer.Latest(), 3);
}

// On one thread: if either side waited for the other, this would never end.
TEST(TripleBuffer, AReaderInTheMiddleHoldsNobodyUp) {
  TripleBuffer<std::vector<int>> buffer({0});
  buffer.Publish({1});
  const std::vector<int>& held = buffer.Latest();
  for (int i = 2; i < 100; ++i) buffer.Publish({i, i});
  EXPECT_EQ(held, std::vector<int>{1});
  EXPECT_EQ(buffer.Latest(), (std::vector<int>{99, 99}));
}

TEST(TripleBuffer, WhatIsReadIsWholeAndNeverOlderThanBefore) {
  constexpr int kCount = 20'000;
  TripleBuffer<std::vector<int>> buffer(std::vector<int>(8, 0));
  std::thread writer([&] {
    for (int i = 1; i <= kCount; ++i) buffer.Publish(std::vector<int>(8, i));
  });
  int last = 0;
  while (last < kCount) {
    const std::vector<int>& values = buffer.Latest();
    ASSERT_EQ(values, std::vector<int>(8, values.front()));
    ASSERT_GE(values.front(), last);
    last = values.front();
  }
  writer.join();
}

}  // namespace
}  // namespace weft
