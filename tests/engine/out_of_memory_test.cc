// Memory is refused at every place of a schedule, one after the other: whatever fails, every choice
// gets one terminal event, nothing is lost, and the engine goes on. A binary of its own, because it
// replaces operator new for all of it.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "tests/engine/engine_invariants.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/letter_constraint.h"
#include "tests/engine/requests.h"

namespace {

constexpr int kNever = std::numeric_limits<int>::max();
// Of this thread: so many more allocations succeed, then so many fail.
thread_local int granted_count = kNever;
thread_local int refused_count = 0;

}  // namespace

void* operator new(size_t size) {
  if (granted_count > 0) {
    if (granted_count != kNever) --granted_count;
  } else if (refused_count > 0) {
    --refused_count;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(std::max<size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weft {
namespace {

// Takes no memory, as is its duty.
class CountingSink : public TokenSink {
 public:
  void OnPromptLogprobs(std::vector<TokenLogprob>) override {}
  void OnPooled(PooledResult) override {}
  void OnTokens(TokensEvent) override {}
  void OnFinish(FinishEvent event) override {
    ++finish_count;
    if (event.last) ++last_count;
  }

  int finish_count = 0;
  int last_count = 0;
};

// Preemption, choices without a slot, a search, jobs of several requests, constraints, what clients
// give up.
class RefusedMemory {
 public:
  RefusedMemory() {
    options_.max_context = 64;
    options_.max_batch_tokens = 12;
    options_.max_sequences = kSlots;
    core_.emplace(options_, runner_);
  }

  // Whether the schedule came to its end before memory was refused.
  bool Run(int granted, int refused) {
    granted_count = granted;
    refused_count = refused;
    Submit(0, 5);
    Steps(4);
    Submit(5, 8);
    Steps(6);
    Try([&] { core_->Abort(2); });
    Steps(kNever);
    const bool is_done = granted_count > 0;
    granted_count = kNever;
    CheckEnd();
    return is_done;
  }

 private:
  static constexpr int32_t kSlots = 4;

  static std::shared_ptr<const TokenConstraint> MakeConstraint() {
    const auto text_of = [](TokenId token) {
      return std::string_view("abcdefghijklmnopqrstuvwxyzabc")
          .substr(static_cast<size_t>(token), 1);
    };
    return std::make_shared<const LetterConstraint>(text_of, 29);
  }

  static Request MakeRequest(int index) {
    const std::vector<TokenId> prompt(static_cast<size_t>(3 + index), index);
    Request request = GreedyRequest(static_cast<RequestId>(index + 1), prompt, 9);
    request.choice_count = 1 + index % 3;
    if (index == 3) request.sampling.beam_width = 3;
    if (index == 3 || index == 6) request.constraint = MakeConstraint();
    if (index == 4) request.job_id = 2;
    if (index == 5) request.sampling.prompt_logprobs = true;
    if (index == 6) request.sampling.logprobs = 2;
    if (index == 7) request.priority = -1;
    return request;
  }

  void Submit(int first, int end) {
    for (int index = first; index < end; ++index) {
      const int granted = std::exchange(granted_count, kNever);  // of the test's own
      Request request = MakeRequest(index);
      sinks_.push_back(std::make_unique<CountingSink>());
      request.sink = std::shared_ptr<TokenSink>(std::shared_ptr<void>(), sinks_.back().get());
      choice_counts_.push_back(request.choice_count);
      granted_count = granted;
      Try([&] { core_->Add(std::move(request)); });
    }
  }

  void Steps(int count) {
    for (int step = 0; step < count && core_->has_work(); ++step) {
      Try([&] { core_->Step(); });
    }
  }

  // As the engine's thread does it.
  void Try(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception&) {
      FailAll();
    }
    const int granted = std::exchange(granted_count, kNever);
    CheckBlocks(*core_, options_.max_batch_tokens);
    CheckSlots(*core_, kSlots);
    granted_count = granted;
  }

  void FailAll() {
    while (true) {
      try {
        return core_->FailAll("no memory");
      } catch (const std::exception&) {
      }
    }
  }

  void CheckEnd() {
    for (size_t i = 0; i < sinks_.size(); ++i) {
      EXPECT_EQ(sinks_[i]->finish_count, choice_counts_[i]) << "request " << i + 1;
      EXPECT_EQ(sinks_[i]->last_count, 1) << "request " << i + 1;
    }
    EXPECT_EQ(core_->pools().used_count(), 0);
    EXPECT_TRUE(core_->scheduler().running().empty());
    EXPECT_TRUE(core_->scheduler().line().empty());
    EXPECT_EQ(core_->TakeDequeuedCount(), std::ssize(sinks_));
    const auto after = AddRecorded(*core_, GreedyRequest(100, {1, 2, 3}, 4));
    while (core_->has_work()) core_->Step();
    EXPECT_EQ(after->choice().tokens.size(), 4U);
    EXPECT_EQ(runner_.complaint(), "");
  }

  // Two choices of seven blocks in the group that forgets, or one of the longest.
  FakeModelRunner runner_{{.vocab_size = 29,
                           .block_size = 4,
                           .groups = {{.block_count = 18}, {.window = 6, .block_count = 18}}}};
  EngineOptions options_;
  std::optional<EngineCore> core_;
  std::vector<std::unique_ptr<CountingSink>> sinks_;
  std::vector<int> choice_counts_;
};

class OutOfMemoryTest : public testing::TestWithParam<int> {};

TEST_P(OutOfMemoryTest, EveryChoiceHearsOfItAndTheEngineGoesOn) {
  bool is_done = false;
  int granted = 0;
  for (; !is_done && !HasFailure(); ++granted) {
    SCOPED_TRACE(granted);
    is_done = RefusedMemory().Run(granted, GetParam());
  }
  EXPECT_GT(granted, 1000);
}

// One allocation alone, and a while in which none succeeds.
INSTANTIATE_TEST_SUITE_P(Refused, OutOfMemoryTest, testing::Values(1, 50));

}  // namespace
}  // namespace weft
