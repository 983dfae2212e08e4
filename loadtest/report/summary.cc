#include "loadtest/report/summary.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace weft {
namespace {

using Clock = RequestRecord::Clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

void AddCount(const std::optional<int64_t>& count, std::optional<int64_t>& sum) {
  if (count) sum = sum.value_or(0) + *count;
}

// A group under construction.
struct Group {
  GroupSummary figures;
  LatencySamples samples;

  void Add(const RequestRecord& record) {
    if (record.hostile) {
      ++figures.hostile;
      return;
    }
    if (!record.ok()) {
      ++figures.failed;
      FailureCount& failure = figures.failures[record.failure];
      ++failure.count;
      if (failure.example.empty()) failure.example = record.failure_detail;
      return;
    }
    ++figures.succeeded;
    AddCount(record.prompt_tokens, figures.prompt_tokens);
    AddCount(record.cached_tokens, figures.cached_tokens);
    figures.output_tokens += record.output_tokens;
    figures.texts += record.text_count;
    if (!record.finish_reason.empty()) ++figures.finish_reasons[record.finish_reason];
    AppendLatencies(record, samples);
  }

  GroupSummary Finish(double duration_s) {
    if (duration_s > 0) {
      figures.requests_per_s = static_cast<double>(figures.succeeded) / duration_s;
      if (figures.prompt_tokens) {
        figures.prompt_tokens_per_s = static_cast<double>(*figures.prompt_tokens) / duration_s;
      }
      figures.output_tokens_per_s = static_cast<double>(figures.output_tokens) / duration_s;
      figures.texts_per_s = static_cast<double>(figures.texts) / duration_s;
    }
    for (const MetricInfo& info : kMetrics) {
      figures.latencies[info.metric] = Summarize(std::move(samples[info.metric]));
    }
    return std::move(figures);
  }
};

std::string HostileOutcome(const RequestRecord& record, const LoadPlan& plan) {
  const auto index = static_cast<size_t>(record.request);
  const Behaviour behaviour =
      index < plan.requests.size() ? plan.requests[index].behaviour : Behaviour::kNormal;
  switch (behaviour) {
    case Behaviour::kCancel:
      return "cancelled";
    case Behaviour::kStall:
      return "stalled";
    case Behaviour::kMalformed:
      return "malformed: http " + std::to_string(record.http_status);
    case Behaviour::kNormal:
      break;
  }
  return "other";
}

SteadyState SteadyStateOf(const LoadRun& run, const LoadPlan& plan, Clock::time_point first_sent) {
  SteadyState steady;
  const Clock::time_point begin =
      first_sent + std::chrono::duration_cast<Clock::duration>(plan.ramp);
  Clock::time_point end = begin;
  for (const RequestRecord& record : run.records) end = std::max(end, record.sent);
  steady.begin_s = Seconds(begin - first_sent);
  steady.end_s = Seconds(end - first_sent);
  if (!steady.exists()) return steady;

  const auto inside = [&](Clock::time_point time) { return time >= begin && time < end; };
  double requests = 0, tokens = 0, texts = 0;
  for (const RequestRecord& record : run.records) {
    if (!record.ok()) continue;
    requests += inside(record.end) ? 1 : 0;
    texts += inside(record.end) ? static_cast<double>(record.text_count) : 0;
    const auto output_tokens = static_cast<double>(record.output_tokens);
    if (record.arrivals.empty()) {
      tokens += inside(record.end) ? output_tokens : 0;
      continue;
    }
    // The server may count more tokens than arrived as text.
    double arrived = 0, arrived_inside = 0;
    for (const RequestRecord::Arrival& arrival : record.arrivals) {
      arrived += arrival.token_count;
      if (inside(arrival.time)) arrived_inside += arrival.token_count;
    }
    if (arrived > 0) tokens += output_tokens * arrived_inside / arrived;
  }
  const double length_s = steady.end_s - steady.begin_s;
  steady.requests_per_s = requests / length_s;
  steady.output_tokens_per_s = tokens / length_s;
  steady.texts_per_s = texts / length_s;
  return steady;
}

int64_t PeakInFlight(const LoadRun& run) {
  std::vector<std::pair<Clock::time_point, int>> changes;  // an end precedes a sending at its time
  changes.reserve(2 * run.records.size());
  for (const RequestRecord& record : run.records) {
    changes.emplace_back(record.sent, 1);
    changes.emplace_back(record.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  int64_t in_flight = 0, peak = 0;
  for (const auto& [time, change] : changes) peak = std::max(peak, in_flight += change);
  return peak;
}

}  // namespace

double GroupSummary::error_rate() const {
  const int64_t measured = succeeded + failed;
  return measured == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(measured);
}

LoadSummary Summarize(const LoadRun& run, const LoadPlan& plan) {
  LoadSummary summary;
  summary.generates = run.generates;
  summary.interrupted = run.interrupted;
  summary.client = run.client;
  summary.verified_count = run.verified_count;
  summary.mismatch_count = run.mismatch_count;
  if (run.records.empty()) return summary;

  Clock::time_point first_sent = run.records.front().sent;
  Clock::time_point last_end = run.records.front().end;
  Group all;
  std::vector<Group> profiles(plan.profiles.size());
  double busy_s = 0;
  for (const RequestRecord& record : run.records) {
    first_sent = std::min(first_sent, record.sent);
    last_end = std::max(last_end, record.end);
    busy_s += Seconds(record.end - record.sent);
    all.Add(record);
    const auto profile = static_cast<size_t>(record.profile);
    if (profiles.size() > 1 && profile < profiles.size()) profiles[profile].Add(record);
    if (record.hostile) ++summary.hostile[HostileOutcome(record, plan)];
  }
  summary.duration_s = Seconds(last_end - first_sent);
  summary.all = all.Finish(summary.duration_s);
  for (size_t i = 0; profiles.size() > 1 && i < profiles.size(); ++i) {
    summary.profiles.push_back({plan.profiles[i], profiles[i].Finish(summary.duration_s)});
  }
  summary.steady = SteadyStateOf(run, plan, first_sent);
  if (summary.duration_s > 0) summary.mean_in_flight = busy_s / summary.duration_s;
  summary.peak_in_flight = PeakInFlight(run);
  return summary;
}

}  // namespace weft
