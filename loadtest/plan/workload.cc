#include "loadtest/plan/workload.h"

#include <optional>

#include "base/quoted.h"
#include "loadtest/plan/durations.h"
#include "loadtest/plan/key_values.h"
#include "loadtest/plan/numbers.h"

namespace weft {
namespace {

constexpr int32_t kMaxSharedPrefixes = 1'000'000;
constexpr double kMaxTurns = 10'000;

template <typename T>
Result<T> ParseNumber(std::string_view text) {
  const std::optional<T> value = ParseWhole<T>(text);
  if (!value) return Fail(ErrorCode::kInvalidArgument, "{} is not a number", Quoted(text));
  return *value;
}

Result<void> SetKey(std::string_view key, std::string_view value, Workload& workload) {
  if (key == "name") {
    workload.name = value;
  } else if (key == "weight") {
    WEFT_ASSIGN_OR_RETURN(workload.weight, ParseNumber<double>(value));
  } else if (key == "max-tokens") {
    WEFT_ASSIGN_OR_RETURN(workload.max_tokens, ParseLengths(value));
  } else if (key == "prompt-tokens") {
    WEFT_ASSIGN_OR_RETURN(workload.prompt_tokens, ParseLengths(value));
  } else if (key == "shared-prefix-tokens") {
    WEFT_ASSIGN_OR_RETURN(workload.shared_prefix_tokens, ParseNumber<int32_t>(value));
  } else if (key == "shared-prefixes") {
    WEFT_ASSIGN_OR_RETURN(workload.shared_prefixes, ParseNumber<int32_t>(value));
  } else if (key == "turns") {
    WEFT_ASSIGN_OR_RETURN(workload.turns, ParseLengths(value));
  } else if (key == "think-time") {
    WEFT_ASSIGN_OR_RETURN(workload.think_time, ParseDuration(value));
  } else if (key == "prompt") {
    workload.prompt = value;
  } else if (key == "prompts") {
    workload.prompts_path = value;
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                "there is no such key: expected name, weight, prompt-tokens, max-tokens, "
                "shared-prefix-tokens, shared-prefixes, turns, think-time, prompt or prompts");
  }
  return {};
}

double Greatest(const LengthDistribution& lengths) {
  return lengths.kind == LengthDistribution::Kind::kUniform ? lengths.second : lengths.first;
}

Result<void> CheckRanges(const Workload& workload) {
  if (!(workload.weight > 0 && workload.weight <= 1e9)) {
    return Fail(ErrorCode::kInvalidArgument, "weight {} is not above 0 and at most 1e9",
                workload.weight);
  }
  if (workload.shared_prefix_tokens < 0 || workload.shared_prefix_tokens > kMaxLength) {
    return Fail(ErrorCode::kInvalidArgument, "--shared-prefix-tokens: {} is not between 0 and {}",
                workload.shared_prefix_tokens, kMaxLength);
  }
  if (workload.shared_prefixes < 1 || workload.shared_prefixes > kMaxSharedPrefixes) {
    return Fail(ErrorCode::kInvalidArgument, "--shared-prefixes: {} is not between 1 and {}",
                workload.shared_prefixes, kMaxSharedPrefixes);
  }
  if (Greatest(workload.turns) > kMaxTurns) {
    return Fail(ErrorCode::kInvalidArgument, "--turns: {} is more than {}",
                Greatest(workload.turns), kMaxTurns);
  }
  return {};
}

Result<void> CheckTogether(const Workload& workload) {
  if (!workload.prompt.empty() && !workload.prompts_path.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--prompt and --prompts: expected one of them");
  }
  if (workload.is_given() && workload.shared_prefix_tokens > 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "--shared-prefix-tokens is for generated prompts: expected no --prompt or "
                "--prompts beside it");
  }
  if (workload.is_given() && Greatest(workload.turns) > 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "--turns is for generated prompts: expected no --prompt or --prompts beside it");
  }
  return {};
}

}  // namespace

Result<Workload> ParseProfile(std::string_view text, const Workload& defaults) {
  Workload workload = defaults;
  workload.name.clear();
  const auto pairs = ParseKeyValues(text);
  if (!pairs) return Fail(pairs.error().code, "--profile: {}", pairs.error().message);
  for (const auto& [key, value] : *pairs) {
    const Result<void> set = SetKey(key, value, workload);
    if (!set) {
      return Fail(set.error().code, "--profile {}: {}: {}", Quoted(text), Quoted(key),
                  set.error().message);
    }
  }
  if (workload.name.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--profile {}: expected a name=...", Quoted(text));
  }
  return workload;
}

Result<void> CheckWorkload(const Workload& workload) {
  Result<void> checked = CheckRanges(workload);
  if (checked) checked = CheckTogether(workload);
  if (checked || workload.name == Workload().name) return checked;
  return Fail(checked.error().code, "profile {}: {}", Quoted(workload.name),
              checked.error().message);
}

}  // namespace weft
