#include "base/aligned_buffer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(AlignedBuffer, IsAlignedZeroedAndWritableAtEverySize) {
  for (const size_t size_bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{4097},
                                  (size_t{1} << 20) - 1, size_t{1} << 20, (size_t{3} << 20) + 5}) {
    AlignedBuffer buffer(size_bytes);
    ASSERT_EQ(buffer.size_bytes(), size_bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0u);
    EXPECT_TRUE(std::all_of(buffer.bytes().begin(), buffer.bytes().end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    buffer.bytes().front() = std::byte{1};
    buffer.bytes().back() = std::byte{2};
  }
}

TEST(AlignedBuffer, EmptyHasNoMemory) {
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
  EXPECT_EQ(AlignedBuffer(0).size_bytes(), 0u);
}

TEST(AlignedBuffer, PartsKeepTheMemoryOfTheWhole) {
  for (const size_t size_bytes : {size_t{256}, size_t{1} << 20}) {
    AlignedBuffer part;
    {
      AlignedBuffer whole(size_bytes);
      part = whole.Part(64, size_bytes - 128);
      EXPECT_EQ(part.data(), whole.data() + 64);
    }
    EXPECT_EQ(part.size_bytes(), size_bytes - 128);
    part.bytes().front() = std::byte{1};
    part.bytes().back() = std::byte{2};
    EXPECT_EQ(part.Part(0, 1).bytes().front(), std::byte{1});
    EXPECT_EQ(part.Part(part.size_bytes() / 64 * 64, 0).size_bytes(), 0u);
  }
  EXPECT_EQ(AlignedBuffer().Part(0, 0).size_bytes(), 0u);
}

TEST(AlignedBufferDeathTest, PartsLieWithinTheWhole) {
  AlignedBuffer whole(256);
  EXPECT_DEATH(whole.Part(0, 257), "size_bytes_");
  EXPECT_DEATH(whole.Part(320, 0), "size_bytes_");
  EXPECT_DEATH(whole.Part(32, 1), "kAlignment");
}

TEST(AlignedBuffer, MovesItsMemory) {
  AlignedBuffer first(100);
  std::byte* const memory = first.data();
  const AlignedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(second.size_bytes(), 100u);
}

}  // namespace
}  // namespace weft
