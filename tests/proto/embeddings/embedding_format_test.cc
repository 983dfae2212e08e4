#include "proto/embeddings/embedding_format.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;

// The definition by hand; numpy's packbits gives the same bytes.
TEST(EmbeddingFormatTest, WholeNumbers) {
  const std::vector<float> numbers = {0.5F, -0.25F, 0, 0.001F, -0.5F, 0.1F, 0, 0, 0.2F};
  EXPECT_THAT(WholeNumbers(numbers, EmbeddingFormat::kInt8),
              ElementsAre(127, -64, 0, 0, -127, 25, 0, 0, 51));
  EXPECT_THAT(WholeNumbers(numbers, EmbeddingFormat::kUint8),
              ElementsAre(255, 64, 128, 128, 1, 153, 128, 128, 179));
  EXPECT_THAT(WholeNumbers(numbers, EmbeddingFormat::kUbinary), ElementsAre(0b10010100, 0x80));
  EXPECT_THAT(WholeNumbers(numbers, EmbeddingFormat::kBinary), ElementsAre(148 - 128, 0));
  const std::vector<float> zeros(2);
  EXPECT_THAT(WholeNumbers(zeros, EmbeddingFormat::kInt8), ElementsAre(0, 0));
}

}  // namespace
}  // namespace weft
