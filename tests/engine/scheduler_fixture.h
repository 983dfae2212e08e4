// A scheduler without a model, stepped by hand.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/live_request.h"
#include "engine/scheduler.h"

namespace weft {

class SchedulerTest : public ::testing::Test {
 protected:
  struct Setting {
    int32_t block_size;
    int32_t max_batch_tokens;
    int32_t max_sequences;
    bool keeps_contents = false;
  };
  void Start(const Setting& setting, int32_t block_count) {
    Start(setting, {{.block_count = block_count}});
  }
  void Start(const Setting& setting, const std::vector<StateGroup>& groups) {
    pools_.emplace(groups, setting.block_size, setting.keeps_contents);
    scheduler_.emplace(SchedulerOptions{.max_batch_tokens = setting.max_batch_tokens,
                                        .max_sequences = setting.max_sequences},
                       *pools_);
  }
  BlockPool& pool(size_t group = 0) { return (*pools_)[group]; }

  Sequence& Add(int32_t prompt_count, int32_t choice_count = 1, int32_t priority = 0) {
    Request request;
    request.choice_count = choice_count;
    request.priority = priority;
    return Add(prompt_count, std::move(request));
  }
  Sequence& AddOfJob(RequestId job_id, int32_t prompt_count, int32_t choice_count = 1) {
    Request request;
    request.job_id = job_id;
    request.choice_count = choice_count;
    return Add(prompt_count, std::move(request));
  }
  Sequence& AddSearch(int32_t prompt_count, int32_t beam_width, RequestId job_id = 0) {
    Request request;
    request.job_id = job_id;
    request.sampling.beam_width = beam_width;
    return Add(prompt_count, std::move(request));
  }
  Sequence& Add(int32_t prompt_count, Request request) {
    request.id = requests_.size() + 1;
    request.prompt.assign(static_cast<size_t>(prompt_count), 7);
    constexpr int64_t kNoVocab = 0;  // nothing is sampled
    requests_.emplace_back(std::move(request), requests_.size(), *pools_, kNoVocab,
                           std::vector<TokenId>{});
    scheduler_->Add(requests_.back().first_choice());
    return requests_.back().first_choice();
  }
  const std::vector<std::unique_ptr<Sequence>>& ChoicesOf(const Sequence& sequence) const {
    return sequence.request->choices();
  }
  // Of a request's choices, how many are in this state.
  int64_t Count(const Sequence& sequence, SequenceState state) const {
    return std::ranges::count(ChoicesOf(sequence), state, [](const auto& c) { return c->state; });
  }
  void Remove(const Sequence& sequence) {
    for (const auto& choice : ChoicesOf(sequence)) scheduler_->Remove(*choice);
  }

  // One step in which everybody who has computed all tokens gets another, choices as well; the rows
  // of each planned sequence.
  std::vector<int32_t> Step() {
    plan_ = scheduler_->Plan();
    std::vector<int32_t> rows;
    for (const PlannedSequence& planned : plan_.sequences) rows.push_back(planned.row_count);
    scheduler_->Commit(plan_);
    for (const PlannedSequence& planned : plan_.sequences) {
      Sequence& sequence = *planned.sequence;
      if (sequence.pending_count() > 0) continue;
      for (const auto& choice : ChoicesOf(sequence)) {
        if (choice->state != SequenceState::kAwaitingPrompt) continue;
        scheduler_->Fork(sequence, *choice);
        choice->tokens.push_back(7);
      }
      sequence.tokens.push_back(7);
    }
    return rows;
  }

  // A machine on which a step costs so much.
  void Teach(double fixed_ms, double row_ms) {
    for (int32_t i = 0; i < 40; ++i) {
      const int32_t chunk_rows = (i % 4) * (i % 4) * 30;
      Teach(chunk_rows, fixed_ms + row_ms * (1 + chunk_rows), 1);
    }
  }
  // Steps of one stream and a chunk.
  void Teach(int32_t chunk_rows, double ms, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      StepPlan plan;
      plan.shape.AddDecode(10);
      plan.shape.AddChunk(0, chunk_rows);
      scheduler_->Learn(plan, std::chrono::microseconds(static_cast<int64_t>(ms * 1000)));
    }
  }

  std::optional<BlockPools> pools_;
  std::optional<Scheduler> scheduler_;
  std::deque<LiveRequest> requests_;
  StepPlan plan_;
};

}  // namespace weft
