// Where the memory goes: what fits, and how many KV blocks each group of layers gets.
#include "server/models/memory_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checked_math.h"
#include "engine/block_pool.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three sixteenths of the limit, unless that is large.
uint64_t RequestBytes(const MemoryPlan& plan) { return plan.request_bytes + plan.constraint_bytes; }

TEST(MemoryPlanTest, FitsTheLimitOrSaysWhatToChange) {
  auto checkpoint = LoadCheckpoint(SourcePath("tests/model/fixtures/parity/llama2/model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  MemoryRequest request;
  request.limit_bytes = 1ULL << 30;
  request.max_sequences = 4;
  request.stored_bytes = 8 << 20;
  const auto roomy = PlanMemory(*checkpoint, kernels, request);
  ASSERT_TRUE(roomy) << roomy.error().message;
  EXPECT_EQ(roomy->context, checkpoint->spec.context_length);
  ASSERT_EQ(roomy->groups.size(), 1U);
  EXPECT_EQ(roomy->block_count(), 4 * ((roomy->context + 31) / 32));
  EXPECT_LE(roomy->reserve_bytes + roomy->weight_bytes + roomy->workspace_bytes + roomy->kv_bytes(),
            roomy->limit_bytes);
  // An eighth is for requests, a sixteenth for constraints, and 16 MiB are the program's.
  EXPECT_EQ(roomy->reserve_bytes, (128U + 64U + 18U + 8U) << 20);
  EXPECT_EQ(roomy->constraint_bytes, 64U << 20);
  const RequestMemory for_requests = ReserveOf(request.limit_bytes, 0).request_memory();
  EXPECT_EQ(for_requests.held_bytes, 96U << 20);
  EXPECT_EQ(for_requests.render_bytes, 32U << 20);

  const auto half =
      PlanMemory(*checkpoint, KernelsFor(Arithmetic::kBF16, Isa::kScalar, KvType::kQ8), request);
  ASSERT_TRUE(half) << half.error().message;
  EXPECT_LT(half->kv_bytes(), roomy->kv_bytes() * 3 / 4);

  request.limit_bytes = 100'000;
  const auto cramped = PlanMemory(*checkpoint, kernels, request);
  ASSERT_FALSE(cramped);
  EXPECT_EQ(cramped.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(cramped.error().message, HasSubstr("raise --memory"));

  request.limit_bytes = 1ULL << 30;
  request.context = static_cast<int32_t>(checkpoint->spec.context_length) + 1;
  EXPECT_EQ(PlanMemory(*checkpoint, kernels, request).error().code, ErrorCode::kInvalidArgument);
}

// Models that share a limit.
class SeveralPlansTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"llama2", "bert", "llama2"}) {
      auto loaded = LoadCheckpoint(
          SourcePath(std::string("tests/model/fixtures/parity/") + name + "/model.gguf"));
      ASSERT_TRUE(loaded) << loaded.error().message;
      checkpoints_.push_back(std::move(*loaded));
    }
    for (size_t i : {0U, 2U}) checkpoints_[i].spec.context_length = 10'000;
    request_.max_sequences = 4;
    request_.max_batch_tokens = 64;
    request_.stored_bytes = 8 << 20;
  }

  Result<std::vector<MemoryPlan>> Plan(uint64_t limit_bytes, std::vector<int32_t> contexts = {}) {
    contexts.resize(checkpoints_.size());
    const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
    std::vector<PlannedModel> models;
    for (size_t i = 0; i < checkpoints_.size(); ++i) {
      models.push_back({.checkpoint = checkpoints_[i], .kernels = kernels, .context = contexts[i]});
    }
    request_.limit_bytes = limit_bytes;
    return PlanMemories(models, request_);
  }

  // What is taken of the limit: one reserve, and all else of each.
  static uint64_t TakenBytes(const std::vector<MemoryPlan>& plans) {
    uint64_t bytes = plans.front().reserve_bytes;
    for (const MemoryPlan& plan : plans) bytes += plan.weight_bytes + plan.variable_bytes();
    return bytes;
  }

  std::vector<Checkpoint> checkpoints_;
  MemoryRequest request_;
};

TEST_F(SeveralPlansTest, WhereThereIsRoomEachHasWhatItHasAlone) {
  const uint64_t limit_bytes = 2ULL << 30;
  const auto plans = Plan(limit_bytes);
  ASSERT_TRUE(plans) << plans.error().message;
  ASSERT_EQ(plans->size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const auto alone =
        PlanMemory(checkpoints_[i], KernelsFor(Arithmetic::kBF16, Isa::kScalar), request_);
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ((*plans)[i].block_count(), alone->block_count());
    EXPECT_EQ((*plans)[i].context, alone->context);
    EXPECT_EQ((*plans)[i].reserve_bytes, alone->reserve_bytes);
  }
  EXPECT_LE(TakenBytes(*plans), limit_bytes);
}

// As if there were one more: what is left for it is what each of them gets.
TEST_F(SeveralPlansTest, ModelsThatComeLaterHaveAShare) {
  checkpoints_.erase(checkpoints_.begin() + 1);  // the encoder, which wants little
  const uint64_t limit_bytes = 64ULL << 20;
  const auto all = Plan(limit_bytes);
  ASSERT_TRUE(all) << all.error().message;
  request_.later_shares = 1;
  const auto plans = Plan(limit_bytes);
  ASSERT_TRUE(plans) << plans.error().message;
  const uint64_t left_bytes = limit_bytes - TakenBytes(*plans);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_LT((*plans)[i].kv_bytes(), (*all)[i].kv_bytes());
    EXPECT_NEAR(static_cast<double>((*plans)[i].variable_bytes()), static_cast<double>(left_bytes),
                static_cast<double>(left_bytes) / 50);
  }
}

TEST_F(SeveralPlansTest, NothingLessThanTheLeastIsAPlan) {
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  request_.limit_bytes = 1ULL << 40;
  request_.context = 2000;
  const auto roomy = PlanMemory(checkpoints_[0], kernels, request_);
  ASSERT_TRUE(roomy) << roomy.error().message;
  const uint64_t reserve_bytes = roomy->reserve_bytes;
  request_.others_bytes = request_.limit_bytes - reserve_bytes - roomy->least_bytes;
  EXPECT_TRUE(PlanMemory(checkpoints_[0], kernels, request_));
  ++request_.others_bytes;
  EXPECT_FALSE(PlanMemory(checkpoints_[0], kernels, request_));
}

TEST_F(SeveralPlansTest, WhatIsLeftIsSharedEqually) {
  const auto roomy = Plan(2ULL << 30);
  ASSERT_TRUE(roomy) << roomy.error().message;
  // The encoder has all that it wants, each decoder half of the rest: three quarters of what it
  // would have.
  const uint64_t fixed_bytes = TakenBytes(*roomy) - RequestBytes((*roomy)[0]) -
                               (*roomy)[0].kv_bytes() - (*roomy)[2].kv_bytes();
  const uint64_t limit_bytes = (fixed_bytes + (*roomy)[0].kv_bytes() * 3 / 2) * 16 / 13;
  const auto plans = Plan(limit_bytes);
  ASSERT_TRUE(plans) << plans.error().message;
  EXPECT_EQ((*plans)[1].block_count(), (*roomy)[1].block_count());
  EXPECT_NEAR(static_cast<double>((*plans)[0].block_count()),
              static_cast<double>((*roomy)[0].block_count()) * 0.75, 8);
  EXPECT_NEAR(static_cast<double>((*plans)[0].block_count()),
              static_cast<double>((*plans)[2].block_count()), 1);
  EXPECT_LE(TakenBytes(*plans), limit_bytes);
  // Nothing is left that would make another block.
  EXPECT_GT(TakenBytes(*plans) + 2 * (*plans)[0].groups[0].block_bytes, limit_bytes);
  // What one has no use for, the other gets, whichever comes first.
  for (const std::vector<int32_t>& contexts : {std::vector{100, 0, 0}, std::vector{0, 0, 100}}) {
    const auto uneven = Plan(limit_bytes, contexts);
    ASSERT_TRUE(uneven) << uneven.error().message;
    const size_t other = contexts[0] == 0 ? 0 : 2;
    EXPECT_EQ((*uneven)[other].block_count(), (*roomy)[other].block_count());
    EXPECT_LE(TakenBytes(*uneven), limit_bytes);
  }
}

TEST_F(SeveralPlansTest, ErrorsNameTheModel) {
  const auto too_long = Plan(2ULL << 30, {0, 100'000, 0});
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, HasSubstr("bert/model.gguf: --context 100000 is more"));
  const auto cramped = Plan(40 << 20, {10'000, 0, 10'000});
  ASSERT_FALSE(cramped);
  EXPECT_EQ(cramped.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(cramped.error().message, HasSubstr("llama2/model.gguf: "));
  EXPECT_THAT(cramped.error().message, HasSubstr(" for other models"));
}

TEST(MemoryPlanTest, WindowsGetWhatIsSeen) {
  auto checkpoint = LoadCheckpoint(SourcePath("tests/model/fixtures/parity/gemma3/model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  checkpoint->spec.context_length = 100'000;
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  MemoryRequest request;
  request.limit_bytes = 1ULL << 30;
  request.max_sequences = 4;
  request.max_batch_tokens = 64;
  const auto fits = [](const MemoryPlan& plan) {
    return plan.reserve_bytes + plan.weight_bytes + plan.workspace_bytes + plan.kv_bytes() <=
           plan.limit_bytes;
  };
  const auto roomy = PlanMemory(*checkpoint, kernels, request);
  ASSERT_TRUE(roomy) << roomy.error().message;
  ASSERT_EQ(roomy->groups.size(), 2U);
  const StateGroup& all = roomy->groups[0].group;
  const StateGroup& window = roomy->groups[1].group;
  EXPECT_EQ(roomy->context, 100'000);
  EXPECT_EQ(all.block_count, 4 * 3125);
  EXPECT_EQ(window.window, 10);
  EXPECT_EQ(window.block_count, 4 * 4);  // 10 + 64 positions, which begin and end inside a block
  EXPECT_TRUE(fits(*roomy));
  EXPECT_THAT(Describe(*roomy),
              HasSubstr(" in 12500 blocks, 0.2 MiB in 16 blocks of windows of 10), workspace "));

  // What is left for blocks is less and less: fewer contexts, then shorter ones.
  const uint64_t fixed =
      roomy->reserve_bytes + roomy->weight_bytes + roomy->workspace_bytes - RequestBytes(*roomy);
  const auto with_left = [&](uint64_t kv_bytes, int32_t context) {
    MemoryRequest less = request;
    less.context = context;
    less.limit_bytes = (fixed + kv_bytes) * 16 / 13;
    return PlanMemory(*checkpoint, kernels, less);
  };
  const uint64_t all_bytes = roomy->groups[0].bytes();
  const auto fewer = with_left(all_bytes / 2, 0);
  ASSERT_TRUE(fewer) << fewer.error().message;
  EXPECT_EQ(fewer->context, 100'000);
  EXPECT_EQ(fewer->groups[1].group.block_count, 16);
  EXPECT_TRUE(fits(*fewer));
  const auto shorter = with_left(all_bytes / 8, 0);
  ASSERT_TRUE(shorter) << shorter.error().message;
  EXPECT_LT(shorter->context, 100'000);
  EXPECT_GT(shorter->context, 20'000);
  EXPECT_EQ(shorter->groups[1].group.block_count, 16);
  EXPECT_TRUE(fits(*shorter));
  // A context that is asked for comes before the windows of many, but not before one's.
  const uint64_t tight =
      (3125 + 6) * 64 + 3125 * roomy->groups[0].block_bytes + 6 * roomy->groups[1].block_bytes;
  const auto narrow = with_left(tight, 100'000);
  ASSERT_TRUE(narrow) << narrow.error().message;
  EXPECT_EQ(narrow->groups[0].group.block_count, 3125);
  EXPECT_EQ(narrow->groups[1].group.block_count, 6);
  EXPECT_TRUE(fits(*narrow));
  const auto none = with_left(tight - 4 * roomy->groups[1].block_bytes, 100'000);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("lower --context"));

  // Where all layers have windows, memory does not limit the context.
  for (LayerSpec& layer : checkpoint->spec.layers) layer.attention.window = 10;
  const auto forgetful = with_left(all_bytes / 100, 0);
  ASSERT_TRUE(forgetful) << forgetful.error().message;
  EXPECT_EQ(forgetful->context, 100'000);
  EXPECT_EQ(forgetful->block_count(), 16);
}

TEST(MemoryPlanTest, StatesGetUpToHalf) {
  auto checkpoint = LoadCheckpoint(SourcePath("tests/model/fixtures/parity/lfm2/model.gguf"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  checkpoint->spec.context_length = 100'000;
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  MemoryRequest request;
  request.limit_bytes = 2ULL << 30;
  request.max_sequences = 4;
  // Small ones take little of it, and there are many.
  const auto small = PlanMemory(*checkpoint, kernels, request);
  ASSERT_TRUE(small) << small.error().message;
  ASSERT_EQ(small->groups.size(), 2U);
  ASSERT_TRUE(small->groups[1].group.is_recurrent);
  EXPECT_EQ(small->context, 100'000);
  EXPECT_EQ(small->groups[0].group.block_count, 4 * 3125);
  EXPECT_GT(small->groups[1].group.block_count, 10'000);
  EXPECT_EQ(small->groups[1].group.state_interval, 512);

  for (LayerSpec& layer : checkpoint->spec.layers) {
    if (layer.short_conv) layer.short_conv->width = 100'000;  // 18.3 MiB in all
  }
  request.limit_bytes = 1ULL << 30;  // an eighth of it has fewer than may run
  const auto large = PlanMemory(*checkpoint, kernels, request);
  ASSERT_TRUE(large) << large.error().message;
  const StateGroup& states = large->groups[1].group;
  EXPECT_EQ(large->groups[0].group.block_count, 4 * 3125);
  EXPECT_EQ(states.block_count, 16);
  EXPECT_EQ(states.state_interval, 4 * 100'000 / 16);
  EXPECT_THAT(Describe(*large), HasSubstr(" in 16 blocks of states), workspace "));

  MemoryRequest forgetful = request;
  forgetful.prefix_cache = false;
  EXPECT_EQ(PlanMemory(*checkpoint, kernels, forgetful)->groups[1].group.block_count, 8);

  // With less memory than for all that may run, half of what is left; always enough for one.
  const auto with = [&](uint64_t limit_bytes, int32_t context) {
    MemoryRequest less = request;
    less.limit_bytes = limit_bytes;
    less.context = context;
    return PlanMemory(*checkpoint, kernels, less);
  };
  const uint64_t state_bytes = large->groups[1].block_bytes;
  const auto half = with(256 << 20, 1000);
  ASSERT_TRUE(half) << half.error().message;
  EXPECT_EQ(half->groups[0].group.block_count, 4 * 32);
  EXPECT_GE(half->groups[1].group.block_count, 5);
  EXPECT_LT(half->groups[1].group.block_count, 16);
  EXPECT_LE(half->reserve_bytes + half->weight_bytes + half->workspace_bytes + half->kv_bytes(),
            half->limit_bytes);
  uint64_t least = 16 << 20;
  while (!with(least, 1000)) least += 1 << 20;
  EXPECT_EQ(with(least, 1000)->groups[1].group.block_count, 2);
  const auto none = with(least - (2 << 20), 1000);
  ASSERT_FALSE(none);
  EXPECT_GT(least, 2 * state_bytes);
  EXPECT_THAT(none.error().message, HasSubstr("lower --context"));
}

// What decides how KV blocks are shared out.
struct Shape {
  std::string name;
  int64_t layer_count = 0;
  int64_t period = 1;  // of so many layers the last one keeps all
  int64_t window = 0;  // of the others
  int64_t chunk = 0;
  int64_t kv_head_count = 1;
  int64_t head_size = 64;
  int64_t context = 0;
};

const Shape kGemma3 = {.name = "Gemma 3 1B",
                       .layer_count = 26,
                       .period = 6,
                       .window = 512,
                       .head_size = 256,
                       .context = 32'768};
const Shape kGptOss = {.name = "gpt-oss",
                       .layer_count = 24,
                       .period = 2,
                       .window = 128,
                       .kv_head_count = 8,
                       .context = 131'072};
const Shape kLlama4 = {.name = "Llama 4",
                       .layer_count = 48,
                       .period = 4,
                       .chunk = 8192,
                       .kv_head_count = 8,
                       .head_size = 128,
                       .context = 131'072};
const Shape kLlama3 = {
    .name = "Llama 3", .layer_count = 16, .kv_head_count = 8, .context = 131'072};

// Plans models of any shape, within what is left for KV blocks.
class SharesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = LoadCheckpoint(SourcePath("tests/model/fixtures/parity/gemma3/model.gguf"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    checkpoint_ = std::move(*loaded);
  }

  MemoryPlan Plan(const Shape& shape, uint64_t kv_bytes) {
    ModelSpec& spec = checkpoint_.spec;
    spec.context_length = shape.context;
    spec.layers.resize(static_cast<size_t>(shape.layer_count), spec.layers.front());
    for (int64_t i = 0; i < shape.layer_count; ++i) {
      const bool keeps_all = (i + 1) % shape.period == 0;
      AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
      attention.window = keeps_all ? 0 : shape.window;
      attention.chunk = keeps_all ? 0 : shape.chunk;
      attention.kv_head_count = shape.kv_head_count;
      attention.key_dim = attention.value_dim = shape.head_size;
    }
    const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
    request_.limit_bytes = uint64_t{1} << 50;
    const auto roomy = PlanMemory(checkpoint_, kernels, request_);
    const uint64_t fixed_bytes = roomy->limit_bytes - LeftBytes(*roomy) - RequestBytes(*roomy);
    const uint64_t bytes = fixed_bytes + kv_bytes;
    request_.limit_bytes = std::min(bytes * 16 / 13, bytes + (uint64_t{768} << 20));
    auto plan = PlanMemory(checkpoint_, kernels, request_);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *plan : MemoryPlan{};
  }

  // For KV blocks.
  static uint64_t LeftBytes(const MemoryPlan& plan) {
    return plan.limit_bytes - plan.reserve_bytes - plan.weight_bytes - plan.workspace_bytes;
  }

  static uint64_t BytesOf(const GroupMemory& memory, int64_t block_count) {
    return (memory.block_bytes + static_cast<uint64_t>(BlockPool::BytesPerBlock())) *
           static_cast<uint64_t>(block_count);
  }

  int64_t BlocksIn(const GroupMemory& memory, int64_t length) const {
    return memory.group.MostBlocks(length, request_.max_batch_tokens, request_.block_size);
  }

  // How many sequences of this length fit.
  int64_t CountOf(const MemoryPlan& plan, int64_t length) const {
    int64_t count = request_.max_sequences;
    for (const GroupMemory& each : plan.groups) {
      count = std::min(count, each.group.block_count / BlocksIn(each, length));
    }
    return count;
  }

  std::vector<int64_t> CountsOf(const MemoryPlan& plan) const {
    return {CountOf(plan, 1000), CountOf(plan, 4000), CountOf(plan, 32'000)};
  }

  // With the shares that are best for it.
  int64_t BestCountOf(const MemoryPlan& plan, int64_t length) const {
    uint64_t bytes = 0;
    for (const GroupMemory& each : plan.groups) bytes += BytesOf(each, BlocksIn(each, length));
    return std::min<int64_t>(request_.max_sequences, static_cast<int64_t>(LeftBytes(plan) / bytes));
  }

  void Check(const MemoryPlan& plan) const {
    uint64_t bytes = 0;
    uint64_t row_bytes = 0;
    bool has_most = true;
    for (const GroupMemory& each : plan.groups) {
      const int64_t needed = BlocksIn(each, plan.context);
      EXPECT_GE(each.group.block_count, needed);
      EXPECT_LE(each.group.block_count, needed * request_.max_sequences);
      has_most = has_most && each.group.block_count == needed * request_.max_sequences;
      bytes += BytesOf(each, each.group.block_count);
      row_bytes += BytesOf(each, 1);
    }
    EXPECT_LE(bytes, LeftBytes(plan));
    // Nothing is left that would make a block more of each group.
    EXPECT_TRUE(has_most || bytes + row_bytes > LeftBytes(plan));
    for (int64_t length = 1; length <= plan.context; length = length * 3 / 2 + 1) {
      const int64_t best = BestCountOf(plan, length);
      // One less for what is no whole sequence.
      EXPECT_GE(CountOf(plan, length), best / 2 - (best > 2 ? 1 : 0)) << length << " positions";
    }
  }

  MemoryRequest request_;
  Checkpoint checkpoint_;
};

TEST_F(SharesTest, OfEveryLengthHalfAsManyFitAsAtBest) {
  for (const Shape& shape : {kGemma3, kGptOss, kLlama4, kLlama3}) {
    for (const int32_t max_sequences : {1, 3, 64}) {
      request_.max_sequences = max_sequences;
      for (uint64_t mib = 32; mib < 4'000'000; mib = mib * 7 / 5) {
        SCOPED_TRACE(testing::Message()
                     << shape.name << ", " << max_sequences << " sequences, " << mib << " MiB");
        const MemoryPlan plan = Plan(shape, mib << 20);
        if (HasFailure()) return;
        Check(plan);
      }
    }
  }
}

// Of 1,000, 4,000 and 32,000 positions. If windows came first, as many as run: 59, 15 and 1.
TEST_F(SharesTest, LongSequencesGainWhatWindowsNeedNotHold) {
  EXPECT_THAT(CountsOf(Plan(kGemma3, 1536 << 20)), ElementsAre(34, 33, 6));
  EXPECT_THAT(CountsOf(Plan(kGemma3, uint64_t{16} << 30)), ElementsAre(64, 64, 64));
  EXPECT_THAT(CountsOf(Plan(kGptOss, uint64_t{2} << 30)), ElementsAre(33, 16, 2));
  EXPECT_THAT(CountsOf(Plan(kLlama4, uint64_t{16} << 30)), ElementsAre(52, 13, 5));
}

TEST_F(SharesTest, TheContextLeavesWindowsTheirShare) {
  // Its own window at its side: 32,768; those of all sequences: 7,872.
  EXPECT_NEAR(Plan(kGemma3, 200 << 20).context, 24'672, 64);
  request_.context = 32'768;
  EXPECT_EQ(Plan(kGemma3, 200 << 20).groups[0].group.block_count, 1024);
}

TEST_F(SharesTest, WithoutWindowsThereAreAsManyBlocksAsFit) {
  const MemoryPlan plan = Plan(kLlama3, uint64_t{1} << 30);
  ASSERT_EQ(plan.groups.size(), 1U);
  const int64_t count = static_cast<int64_t>(LeftBytes(plan) / BytesOf(plan.groups[0], 1));
  EXPECT_EQ(plan.block_count(), count);
  EXPECT_EQ(plan.context, count * 32);
}

}  // namespace
}  // namespace weft
