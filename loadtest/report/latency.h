// The latencies of a request, as its client saw them and as the server tells them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "loadtest/report/statistics.h"
#include "loadtest/run/request_record.h"

namespace weft {

enum class Metric {
  kFirstToken,      // from the planned time to the first text
  kFirstTokenSent,  // from sending it
  kPerToken,        // (last text - first text) / (output tokens - 1)
  kInterToken,      // between tokens, see AppendInterToken
  kEndToEnd,        // from the planned time to the last byte
  kEndToEndSent,    // from sending it
  kQueue,           // these three: as the server says
  kPrefill,
  kDecode,
};
inline constexpr size_t kMetricCount = 9;

struct MetricInfo {
  Metric metric = Metric::kFirstToken;
  std::string_view key;      // in objectives and JSON (where "_ms" is added)
  std::string_view title;    // for people
  std::string_view meaning;  // one sentence
};
inline constexpr std::array<MetricInfo, kMetricCount> kMetrics = {{
    {Metric::kFirstToken, "ttft", "Time to first token", "planned time to first text"},
    {Metric::kFirstTokenSent, "ttft_sent", "Time to first token, sent",
     "request sent to first text"},
    {Metric::kPerToken, "tpot", "Time per output token",
     "a request's (last text - first text) / (output tokens - 1)"},
    {Metric::kInterToken, "itl", "Inter-token latency",
     "gaps between tokens of all requests; k tokens that come together after a gap g count as k "
     "gaps of g/k"},
    {Metric::kEndToEnd, "e2e", "End to end", "planned time to last byte"},
    {Metric::kEndToEndSent, "e2e_sent", "End to end, sent", "request sent to last byte"},
    {Metric::kQueue, "queue", "Server: queue", "waiting, as the server says"},
    {Metric::kPrefill, "prefill", "Server: prefill", "computing the prompt, as the server says"},
    {Metric::kDecode, "decode", "Server: decode", "generating, as the server says"},
}};

// An array with one element a metric.
template <typename T>
struct PerMetric : std::array<T, kMetricCount> {
  T& operator[](Metric metric) { return this->at(static_cast<size_t>(metric)); }
  const T& operator[](Metric metric) const { return this->at(static_cast<size_t>(metric)); }
};

using LatencySamples = PerMetric<std::vector<double>>;  // milliseconds
using Latencies = PerMetric<Distribution>;

double Milliseconds(RequestRecord::Clock::duration duration);

// Milliseconds; nothing where the request has no such time (no text, one token, a server that does
// not say) and for kInterToken, of which it has many.
std::optional<double> LatencyOf(const RequestRecord& record, Metric metric);

// Inter-token latencies are counted by token, so that a server that sends several at a time is not
// measured by its events: an arrival with k tokens after a gap g is k gaps of g/k. What comes with
// the first token has no gap before it: `arrival` is an index above 0.
void AppendGaps(const RequestRecord& record, size_t arrival, std::vector<double>& samples);
void AppendInterToken(const RequestRecord& record, std::vector<double>& samples);

// All of a request's.
void AppendLatencies(const RequestRecord& record, LatencySamples& samples);

}  // namespace weft
