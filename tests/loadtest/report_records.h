// Requests made by hand, whose figures can be computed by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "loadtest/run/load_run.h"

namespace weft {

// A point in time of the test's run, which begins a day after the clock's epoch.
inline RequestRecord::Clock::time_point At(double ms) {
  return RequestRecord::Clock::time_point(std::chrono::hours(24)) +
         std::chrono::duration_cast<RequestRecord::Clock::duration>(
             std::chrono::duration<double, std::milli>(ms));
}

struct ArrivalAt {
  double ms = 0;
  int32_t token_count = 1;
};

// A stream that succeeded: sent `late_ms` after its planned time, ended 5 ms after its last text.
inline RequestRecord StreamAt(double planned_ms, double late_ms,
                              const std::vector<ArrivalAt>& arrivals) {
  RequestRecord record;
  record.planned = At(planned_ms);
  record.sent = At(planned_ms + late_ms);
  for (const ArrivalAt& arrival : arrivals) {
    record.arrivals.push_back({At(arrival.ms), arrival.token_count});
    record.output_tokens += arrival.token_count;
  }
  record.end = arrivals.empty() ? record.sent : At(arrivals.back().ms + 5);
  record.prompt_tokens = 10;
  record.http_status = 200;
  record.finish_reason = "length";
  return record;
}

inline RequestRecord FailedAt(double sent_ms, double end_ms, std::string failure,
                              std::string detail) {
  RequestRecord record;
  record.planned = record.sent = At(sent_ms);
  record.end = At(end_ms);
  record.failure = std::move(failure);
  record.failure_detail = std::move(detail);
  return record;
}

}  // namespace weft
