// What an engine has done, counted on its thread and read by whoever looks, with no lock between
// them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/triple_buffer.h"
#include "engine/engine.h"
#include "server/metrics/expert_load.h"
#include "server/metrics/histogram.h"
#include "server/metrics/machine_limits.h"
#include "server/metrics/step_floor.h"

namespace weft {

// The work of steps in the time that they took, both in seconds.
struct WorkTime {
  double busy = 0;        // what the steps took
  double memory = 0;      // what reading their bytes would take at the machine's limit
  double arithmetic = 0;  // what their operations would take at the machine's limits
};

// Since the start. Plain data.
struct EngineTotals {
  EngineState state;

  int64_t steps = 0;
  double longest_step = 0;      // seconds; of the steps since TakeLongestStep was called last
  uint64_t longest_window = 0;  // how often it had been called then
  int64_t prompt_rows = 0;
  int64_t generated_rows = 0;
  int64_t preemptions = 0;
  int64_t masks = 0;  // of constrained texts
  double mask_seconds = 0;
  int64_t parked_sequences = 0;
  BucketCounts step_seconds{buckets::kStep};
  BucketCounts mixed_step_seconds{buckets::kStep};
  BucketCounts mixed_step_predicted_seconds{buckets::kStep};
  BucketCounts step_rows{buckets::kRows};
  BucketCounts step_sequences{buckets::kSequences};

  int64_t prompt_tokens = 0;
  int64_t cache_queries = 0;
  int64_t cache_hits = 0;
  int64_t cache_stateless = 0;
  int64_t completion_tokens = 0;
  std::array<int64_t, 4> finished_choices{};  // by FinishReason
  BucketCounts token_gap_seconds{buckets::kToken};
  BucketCounts mean_gap_seconds{buckets::kToken};  // a choice
  BucketCounts first_token_seconds{buckets::kFirstToken};
  BucketCounts request_seconds{buckets::kRequest};
  BucketCounts queue_seconds{buckets::kRequest};
  BucketCounts prefill_seconds{buckets::kRequest};
  BucketCounts decode_seconds{buckets::kRequest};
  BucketCounts inference_seconds{buckets::kRequest};
  BucketCounts prompt_lengths{buckets::kLength};
  BucketCounts completion_lengths{buckets::kLength};
  BucketCounts max_tokens{buckets::kLength};
  BucketCounts choice_counts{buckets::kChoices};

  StepWork work;
  WorkTime work_time;    // of all steps
  WorkTime recent_work;  // of the last second or more of them
  std::vector<int64_t> expert_tokens;
  std::vector<double> layer_imbalance;
};

class EngineMeter {
 public:
  EngineMeter() : published_(totals_) {}

  // How fast the machine is; before the engine starts.
  void SetLimits(const MachineLimits& limits) { limits_ = limits; }

  // The next three are called on the engine thread alone, and never wait.

  // What the step that runs has to read and to compute.
  void AddWork(const StepWork& work);
  // See ExpertLoad::Update.
  void SetExpertCounts(std::span<const int64_t> counts, int64_t expert_count, int64_t token_count);
  // EngineOptions::on_step: a step has ended. Publishes everything.
  void OnStep(const StepReport& report);

  // By one thread at a time. Unchanged until the next call.
  const EngineTotals& Latest() { return published_.Latest(); }
  // The same thread: seconds of the longest step since the last call; 0: none has ended.
  double TakeLongestStep();

 private:
  void AddStep(const StepReport& report);
  void AddWorkTime(double busy_seconds);
  void AddChoice(const FinishedChoice& choice);

  MachineLimits limits_;
  EngineTotals totals_;
  StepWork step_work_;  // of the step that runs
  WorkTime window_;     // that becomes recent_work
  ExpertLoad expert_load_;
  TripleBuffer<EngineTotals> published_;
  std::atomic<uint64_t> window_count_{0};  // calls of TakeLongestStep
};

}  // namespace weft
