// The engine with its thread: submission from many threads, aborts at any moment, shutdown.
#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::hours;
using std::chrono::milliseconds;

// Holds the engine thread inside Run until it is opened.
class Gate {
 public:
  void Pass() {
    ++arrivals_;
    arrivals_.notify_all();
    opened_.wait();
  }
  void WaitForArrival() { arrivals_.wait(0); }
  void Open() { open_.set_value(); }

 private:
  std::atomic<int> arrivals_{0};
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

EngineOptions SmallOptions() {
  EngineOptions options;
  options.max_context = 64;
  options.max_batch_tokens = 16;
  options.max_sequences = 4;
  return options;
}

std::unique_ptr<FakeModelRunner> MakeRunner() {
  return std::make_unique<FakeModelRunner>(
      FakeModelRunner::Options{.vocab_size = 29, .block_size = 4, .block_count = 32});
}

// Each of its steps waits at the gate.
std::unique_ptr<FakeModelRunner> MakeRunner(Gate& gate) {
  auto runner = MakeRunner();
  runner->before_run = [&gate](const ForwardBatch&) -> Result<void> {
    gate.Pass();
    return {};
  };
  return runner;
}

// Any token may come, but it takes until the gate is open to say so.
class GatedConstraint : public TokenConstraint {
 public:
  explicit GatedConstraint(Gate& gate) : gate_(gate) {}
  std::unique_ptr<TokenMatcher> NewMatcher() const override {
    return std::make_unique<Matcher>(gate_);
  }

 private:
  class Matcher : public TokenMatcher {
   public:
    explicit Matcher(Gate& gate) : gate_(gate) {}
    std::unique_ptr<TokenMatcher> Clone() const override {
      return std::make_unique<Matcher>(gate_);
    }
    bool IsNarrow() const override { return true; }
    Result<void> FillMask(TokenMask mask) override {
      gate_.Pass();
      std::ranges::fill(mask, ~uint32_t{0});
      return {};
    }
    bool Allows(TokenId) override { return true; }
    bool MayEnd() const override { return true; }
    Result<void> Accept(TokenId) override { return {}; }

   private:
    Gate& gate_;
  };
  Gate& gate_;
};

struct Submitted {
  RequestId id = 0;
  std::shared_ptr<RecordingSink> sink;
  Result<void> result;
};

Submitted Submit(Engine& engine, int32_t max_tokens, int32_t choice_count = 1) {
  Request request;
  request.id = engine.NextId();
  request.prompt = {1, 2, 3};
  request.sampling.max_tokens = max_tokens;
  request.sampling.seed = request.id;
  request.choice_count = choice_count;
  auto sink = std::make_shared<RecordingSink>(choice_count);
  request.sink = sink;
  const RequestId id = request.id;
  return {id, sink, engine.Submit(std::move(request))};
}

TEST(Engine, SleepsWhileAllAreParkedAndWakesWhenAMaskIsThere) {
  Gate gate;
  ThreadPool pool(2);
  EngineOptions options = SmallOptions();
  options.run_beside = [&](std::function<void()> task) { pool.Post(std::move(task)); };
  Engine engine(options, MakeRunner());
  const auto submit = [&](std::optional<Clock::time_point> deadline) {
    Request request = GreedyRequest(engine.NextId(), {1, 2, 3}, 5);
    request.constraint = std::make_shared<const GatedConstraint>(gate);
    request.deadline = deadline;
    auto sink = std::make_shared<RecordingSink>();
    request.sink = sink;
    EXPECT_TRUE(engine.Submit(std::move(request)));
    return sink;
  };
  const auto patient = submit(std::nullopt);
  gate.WaitForArrival();
  // Others are not held up, and time goes on.
  const Submitted other = Submit(engine, 5);
  other.sink->WaitUntilFinished();
  EXPECT_EQ(other.sink->choice().tokens.size(), 5U);
  const auto late = submit(Clock::now() + milliseconds(1));
  late->WaitUntilFinished();
  EXPECT_EQ(late->choice().finishes[0].reason, FinishReason::kAborted);
  EXPECT_FALSE(patient->finished());
  gate.Open();
  patient->WaitUntilFinished();
  EXPECT_EQ(patient->choice().finishes[0].reason, FinishReason::kLength);
  EXPECT_EQ(patient->complaint(), "");
}

TEST(Engine, ServesRequests) {
  Engine engine(SmallOptions(), MakeRunner());
  const Submitted submitted = Submit(engine, 5, 2);
  ASSERT_TRUE(submitted.result);
  submitted.sink->WaitUntilFinished();
  EXPECT_EQ(submitted.sink->complaint(), "");
  EXPECT_EQ(submitted.sink->choice(1).tokens.size(), 5U);
}

TEST(Engine, RefusesInvalidRequestsAtOnce) {
  Engine engine(SmallOptions(), MakeRunner());
  const Submitted submitted = Submit(engine, 62);
  ASSERT_FALSE(submitted.result);
  EXPECT_EQ(submitted.result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(submitted.sink->finished());
}

TEST(Engine, RefusesWhenTheQueueIsFull) {
  Gate gate;
  EngineOptions options = SmallOptions();
  options.max_waiting = 2;
  Engine engine(options, MakeRunner(gate));
  std::vector<Submitted> accepted = {Submit(engine, 1)};
  gate.WaitForArrival();
  // The first is in a step, but counted as queued until that is over: one more fits.
  accepted.push_back(Submit(engine, 1));
  ASSERT_TRUE(accepted.back().result);
  const Submitted refused = Submit(engine, 1);
  ASSERT_FALSE(refused.result);
  EXPECT_EQ(refused.result.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.result.error().message, "2 requests are waiting already, the most allowed");
  gate.Open();
  for (const Submitted& submitted : accepted) submitted.sink->WaitUntilFinished();
  EXPECT_FALSE(refused.sink->finished());
  // There is room again.
  const Submitted later = Submit(engine, 1);
  ASSERT_TRUE(later.result);
  later.sink->WaitUntilFinished();
}

TEST(Engine, TellsHowLongItsQueueWillTake) {
  Gate gate;
  EngineOptions options = SmallOptions();
  options.max_sequences = 1;
  options.max_waiting = 4;
  Engine engine(options, MakeRunner(gate));
  std::vector<Submitted> accepted = {Submit(engine, 1)};
  gate.WaitForArrival();
  for (int i = 0; i < 3; ++i) accepted.push_back(Submit(engine, 1));
  EXPECT_EQ(engine.queue_room(), 0);
  EXPECT_EQ(engine.TimeToDrain(), std::nullopt);
  gate.Open();
  for (const Submitted& submitted : accepted) submitted.sink->WaitUntilFinished();
  engine.Shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  EXPECT_EQ(engine.queue_room(), 4);
  EXPECT_EQ(engine.TimeToDrain(), std::chrono::milliseconds(0));
}

// Choices that wait for a slot are no queue: whoever comes gets one at once.
TEST(Engine, LearnsNothingOfItsQueueWhileNobodyIsInIt) {
  EngineOptions options = SmallOptions();
  Engine* engine_pointer = nullptr;
  std::vector<Submitted> newcomers;
  options.on_step = [&](const StepReport& report) {
    const bool is_full = report.running == 4;
    if (is_full && newcomers.size() < 2) newcomers.push_back(Submit(*engine_pointer, 30));
  };
  Engine engine(options, MakeRunner());
  engine_pointer = &engine;
  const Submitted wide = Submit(engine, 60, 4);
  wide.sink->WaitUntilFinished();
  engine.Shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  ASSERT_EQ(newcomers.size(), 2U);
  for (const Submitted& newcomer : newcomers) EXPECT_TRUE(newcomer.sink->finished());
  EXPECT_EQ(engine.TimeToDrain(), std::nullopt);
}

TEST(Engine, AbortEndsARequestWithinOneStepAndFreesItsBlocks) {
  std::promise<StepReport> after_abort;
  std::atomic<bool> aborting{false};
  EngineOptions options = SmallOptions();
  options.on_step = [&](const StepReport& report) {
    if (report.finished_requests > 0 && aborting.exchange(false)) after_abort.set_value(report);
  };
  Gate gate;
  Engine engine(options, MakeRunner(gate));
  const Submitted submitted = Submit(engine, 50);
  gate.WaitForArrival();
  aborting = true;
  engine.Abort(submitted.id);
  engine.Abort(12345);  // unknown ids are ignored
  gate.Open();
  submitted.sink->WaitUntilFinished();
  EXPECT_EQ(submitted.sink->choice().finishes.at(0).reason, FinishReason::kAborted);
  EXPECT_EQ(submitted.sink->choice().tokens.size(), 1U);
  const StepReport report = after_abort.get_future().get();
  EXPECT_EQ(report.used_blocks, 0);
  EXPECT_EQ(report.running, 0);
}

TEST(Engine, IdleEngineRunsNoSteps) {
  std::atomic<int> reports{0};
  EngineOptions options = SmallOptions();
  options.on_step = [&](const StepReport&) { ++reports; };
  Engine engine(options, MakeRunner());
  const Submitted submitted = Submit(engine, 3);
  submitted.sink->WaitUntilFinished();
  engine.Shutdown(Clock::now() + hours(1));  // ends at once: nothing runs
  EXPECT_EQ(reports, 3);
  EXPECT_EQ(engine.Stats().used_blocks, 0);
  EXPECT_EQ(engine.Stats().total_blocks, 32);
}

TEST(Engine, ShutdownFinishesWhatWasAcceptedAndRefusesTheRest) {
  Gate gate;
  Engine engine(SmallOptions(), MakeRunner(gate));
  std::vector<Submitted> accepted;
  for (int i = 0; i < 10; ++i) accepted.push_back(Submit(engine, 5));
  gate.WaitForArrival();
  std::thread shutdown([&] { engine.Shutdown(Clock::now() + hours(1)); });
  Submitted refused = Submit(engine, 5);
  // Until the other thread gets there; the queue may be full before.
  while (refused.result || refused.result.error().code == ErrorCode::kResourceExhausted) {
    if (refused.result) accepted.push_back(std::move(refused));
    std::this_thread::yield();
    refused = Submit(engine, 5);
  }
  EXPECT_EQ(refused.result.error().code, ErrorCode::kUnavailable);
  gate.Open();
  shutdown.join();
  for (const Submitted& submitted : accepted) {
    EXPECT_TRUE(submitted.sink->finished());
    EXPECT_EQ(submitted.sink->complaint(), "");
    EXPECT_EQ(submitted.sink->choice().finishes.at(0).reason, FinishReason::kLength);
  }
}

TEST(Engine, ASecondShutdownHastensTheFirst) {
  auto runner = MakeRunner();
  runner->before_run = [](const ForwardBatch&) -> Result<void> {
    std::this_thread::sleep_for(milliseconds(1));
    return {};
  };
  EngineOptions options = SmallOptions();
  options.max_sequences = 1;
  Engine engine(options, std::move(runner));
  std::vector<Submitted> accepted;
  for (int i = 0; i < 1000; ++i) accepted.push_back(Submit(engine, 60));
  std::thread first([&] { engine.Shutdown(Clock::now() + hours(1)); });
  std::thread second([&] { engine.Shutdown(Clock::now()); });
  first.join();
  second.join();
  engine.Shutdown(Clock::now() + hours(1));  // it has ended; returns
  int aborted = 0;
  for (const Submitted& submitted : accepted) {
    ASSERT_TRUE(submitted.result);
    ASSERT_TRUE(submitted.sink->finished());
    EXPECT_EQ(submitted.sink->complaint(), "");
    if (submitted.sink->choice().finishes.at(0).reason == FinishReason::kAborted) ++aborted;
  }
  EXPECT_GT(aborted, 0);
}

TEST(Engine, DestructionAbortsWhatRuns) {
  std::vector<Submitted> accepted;
  {
    Engine engine(SmallOptions(), MakeRunner());
    for (int i = 0; i < 100; ++i) accepted.push_back(Submit(engine, 60));
  }
  for (const Submitted& submitted : accepted) {
    EXPECT_TRUE(submitted.sink->finished());
    EXPECT_EQ(submitted.sink->complaint(), "");
  }
}

TEST(Engine, AnExceptionOutsideTheModelFailsWhatRunsAndTheEngineGoesOn) {
  EngineOptions options = SmallOptions();
  std::atomic<bool> throwing{true};
  options.token_bytes = [&](TokenId) -> std::string_view {
    if (throwing) throw std::runtime_error("no such token");
    return "x";
  };
  Engine engine(options, MakeRunner());
  const Submitted failed = Submit(engine, 5, 3);
  failed.sink->WaitUntilFinished();
  EXPECT_EQ(failed.sink->complaint(), "");
  for (size_t choice = 0; choice < 3; ++choice) {
    EXPECT_EQ(failed.sink->choice(choice).finishes.at(0).reason, FinishReason::kFailed);
    EXPECT_EQ(failed.sink->choice(choice).finishes.at(0).error.message, "no such token");
  }
  throwing = false;
  const Submitted served = Submit(engine, 5);
  served.sink->WaitUntilFinished();
  EXPECT_EQ(served.sink->choice().text, "xxxxx");
}

// Beams' texts are read when all of them are out of the scheduler.
TEST(Engine, AnExceptionWhileBeamsAreToldFailsThemAndTheEngineGoesOn) {
  EngineOptions options = SmallOptions();
  std::atomic<int> throw_after{3};
  options.token_bytes = [&](TokenId) -> std::string_view {
    if (throw_after.fetch_sub(1) == 0) throw std::runtime_error("no such token");
    return "x";
  };
  Engine engine(options, MakeRunner());
  auto sink = std::make_shared<RecordingSink>(2);
  Request request;
  request.id = engine.NextId();
  request.prompt = {1, 2, 3};
  request.sampling.max_tokens = 2;
  request.sampling.beam_width = 2;
  request.choice_count = 2;
  request.sink = sink;
  ASSERT_TRUE(engine.Submit(std::move(request)));
  sink->WaitUntilFinished();
  EXPECT_EQ(sink->complaint(), "");
  EXPECT_EQ(sink->choice(0).finishes.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(sink->choice(1).finishes.at(0).reason, FinishReason::kFailed);
  const Submitted served = Submit(engine, 5);
  served.sink->WaitUntilFinished();
  EXPECT_EQ(served.sink->choice().text, "xxxxx");
}

// Memory is refused, and then again while the requests are told of it.
TEST(Engine, WhoCannotBeToldAtOnceIsToldLater) {
  class Sink : public RecordingSink {
   public:
    void OnTokens(TokensEvent event) override {
      const bool is_rest = event.tokens.empty();  // what was held back
      if (is_rest && ++rest_count == 1) throw std::bad_alloc();
      RecordingSink::OnTokens(std::move(event));
    }
    int rest_count = 0;
  };
  EngineOptions options = SmallOptions();
  std::atomic<int> throw_after{3};
  options.token_bytes = [&](TokenId) -> std::string_view {
    if (throw_after.fetch_sub(1) == 0) throw std::bad_alloc();
    return "x";
  };
  Engine engine(options, MakeRunner());
  const auto sink = std::make_shared<Sink>();
  Request request = GreedyRequest(engine.NextId(), {1, 2, 3}, 9);
  request.sampling.stop = {"xxxxx"};
  request.sink = sink;
  ASSERT_TRUE(engine.Submit(std::move(request)));
  sink->WaitUntilFinished();
  EXPECT_EQ(sink->complaint(), "");
  EXPECT_EQ(sink->rest_count, 1);
  EXPECT_EQ(sink->choice().finishes.at(0).reason, FinishReason::kFailed);
}

TEST(Engine, ManyThreadsSubmitAndAbortAtAnyMoment) {
  EngineOptions options = SmallOptions();
  options.max_waiting = 50;
  std::atomic<int64_t> finished_requests{0};
  options.on_step = [&](const StepReport& report) {
    finished_requests += report.finished_requests;
  };
  Engine engine(options, MakeRunner());
  std::atomic<int64_t> accepted_count{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 200; ++i) {
        const Submitted submitted = Submit(engine, static_cast<int32_t>(1 + random() % 30),
                                           static_cast<int32_t>(1 + random() % 3));
        if (!submitted.result) {
          EXPECT_EQ(submitted.result.error().code, ErrorCode::kResourceExhausted);
          continue;
        }
        ++accepted_count;
        if (random() % 2 == 0) {
          for (uint64_t spin = random() % 20; spin > 0; --spin) std::this_thread::yield();
          engine.Abort(submitted.id);
        }
        if (random() % 4 == 0) (void)engine.Stats();
        submitted.sink->WaitUntilFinished();
        EXPECT_EQ(submitted.sink->complaint(), "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine.Shutdown(Clock::now());
  EXPECT_EQ(finished_requests, accepted_count);
}

}  // namespace
}  // namespace weft
