#include "server/tracing/sampler.h"

#include <charconv>
#include <cstdint>

#include "base/quoted.h"

namespace weft {
namespace {

Result<double> ParseRatio(std::string_view text) {
  if (text.empty()) return 1.0;
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error == std::errc() && end == text.data() + text.size() && ratio >= 0 && ratio <= 1) {
    return ratio;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "OTEL_TRACES_SAMPLER_ARG is {}, expected a number from 0 to 1", Quoted(text));
}

}  // namespace

Result<Sampler> ParseSampler(std::string_view name, std::string_view argument) {
  constexpr std::string_view kParentBased = "parentbased_";
  Sampler sampler;
  sampler.follows_parent = name.starts_with(kParentBased);
  std::string_view root = name;
  if (sampler.follows_parent) root.remove_prefix(kParentBased.size());
  if (root == "always_on") return sampler;
  if (root == "always_off") {
    sampler.ratio = 0;
    return sampler;
  }
  if (root == "traceidratio") {
    WEFT_ASSIGN_OR_RETURN(sampler.ratio, ParseRatio(argument));
    return sampler;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "OTEL_TRACES_SAMPLER is {}, expected always_on, always_off, traceidratio, or one of "
              "these after parentbased_",
              Quoted(name));
}

bool IsSampled(const Sampler& sampler, const std::optional<TraceParent>& parent,
               std::string_view trace_id) {
  constexpr size_t kDigits = 16;
  constexpr double kRange = 0x1p63;
  if (sampler.follows_parent && parent) return parent->sampled;
  const std::string_view last = trace_id.substr(trace_id.size() - kDigits);
  uint64_t number = 0;
  std::from_chars(last.data(), last.data() + last.size(), number, 16);
  // A ratio of 1 is 2^63, above all numbers of 63 bits.
  return (number >> 1) < static_cast<uint64_t>(sampler.ratio * kRange);
}

}  // namespace weft
