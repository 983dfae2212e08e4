// What load plans are made of: lines of traces and of files of prompts, and options within options.
// Whatever comes, what it says is within its limits, or there is an error that says something.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "loadtest/plan/durations.h"
#include "loadtest/plan/hostile.h"
#include "loadtest/plan/prompt_file.h"
#include "loadtest/plan/trace.h"
#include "loadtest/plan/workload.h"

namespace {

template <typename T>
void Check(const weft::Result<T>& result, bool (*is_sound)(const T& value)) {
  const bool is_right = result ? is_sound(*result) : !result.error().message.empty();
  if (!is_right) std::abort();
}

bool IsLength(int32_t length) { return length >= 1 && length <= weft::kMaxLength; }

bool IsSoundTrace(const weft::TraceRequest& request) {
  return request.time.count() >= 0 && IsLength(request.input_tokens) &&
         request.output_tokens >= 0 && request.output_tokens <= weft::kMaxLength &&
         request.block_hashes.size() <=
             static_cast<size_t>(request.input_tokens / weft::kTraceBlockTokens) + 1;
}

bool IsSoundDistribution(const weft::LengthDistribution& lengths) {
  weft::Random random(1);
  for (int i = 0; i < 8; ++i) {
    if (!IsLength(weft::DrawLength(lengths, random))) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view line(reinterpret_cast<const char*>(data), size_bytes);
  Check<weft::TraceRequest>(weft::ParseMooncakeLine(line), IsSoundTrace);
  Check<weft::TraceRequest>(weft::ParseAzureLine(line), IsSoundTrace);
  Check<weft::FilePrompt>(weft::ParsePromptLine(line), [](const weft::FilePrompt& prompt) {
    return IsLength(prompt.max_tokens.value_or(1));
  });
  Check<weft::HostileMix>(weft::ParseHostileMix(line), [](const weft::HostileMix& mix) {
    return mix.cancel >= 0 && mix.stall >= 0 && mix.malformed >= 0 &&
           mix.cancel + mix.stall + mix.malformed < 1.001;
  });
  Check<weft::LengthDistribution>(weft::ParseLengths(line), IsSoundDistribution);
  Check<std::chrono::nanoseconds>(weft::ParseDuration(line),
                                  [](const std::chrono::nanoseconds& time) {
                                    return time.count() >= 0 && time <= std::chrono::hours(1000);
                                  });
  Check<weft::Workload>(weft::ParseProfile(line, {}), [](const weft::Workload& workload) {
    return !workload.name.empty() && IsSoundDistribution(workload.turns);
  });
  return 0;
}
