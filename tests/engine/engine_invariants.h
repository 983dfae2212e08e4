// What holds after every step of an engine, whatever it is asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
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

// Every block's references are the tables that hold it, and the pool's sums agree.
inline void CheckBlocks(const EngineCore& core) {
  std::map<int32_t, int32_t> holders;
  for (const Sequence* sequence : core.scheduler().running()) {
    for (const int32_t block : sequence->blocks.blocks()) ++holders[block];
  }
  for (const Sequence* sequence : Waiting(core)) ASSERT_TRUE(sequence->blocks.blocks().empty());
  const BlockPool& pool = core.pool();
  int32_t used = 0;
  for (int32_t block = 0; block < pool.total_count(); ++block) {
    const auto found = holders.find(block);
    const int32_t expected = found == holders.end() ? 0 : found->second;
    ASSERT_EQ(pool.reference_count(block), expected) << "block " << block;
    used += expected > 0 ? 1 : 0;
  }
  ASSERT_EQ(pool.used_count(), used);
  ASSERT_EQ(pool.free_count() + pool.used_count(), pool.total_count());
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

// While a job without slots waits for some, no other holds more than half of them, except a single
// search that is wider.
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

// What every block with content holds is what its content says, all the way from the first token;
// running sequences hold their tokens, under their salt, and no content is there twice.
class ContentCheck {
 public:
  ContentCheck(const EngineCore& core, const FakeModelRunner& runner)
      : core_(core), pool_(core.pool()), runner_(runner) {}

  // How many blocks have content.
  int32_t Run() {
    for (int32_t block = 0; block < pool_.total_count(); ++block) {
      const ContentId id = pool_.content_id(block);
      if (id == kNoContent) continue;
      EXPECT_TRUE(block_of_.emplace(id, block).second) << "block " << block;
    }
    for (const auto& [id, block] : block_of_) {
      const std::vector<TokenId> tokens = TokensUpTo(block);
      EXPECT_TRUE(runner_.HoldsEndOf(tokens, block)) << "block " << block;
      EXPECT_EQ(pool_.Find(pool_.content(block)), block);
    }
    for (const Sequence* sequence : core_.scheduler().running()) CheckSequence(*sequence);
    return static_cast<int32_t>(block_of_.size());
  }

 private:
  std::vector<TokenId> TokensUpTo(int32_t block) const {
    const BlockContent content = pool_.content(block);
    std::vector<TokenId> tokens;
    if (content.parent != kNoContent) {
      const auto parent = block_of_.find(content.parent);
      // Blocks go after all that come behind them.
      EXPECT_NE(parent, block_of_.end());
      if (parent == block_of_.end()) return {};
      EXPECT_EQ(pool_.content(parent->second).salt, content.salt);
      tokens = TokensUpTo(parent->second);
    }
    tokens.insert(tokens.end(), content.tokens.begin(), content.tokens.end());
    return tokens;
  }

  void CheckSequence(const Sequence& sequence) const {
    const auto block_size = static_cast<int32_t>(runner_.block_size());
    for (int32_t index = 0; index < sequence.blocks.block_count(); ++index) {
      const int32_t block = sequence.blocks.blocks()[static_cast<size_t>(index)];
      const int32_t end = (index + 1) * block_size;
      const bool full = pool_.keeps_contents() && end <= sequence.computed_count;
      EXPECT_EQ(pool_.content_id(block) != kNoContent, full);
      if (!full) continue;
      EXPECT_EQ(pool_.content(block).salt, sequence.cache_salt);
      EXPECT_EQ(TokensUpTo(block),
                std::vector<TokenId>(sequence.tokens.begin(), sequence.tokens.begin() + end));
    }
  }

  const EngineCore& core_;
  const BlockPool& pool_;
  const FakeModelRunner& runner_;
  std::map<ContentId, int32_t> block_of_;
};

// Rows carry the phase that their position has for life.
inline void CheckPhases(const EngineCore& core, const ForwardBatch& batch) {
  for (const SequenceSpan& span : batch.sequences) {
    const auto& running = core.scheduler().running();
    const auto found = std::ranges::find_if(running, [&](const Sequence* sequence) {
      return sequence->blocks.blocks().data() == span.block_table.data();
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
