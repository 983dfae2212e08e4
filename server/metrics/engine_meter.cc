#include "server/metrics/engine_meter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft {
namespace {

using Time = RequestTimes::Time;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// Leaves out what did not happen.
void AddSpan(Time begin, Time end, BucketCounts& counts) {
  if (begin != Time() && end != Time()) counts.Add(Seconds(end - begin));
}

}  // namespace

void EngineMeter::AddWork(const StepWork& work) { step_work_.Add(work); }

void EngineMeter::SetExpertCounts(std::span<const int64_t> counts, int64_t expert_count,
                                  int64_t token_count) {
  expert_load_.Update(counts, expert_count, token_count);
}

void EngineMeter::OnStep(const StepReport& report) {
  totals_.state = static_cast<const EngineState&>(report);
  // Requests may end between steps, too.
  if (report.sequences > 0) AddStep(report);
  totals_.preemptions += report.preemptions;
  totals_.masks += report.masks;
  totals_.mask_seconds += Seconds(report.mask_time);
  totals_.parked_sequences += report.parked_sequences;
  totals_.prompt_tokens += report.computed_prompt_tokens;
  totals_.cache_queries += report.cache_queries;
  totals_.cache_hits += report.cache_hits;
  totals_.cache_stateless += report.cache_stateless;
  totals_.completion_tokens += report.sampled_tokens;
  for (const RequestTimes& times : report.first_tokens) {
    AddSpan(times.received, times.first_token, totals_.first_token_seconds);
  }
  for (const TokenGap& gap : report.token_gaps) {
    totals_.token_gap_seconds.Add(Seconds(gap.gap), gap.token_count);
  }
  for (const FinishedChoice& choice : report.finished_choices) AddChoice(choice);
  published_.Publish(totals_);
}

void EngineMeter::AddStep(const StepReport& report) {
  const double seconds = Seconds(report.duration);
  ++totals_.steps;
  const uint64_t window = window_count_.load(std::memory_order_relaxed);
  if (std::exchange(totals_.longest_window, window) != window) totals_.longest_step = 0;
  totals_.longest_step = std::max(totals_.longest_step, seconds);
  totals_.prompt_rows += report.prompt_tokens;
  totals_.generated_rows += report.generated_tokens;
  totals_.step_seconds.Add(seconds);
  totals_.step_rows.Add(report.prompt_tokens + report.generated_tokens);
  totals_.step_sequences.Add(report.sequences);
  if (report.predicted.count() > 0) {
    totals_.mixed_step_seconds.Add(seconds);
    totals_.mixed_step_predicted_seconds.Add(Seconds(report.predicted));
  }
  AddWorkTime(seconds);
  totals_.expert_tokens = expert_load_.tokens();
  totals_.layer_imbalance = expert_load_.imbalance();
}

double EngineMeter::TakeLongestStep() {
  const EngineTotals& totals = Latest();
  const uint64_t window = window_count_.fetch_add(1, std::memory_order_relaxed);
  return totals.longest_window == window ? totals.longest_step : 0;
}

void EngineMeter::AddWorkTime(double busy_seconds) {
  constexpr double kWindowSeconds = 1;
  const NeededSeconds needed = NeededFor(step_work_, limits_);
  totals_.work.Add(step_work_);
  step_work_ = {};
  for (WorkTime* time : {&totals_.work_time, &window_}) {
    time->busy += busy_seconds;
    time->memory += needed.memory;
    time->arithmetic += needed.arithmetic;
  }
  // Until the first window is full, what there is of it.
  if (window_.busy >= kWindowSeconds || totals_.recent_work.busy < kWindowSeconds) {
    totals_.recent_work = window_;
  }
  if (window_.busy >= kWindowSeconds) window_ = {};
}

void EngineMeter::AddChoice(const FinishedChoice& choice) {
  const RequestTimes& times = choice.times;
  ++totals_.finished_choices[static_cast<size_t>(choice.reason)];
  AddSpan(times.received, times.finished, totals_.request_seconds);
  AddSpan(times.submitted, times.started == Time() ? times.finished : times.started,
          totals_.queue_seconds);
  AddSpan(times.started, times.finished, totals_.inference_seconds);
  AddSpan(times.started, times.first_token, totals_.prefill_seconds);
  totals_.prompt_lengths.Add(choice.prompt_tokens);
  if (!choice.generates) return;
  AddSpan(times.first_token, times.finished, totals_.decode_seconds);
  if (choice.completion_tokens > 1 && times.first_token != Time()) {
    totals_.mean_gap_seconds.Add(Seconds(times.finished - times.first_token) /
                                 (choice.completion_tokens - 1));
  }
  totals_.completion_lengths.Add(choice.completion_tokens);
  totals_.max_tokens.Add(choice.max_tokens);
  if (choice.last) totals_.choice_counts.Add(choice.choice_count);
}

}  // namespace weft
