// What `weft bench` found, as a table for people or as lines of JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "model/step_profile.h"
#include "server/metrics/machine_limits.h"
#include "server/metrics/step_floor.h"

namespace weft {

// How evenly streams were served while a prompt arrived.
struct MixedFigures {
  int32_t prompt_tokens = 0;
  int64_t max_stall_ms = 0;
  double worst_gap_s = 0;          // between two tokens of a stream, of all repetitions
  double median_gap_s = 0;         // while the prompt was computed
  double undisturbed_gap_s = 0;    // median, before it came
  double first_token_s = 0;        // of the prompt, from its submission; median
  double prompt_tokens_per_s = 0;  // until then
};

struct EncodeFigures {
  int32_t texts = 0;  // handed over at once
  double texts_per_s = 0;
};

struct BenchRow {
  std::string test;  // "prefill", "decode", "mixed" or "encode"
  int32_t size = 0;  // tokens of the prompt or of a text, sequences of the batch, or streams
  std::optional<int32_t> context;
  double tokens_per_s = 0;
  double step_seconds = 0;
  double spread = 0;  // of the repetitions: (slowest - fastest) / median
  int repetitions = 0;
  std::optional<StepFloor> floor;  // of one step
  std::optional<StepProfile> profile;
  int64_t profiled_steps = 0;
  std::optional<MixedFigures> mixed;
  std::optional<EncodeFigures> encode;
};

// For figures, which are in seconds.
double SecondsOf(std::chrono::nanoseconds time);

// One line, without the line's end.
std::string FormatJson(const BenchRow& row, const MachineLimits* limits);

std::string FormatLimits(const MachineLimits& limits, int thread_count);
std::string FormatTableHead(bool with_floors);
// The row of the table, and below it what a column would not hold. Ends with a line's end.
std::string FormatTableRow(const BenchRow& row);

}  // namespace weft
