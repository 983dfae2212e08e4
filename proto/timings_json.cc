#include "proto/timings_json.h"

namespace weft {
namespace {

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

nlohmann::ordered_json TimingsJson(const Timings& timings) {
  constexpr double kMsPerSecond = 1000;
  const auto prompt_n = static_cast<double>(timings.prompt_tokens);
  const auto predicted_n = static_cast<double>(timings.predicted_tokens);
  nlohmann::ordered_json value;
  value["queue_ms"] = timings.queue_ms;
  value["cache_n"] = timings.cached_tokens;
  value["prompt_n"] = timings.prompt_tokens;
  value["prompt_ms"] = timings.prompt_ms;
  value["prompt_per_token_ms"] = Ratio(timings.prompt_ms, prompt_n);
  value["prompt_per_second"] = kMsPerSecond * Ratio(prompt_n, timings.prompt_ms);
  value["predicted_n"] = timings.predicted_tokens;
  value["predicted_ms"] = timings.predicted_ms;
  // The first token came with the prompt: that time is not of its own.
  const double steps = predicted_n > 0 ? predicted_n - 1 : 0;
  value["predicted_per_token_ms"] = Ratio(timings.predicted_ms, steps);
  value["predicted_per_second"] = kMsPerSecond * Ratio(steps, timings.predicted_ms);
  return value;
}

}  // namespace weft
