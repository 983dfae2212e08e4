// A deterministic model without arithmetic: what a position writes is a hash of its token and of
// what the position before it wrote, if a group of layers sees that, and the logits of a row are a
// hash of everything that the row can see, read back through the block tables of all groups. A
// wrong table, a stale, lost or foreign block or a wrong order of steps changes the output or is
// reported. Of a source every position writes a hash of all of it. A state is what the last of its
// positions would have written, in the last slot of its block.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/model_runner.h"

namespace weft {

class FakeModelRunner : public ModelRunner {
 public:
  struct Options {
    int64_t vocab_size = 29;
    int64_t block_size = 4;
    int64_t block_count = 64;
    std::vector<StateGroup> groups = {};  // none: one that keeps all, of block_count blocks
    // Whether logits are of all that a row sees, read back and checked: a row at position n takes n
    // times as long as one whose logits are of the last thing that it wrote.
    bool reads_back = true;
  };
  static constexpr size_t kHiddenSize = 5;
  explicit FakeModelRunner(const Options& options);

  int64_t vocab_size() const override { return options_.vocab_size; }
  int64_t block_size() const override { return options_.block_size; }
  std::span<const StateGroup> groups() const override { return options_.groups; }
  int thread_count() const override { return 1; }
  bool generates() const override { return generates_text; }
  bool makes(PooledOutput output) const override { return !lacks.contains(output); }
  SparseSpec sparse() const override { return {.log_count = 2}; }
  Result<void> Run(const ForwardBatch& batch, const LogitsVisitor& visit) override;
  std::vector<float> FromPooled(PooledOutput output, std::vector<float> pooled) override {
    return from_pooled ? from_pooled(output, std::move(pooled)) : pooled;
  }
  void CopyBlock(size_t group, int32_t from, int32_t to) override;

  // Fills `logits` for a row that sees `history_hash`; replaced by tests that want certain tokens.
  std::function<void(uint64_t history_hash, TokenId token, int32_t position, float* logits)>
      fill_logits;
  // Overwrites hidden states, kHiddenSize numbers, which are hashes of what the row sees; optional.
  std::function<void(int32_t position, float* hidden)> fill_hidden;
  bool generates_text = true;
  std::set<PooledOutput> lacks;  // what it does not make
  // Of what was pooled; unset: the same.
  std::function<std::vector<float>(PooledOutput, std::vector<float>)> from_pooled;
  // Called at the start of every Run; may fail or throw.
  std::function<Result<void>(const ForwardBatch&)> before_run;
  // How long a Run takes on the runner's own clock; unset: no time at all.
  std::function<std::chrono::nanoseconds(const ForwardBatch&)> cost;
  // That clock, for EngineCore.
  std::chrono::steady_clock::time_point now() const { return now_; }
  // Whether a block must not be written: more than one sequence holds it, or the prefix cache.
  std::function<bool(size_t group, int32_t block)> is_read_only;
  // Whether a block holds a source that has been computed.
  std::function<bool(int32_t block)> is_written_source;

  // What each of these positions writes, which begin a sequence.
  std::vector<uint64_t> HistoriesOf(std::span<const TokenId> tokens) const;
  // What the last position of a block wrote; nullopt: nothing.
  std::optional<uint64_t> EndOf(size_t group, int32_t block) const;

  // What the first position of a block wrote.
  uint64_t BeginningOf(size_t group, int32_t block) const {
    return slots_[group][static_cast<size_t>(block * options_.block_size)].history;
  }

  bool has_states() const {
    return std::ranges::any_of(options_.groups, &StateGroup::is_recurrent);
  }

  // What was wrong with the batches so far; empty if nothing.
  const std::string& complaint() const { return complaint_; }

 private:
  struct Slot {
    bool written = false;
    TokenId token = 0;
    int32_t position = 0;
    uint64_t history = 0;  // of the tokens up to this position, as far as it can know them
  };

  // Groups of a sequence's own positions.
  size_t own_count() const {
    return options_.groups.size() - (options_.groups.back().is_source ? 1 : 0);
  }
  // Whether a position sees the one before it, in some group.
  bool SeesBefore(int32_t position) const;
  Slot* SlotAt(const SequenceSpan& span, size_t group, int32_t position);
  void Write(const ForwardBatch& batch, const SequenceSpan& span);
  // Passes a span's positions through its states; writes row_histories_.
  void WriteStates(const ForwardBatch& batch, const SequenceSpan& span, size_t group);
  void CheckWriter(int32_t writer, size_t group, int32_t block);
  void WriteSlot(const SequenceSpan& span, int32_t writer, size_t group, const Slot& slot);
  // Of all that the position sees, checked.
  uint64_t HashVisible(const SequenceSpan& span, int32_t position);
  void WriteSource(const ForwardBatch& sources, const SequenceSpan& span);
  // Of the source, checked; 0: there is none.
  uint64_t HashSource(const SequenceSpan& span);
  void CheckSlot(const SequenceSpan& span, const Slot& slot, size_t group, int32_t position);
  void VisitHidden(const ForwardBatch& batch);
  void Complain(const std::string& what);

  Options options_;
  std::chrono::steady_clock::time_point now_;
  std::vector<std::vector<Slot>> slots_;               // a group
  std::vector<std::vector<int32_t>> writer_of_block_;  // in this step: index of the span, or -1
  std::vector<uint64_t> row_histories_;                // in this step, of a model with states
  std::string complaint_;
};

// A well-mixed function of its argument (splitmix64's finaliser).
uint64_t Mix(uint64_t value);

}  // namespace weft
