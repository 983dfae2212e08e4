// Buckets of relative positions against transformers', and the table that kernels read.
#include "model/relative_position.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/kernels/kernels.h"
#include "tests/data_paths.h"
#include "tests/read_file.h"

namespace weft {
namespace {

// Of tests/tools/make_relative_bucket_fixture.py.
TEST(RelativePositionTest, BucketsAreThoseOfTransformers) {
  const auto fixture =
      nlohmann::json::parse(ReadFile(SourcePath("tests/model/fixtures/relative_buckets.json")));
  const auto reach = fixture.at("reach").get<int64_t>();
  for (const auto& of : fixture.at("cases")) {
    const RelativeBuckets buckets = {.count = of.at("count"),
                                     .max_distance = of.at("max_distance"),
                                     .is_causal = of.at("is_causal")};
    const auto runs = of.at("runs").get<std::vector<std::pair<int64_t, int64_t>>>();
    auto run = runs.begin();
    for (int64_t distance = -reach; distance <= reach; ++distance) {
      if (run + 1 != runs.end() && distance == run[1].first) ++run;
      EXPECT_EQ(RelativeBucket(buckets, distance), run->second)
          << distance << " of " << buckets.count << " to " << buckets.max_distance
          << (buckets.is_causal ? ", causal" : "");
    }
  }
}

TEST(RelativePositionTest, EachHeadHasItsBucketsByDistance) {
  constexpr int64_t kHeads = 3;
  for (const bool is_causal : {false, true}) {
    const RelativeBuckets buckets = {.count = 8, .max_distance = 20, .is_causal = is_causal};
    std::vector<float> learned;  // (buckets, heads)
    for (int64_t i = 0; i < buckets.count * kHeads; ++i) learned.push_back(static_cast<float>(i));
    const std::vector<float> bias = DistanceBias(buckets, kHeads, learned);
    ASSERT_EQ(std::ssize(bias), kHeads * DistanceBiasFloats(20));
    for (int64_t head = 0; head < kHeads; ++head) {
      const float* row = bias.data() + head * DistanceBiasFloats(20);
      for (int64_t first = -100; first <= 100; ++first) {
        // What kernels read at once: that of sixteen neighbours.
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t bucket = RelativeBucket(buckets, first + i);
          EXPECT_EQ(row[DistanceBiasAt(20, first) + i], static_cast<float>(bucket * kHeads + head))
              << first << " + " << i << ", head " << head;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
