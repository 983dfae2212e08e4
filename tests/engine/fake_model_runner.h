// A deterministic model without arithmetic: what a position writes is a hash of its token and of
// what the positions before it wrote, and the logits of a row are a hash of everything that the row
// can see, read back through the block table. A wrong table, a stale, lost or foreign block or a
// wrong order of steps changes the output or is reported.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/model_runner.h"

namespace weft {

class FakeModelRunner : public ModelRunner {
 public:
  struct Options {
    int64_t vocab_size = 29;
    int64_t block_size = 4;
    int64_t block_count = 64;
  };
  static constexpr size_t kHiddenSize = 5;
  explicit FakeModelRunner(const Options& options);

  int64_t vocab_size() const override { return options_.vocab_size; }
  int64_t block_size() const override { return options_.block_size; }
  int64_t block_count() const override { return options_.block_count; }
  int thread_count() const override { return 1; }
  Result<void> Run(const ForwardBatch& batch, const LogitsVisitor& visit) override;
  void CopyBlock(int32_t from, int32_t to) override;

  // Fills `logits` for a row that sees `history_hash`; replaced by tests that want certain tokens.
  std::function<void(uint64_t history_hash, TokenId token, int32_t position, float* logits)>
      fill_logits;
  // Overwrites hidden states, kHiddenSize numbers, which are hashes of what the row sees; optional.
  std::function<void(int32_t position, float* hidden)> fill_hidden;
  // Called at the start of every Run; may fail or throw.
  std::function<Result<void>(const ForwardBatch&)> before_run;
  // How long a Run takes on the runner's own clock; unset: no time at all.
  std::function<std::chrono::nanoseconds(const ForwardBatch&)> cost;
  // That clock, for EngineCore.
  std::chrono::steady_clock::time_point now() const { return now_; }
  // Whether a block must not be written: more than one sequence holds it, or the prefix cache.
  std::function<bool(int32_t)> is_read_only;

  // What the last position of a block wrote, if it was the last of these, which begin a sequence.
  bool HoldsEndOf(std::span<const TokenId> tokens, int32_t block) const;

  // What was wrong with the batches so far; empty if nothing.
  const std::string& complaint() const { return complaint_; }

 private:
  struct Slot {
    bool written = false;
    TokenId token = 0;
    int32_t position = 0;
    uint64_t history = 0;  // of the tokens up to this position
  };

  Slot* SlotAt(const SequenceSpan& span, int32_t position);
  void Write(const ForwardBatch& batch, const SequenceSpan& span);
  uint64_t HashHistory(const SequenceSpan& span, int32_t position);
  void VisitHidden(const ForwardBatch& batch);
  void Complain(const std::string& what);

  Options options_;
  std::chrono::steady_clock::time_point now_;
  std::vector<Slot> slots_;
  std::vector<int32_t> writer_of_block_;  // in this step: index of the span, or -1
  std::string complaint_;
};

// A well-mixed function of its argument (splitmix64's finaliser).
uint64_t Mix(uint64_t value);

}  // namespace weft
