#include "loadtest/report/latency.h"

#include <algorithm>
#include <chrono>

namespace weft {

double Milliseconds(RequestRecord::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::optional<double> LatencyOf(const RequestRecord& record, Metric metric) {
  const auto& arrivals = record.arrivals;
  switch (metric) {
    case Metric::kFirstToken:
      if (arrivals.empty()) return std::nullopt;
      return Milliseconds(arrivals.front().time - record.planned);
    case Metric::kFirstTokenSent:
      if (arrivals.empty()) return std::nullopt;
      return Milliseconds(arrivals.front().time - record.sent);
    case Metric::kPerToken:
      if (arrivals.size() < 2 || record.output_tokens < 2) return std::nullopt;
      return Milliseconds(arrivals.back().time - arrivals.front().time) /
             static_cast<double>(record.output_tokens - 1);
    case Metric::kInterToken:
      return std::nullopt;
    case Metric::kEndToEnd:
      return Milliseconds(record.end - record.planned);
    case Metric::kEndToEndSent:
      return Milliseconds(record.end - record.sent);
    case Metric::kQueue:
      return record.server.queue_ms;
    case Metric::kPrefill:
      return record.server.prefill_ms;
    case Metric::kDecode:
      return record.server.decode_ms;
  }
  return std::nullopt;
}

void AppendGaps(const RequestRecord& record, size_t arrival, std::vector<double>& samples) {
  const RequestRecord::Arrival& now = record.arrivals[arrival];
  const auto token_count = static_cast<size_t>(std::max(now.token_count, 1));
  const double gap_ms = Milliseconds(now.time - record.arrivals[arrival - 1].time);
  samples.insert(samples.end(), token_count, gap_ms / static_cast<double>(token_count));
}

void AppendInterToken(const RequestRecord& record, std::vector<double>& samples) {
  for (size_t i = 1; i < record.arrivals.size(); ++i) AppendGaps(record, i, samples);
}

void AppendLatencies(const RequestRecord& record, LatencySamples& samples) {
  for (const MetricInfo& info : kMetrics) {
    if (const auto latency = LatencyOf(record, info.metric)) {
      samples[info.metric].push_back(*latency);
    }
  }
  AppendInterToken(record, samples[Metric::kInterToken]);
}

}  // namespace weft
