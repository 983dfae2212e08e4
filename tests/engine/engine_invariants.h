// What holds after every step of an engine, whatever it is asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/fake_model_runner.h"

namespace weft {

inline std::vector<const Sequence*> Waiting(const EngineCore& core) {
  std::vector<const Sequence*> all;
  for (const auto& [place, job] : core.scheduler().line().jobs())
    all.insert(all.end(), job->waiting.begin(), job->waiting.end());
  return all;
}

// Of states a sequence holds the one behind its last position, nothing before that, and what it has
// been given for steps that had no room for it yet.
inline void CheckStates(const BlockTable& table, int32_t first, int32_t computed_count) {
  int32_t held_count = 0;
  for (int32_t index = 0; index < table.block_count(); ++index) {
    const bool is_held = table.blocks()[static_cast<size_t>(index)] != kNoBlock;
    held_count += is_held ? 1 : 0;
    ASSERT_TRUE(index >= first || !is_held) << "state " << index;
  }
  ASSERT_EQ(table.held_count(), held_count);
  ASSERT_LE(held_count, 2);
  if (computed_count == 0) return;
  ASSERT_GT(table.block_count(), first);
  ASSERT_NE(table.blocks()[static_cast<size_t>(first)], kNoBlock);
}

// A running sequence holds in every group what its next position sees, nothing before that, and no
// more than a step beyond.
inline void CheckHeld(const EngineCore& core, const Sequence& sequence, int32_t max_batch_tokens) {
  const BlockPools& pools = core.pools();
  const int32_t block_size = pools.block_size();
  if (pools.has_source_group()) {
    ASSERT_EQ(sequence.blocks.of(pools.source_group()).held_count(),
              (sequence.source_count() + block_size - 1) / block_size);
  }
  for (size_t group = 0; group < pools.own_count(); ++group) {
    const BlockTable& table = sequence.blocks.of(group);
    const int32_t first = pools.FirstVisibleBlock(group, sequence.computed_count);
    if (pools.state_group() == group) {
      ASSERT_NO_FATAL_FAILURE(CheckStates(table, first, sequence.computed_count));
      continue;
    }
    for (int32_t index = 0; index < table.block_count(); ++index) {
      const bool is_held = table.blocks()[static_cast<size_t>(index)] != kNoBlock;
      ASSERT_EQ(is_held, index >= first) << "group " << group << ", block " << index;
    }
    ASSERT_EQ(table.held_count(), table.block_count() - first);
    ASSERT_GE(table.block_count() * block_size, sequence.computed_count);
    const int64_t most = pools.group(group).MostBlocks(sequence.token_count() + block_size,
                                                       max_batch_tokens, block_size);
    ASSERT_LE(table.held_count(), most) << "group " << group;
  }
}

// In every group: a block's references are the tables that hold it, and the pool's sums agree.
inline void CheckBlocks(const EngineCore& core, int32_t max_batch_tokens) {
  for (const Sequence* sequence : core.scheduler().running()) {
    ASSERT_NO_FATAL_FAILURE(CheckHeld(core, *sequence, max_batch_tokens));
  }
  for (size_t group = 0; group < core.pools().size(); ++group) {
    std::map<int32_t, int32_t> holders;
    for (const Sequence* sequence : core.scheduler().running()) {
      for (const int32_t block : sequence->blocks.of(group).blocks()) ++holders[block];
    }
    for (const Sequence* sequence : Waiting(core)) {
      ASSERT_TRUE(sequence->blocks.of(group).blocks().empty());
    }
    const BlockPool& pool = core.pools()[group];
    int32_t used = 0;
    for (int32_t block = 0; block < pool.total_count(); ++block) {
      const auto found = holders.find(block);
      const int32_t expected = found == holders.end() ? 0 : found->second;
      ASSERT_EQ(pool.reference_count(block), expected) << "group " << group << ", block " << block;
      used += expected > 0 ? 1 : 0;
    }
    ASSERT_EQ(pool.used_count(), used);
    ASSERT_EQ(pool.free_count() + pool.used_count(), pool.total_count());
  }
}

// Slots are counted, a job's and all, and the beams of a search run together or not at all.
inline void CheckSlots(const EngineCore& core, int32_t max_sequences) {
  std::map<RequestId, int32_t> slots;
  int32_t sum = 0;
  for (const Sequence* sequence : core.scheduler().running()) {
    slots[sequence->job_id] += sequence->slot_count;
    sum += sequence->slot_count;
    ASSERT_GE(sequence->slot_count, 1);
    ASSERT_LE(sequence->slot_count, 1 + sequence->awaiting_count);
    if (!sequence->has_siblings()) continue;
    for (const Sequence* beam : *sequence->beams) ASSERT_EQ(beam->state, SequenceState::kRunning);
  }
  ASSERT_LE(sum, max_sequences);
  for (const auto& [job_id, count] : slots)
    ASSERT_EQ(core.scheduler().line().slot_count(job_id), count);
}

// A sequence keeps a row of logits if it waits for what may come behind it, and no other does.
inline void CheckParked(const EngineCore& core) {
  for (const Sequence* sequence : core.scheduler().running())
    ASSERT_EQ(sequence->is_parked(), !sequence->kept_logits.empty());
  for (const Sequence* sequence : Waiting(core)) ASSERT_TRUE(sequence->kept_logits.empty());
}

// While a job in the foreground without slots waits for some, no other holds more than half of
// them, except a single search that is wider.
class ShareCheck {
 public:
  // Before a step.
  explicit ShareCheck(const EngineCore& core) : core_(core), waited_(Waiting(core)) {}

  // After it. How often a job held half or more while others waited.
  int32_t Run(int32_t max_sequences) const {
    const int32_t half = std::max(max_sequences / 2, 1);
    std::map<RequestId, int32_t> slots;
    std::map<RequestId, std::set<const Sequence*>> units;
    int32_t free = max_sequences;
    for (const Sequence* sequence : core_.scheduler().running()) {
      const bool is_beam = sequence->has_siblings();
      slots[sequence->job_id] += sequence->slot_count;
      units[sequence->job_id].insert(is_beam ? sequence->beams->front() : sequence);
      free -= sequence->slot_count;
    }
    int32_t shared_count = 0;
    for (const auto& [place, job] : core_.scheduler().line().jobs()) {
      const Sequence* waiting = *job->waiting.begin();
      if (waiting->is_background()) continue;  // it has what others leave
      if (job->slot_count > 0 || std::ranges::count(waited_, waiting) == 0) continue;
      for (const auto& [job_id, count] : slots) {
        const bool is_search =
            units[job_id].size() == 1 && (*units[job_id].begin())->beams != nullptr;
        shared_count += count >= half ? 1 : 0;
        EXPECT_TRUE(count <= half || is_search || waiting->least_slots() <= free)
            << "job " << job_id << " holds " << count << " of " << max_sequences << ", " << free
            << " are free, and another waits for " << waiting->least_slots();
      }
    }
    return shared_count;
  }

 private:
  const EngineCore& core_;
  const std::vector<const Sequence*> waited_;
};

// Every job makes progress within a bounded number of steps.
class StarvationWatch {
 public:
  StarvationWatch(const EngineOptions& options, size_t request_count)
      : bound_(options.max_sequences * options.max_context * static_cast<int32_t>(request_count)) {}

  void Observe(const EngineCore& core) {
    std::map<RequestId, Work> now;
    for (const Sequence* sequence : core.scheduler().running()) Count(*sequence, now);
    for (const Sequence* sequence : Waiting(core)) Count(*sequence, now);
    for (auto& [job_id, work] : now) {
      const auto before = work_.find(job_id);
      if (before == work_.end() || before->second.tokens != work.tokens ||
          before->second.computed < work.computed) {
        continue;
      }
      work.idle_steps = before->second.idle_steps + 1;
      longest_ = std::max(longest_, work.idle_steps);
      ASSERT_LE(work.idle_steps, bound_) << "job " << job_id << " starves";
    }
    work_ = std::move(now);
  }
  int32_t longest() const { return longest_; }

 private:
  struct Work {
    int64_t tokens = 0;
    int64_t computed = 0;
    int32_t idle_steps = 0;
  };
  static void Count(const Sequence& sequence, std::map<RequestId, Work>& work) {
    work[sequence.job_id].tokens += sequence.token_count();
    work[sequence.job_id].computed += sequence.computed_count;
  }

  const int32_t bound_;
  int32_t longest_ = 0;
  std::map<RequestId, Work> work_;
};

// What a block with some content holds is always the same, and found by it; running sequences hold
// their tokens, under their salt.
class ContentCheck {
 public:
  ContentCheck(const EngineCore& core, const FakeModelRunner& runner)
      : core_(core), pools_(core.pools()), runner_(runner) {}

  // After every step: how many blocks have content.
  int32_t Run() {
    int32_t count = 0;
    for (size_t group = 0; group < pools_.size(); ++group) {
      for (int32_t block = 0; block < pools_[group].total_count(); ++block) {
        const BlockDigest* content = pools_[group].content(block);
        if (content == nullptr) continue;
        ++count;
        EXPECT_EQ(pools_[group].Find(*content), block);
        // The last block of a source may not be full.
        const bool is_source = pools_.group(group).is_source;
        const uint64_t end =
            is_source ? runner_.BeginningOf(group, block) : runner_.EndOf(group, block).value_or(0);
        EXPECT_EQ(end_of_.emplace(*content, end).first->second, end) << "block " << block;
      }
    }
    for (const Sequence* sequence : core_.scheduler().running()) CheckSequence(*sequence);
    return count;
  }

 private:
  void CheckSequence(const Sequence& sequence) {
    const std::vector<uint64_t> histories = runner_.HistoriesOf(sequence.tokens);
    for (size_t group = 0; group < pools_.own_count(); ++group) {
      const std::span<const int32_t> blocks = sequence.blocks.of(group).blocks();
      for (size_t index = 0; index < blocks.size(); ++index) {
        if (blocks[index] == kNoBlock) continue;
        const size_t end = (index + 1) * static_cast<size_t>(pools_.block_size());
        const BlockDigest* content = pools_[group].content(blocks[index]);
        const bool full =
            pools_.keeps_contents() && end <= static_cast<size_t>(sequence.computed_count);
        EXPECT_EQ(content != nullptr, full);
        if (content == nullptr || !full) continue;
        EXPECT_EQ(runner_.EndOf(group, blocks[index]), histories[end - 1]);
        EXPECT_EQ(*content, sequence.block_digests.at(index));
        const auto& salt = salt_of_.emplace(*content, sequence.cache_salt).first->second;
        EXPECT_EQ(salt, sequence.cache_salt);
      }
    }
  }

  const EngineCore& core_;
  const BlockPools& pools_;
  const FakeModelRunner& runner_;
  std::map<BlockDigest, uint64_t> end_of_;  // FakeModelRunner::EndOf, of all contents so far
  std::map<BlockDigest, CacheSalt> salt_of_;
};

// Rows carry the phase that their position has for life.
inline void CheckPhases(const EngineCore& core, const ForwardBatch& batch) {
  for (const SequenceSpan& span : batch.sequences) {
    const auto& running = core.scheduler().running();
    const auto found = std::ranges::find_if(running, [&](const Sequence* sequence) {
      return sequence->blocks.of(0).blocks().data() == span.block_tables[0].data();
    });
    ASSERT_NE(found, running.end());
    for (int32_t i = 0; i < span.row_count; ++i) {
      ASSERT_EQ(batch.phases[static_cast<size_t>(span.first_row + i)],
                span.first_position + i < (*found)->prompt_count ? TokenPhase::kPrompt
                                                                 : TokenPhase::kGenerated);
    }
  }
}

}  // namespace weft
