#include "loadtest/plan/conversations.h"

#include <algorithm>
#include <utility>

#include "base/quoted.h"
#include "loadtest/plan/prompt_file.h"
#include "loadtest/plan/seeds.h"

namespace weft {

Result<Conversations> Conversations::Open(const PlanOptions& options, LoadPlan& plan) {
  Conversations conversations(options);
  if (options.profiles.empty()) {
    WEFT_RETURN_IF_ERROR(conversations.AddProfile(options.workload, plan));
  }
  for (const std::string& text : options.profiles) {
    WEFT_ASSIGN_OR_RETURN(const Workload workload, ParseProfile(text, options.workload));
    WEFT_RETURN_IF_ERROR(conversations.AddProfile(workload, plan));
  }
  return conversations;
}

Result<void> Conversations::AddProfile(const Workload& workload, LoadPlan& plan) {
  WEFT_RETURN_IF_ERROR(CheckWorkload(workload));
  if (std::find(plan.profiles.begin(), plan.profiles.end(), workload.name) != plan.profiles.end()) {
    return Fail(ErrorCode::kInvalidArgument, "--profile: there are two of the name {}",
                Quoted(workload.name));
  }
  if (workload.is_given() && options_.vocabulary_size > 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "--vocabulary-size is for generated prompts: expected no --prompt or --prompts "
                "beside it");
  }
  Profile profile;
  profile.workload = workload;
  profile.weight_end = workload.weight + (profiles_.empty() ? 0 : profiles_.back().weight_end);
  profile.first_given_prompt = static_cast<int32_t>(plan.given_prompts.size());
  if (!workload.prompt.empty()) {
    plan.given_prompts.push_back({.text = workload.prompt, .messages = {}});
    profile.given_max_tokens.emplace_back();
  }
  if (!workload.prompts_path.empty()) {
    auto prompts = ReadPromptFile(workload.prompts_path);
    if (!prompts) return Fail(prompts.error().code, "--prompts: {}", prompts.error().message);
    for (FilePrompt& prompt : *prompts) {
      plan.given_prompts.push_back(std::move(prompt.prompt));
      profile.given_max_tokens.push_back(prompt.max_tokens);
    }
  }
  plan.profiles.push_back(workload.name);
  profiles_.push_back(std::move(profile));
  return {};
}

int32_t Conversations::distinct_count() const {
  if (profiles_.size() > 1 || profiles_[0].workload.prompts_path.empty()) return 0;
  return static_cast<int32_t>(profiles_[0].given_max_tokens.size());
}

size_t Conversations::DrawProfile(Random& random) const {
  const double draw = random.Uniform() * profiles_.back().weight_end;
  const auto chosen =
      std::find_if(profiles_.begin(), profiles_.end() - 1,
                   [draw](const Profile& profile) { return draw <= profile.weight_end; });
  return static_cast<size_t>(chosen - profiles_.begin());
}

PlannedRequest Conversations::Turn(size_t profile_index, uint64_t request_index, Random& random) {
  const Workload& workload = profiles_[profile_index].workload;
  PlannedRequest turn;
  turn.profile = static_cast<int32_t>(profile_index);
  turn.max_tokens = DrawLength(workload.max_tokens, random);
  if (!workload.is_given()) {
    const int32_t token_count =
        std::min(DrawLength(workload.prompt_tokens, random), options_.max_prompt_tokens);
    turn.segments.push_back({SeedOf(options_.seed, Purpose::kPrompts, request_index), token_count});
  }
  return turn;
}

PlannedRequest Conversations::FirstTurn(size_t profile_index, uint64_t request_index,
                                        Random& random) {
  Profile& profile = profiles_[profile_index];
  const Workload& workload = profile.workload;
  PlannedRequest turn = Turn(profile_index, request_index, random);
  if (workload.shared_prefix_tokens > 0) {
    const uint64_t prefix = random.Below(static_cast<uint64_t>(workload.shared_prefixes));
    const uint64_t seed = MixSeed(SeedOf(options_.seed, Purpose::kPrefixes, profile_index), prefix);
    turn.segments.insert(turn.segments.begin(), {seed, workload.shared_prefix_tokens});
  }
  if (workload.is_given()) {
    const size_t given = profile.conversation_count % profile.given_max_tokens.size();
    turn.given_prompt = profile.first_given_prompt + static_cast<int32_t>(given);
    turn.max_tokens = profile.given_max_tokens[given].value_or(turn.max_tokens);
  }
  ++profile.conversation_count;
  return turn;
}

void Conversations::Append(LoadPlan& plan, std::chrono::nanoseconds send_at, int64_t turn_limit) {
  Random random(SeedOf(options_.seed, Purpose::kLengths, conversation_count_++));
  const size_t profile_index = DrawProfile(random);
  const Workload& workload = profiles_[profile_index].workload;
  const int64_t turn_count = std::min<int64_t>(DrawLength(workload.turns, random), turn_limit);
  for (int64_t i = 0; i < turn_count; ++i) {
    const size_t request_index = plan.requests.size();
    PlannedRequest turn = i == 0 ? FirstTurn(profile_index, request_index, random)
                                 : Turn(profile_index, request_index, random);
    turn.send_at = send_at;
    if (i > 0) {
      turn.previous_turn = static_cast<int32_t>(request_index) - 1;
      turn.pause = workload.think_time;
    }
    Random behaviour(SeedOf(options_.seed, Purpose::kBehaviours, request_index));
    DrawBehaviour(options_.hostile, behaviour, turn);
    const bool hostile = turn.behaviour != Behaviour::kNormal;
    plan.requests.push_back(std::move(turn));
    if (hostile) break;  // there is no answer that a next turn could continue
  }
}

}  // namespace weft
