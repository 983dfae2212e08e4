#include "tests/engine/random_schedule.h"

#include <algorithm>
#include <string>

#include "tests/engine/letter_constraint.h"

namespace weft {

int32_t Between(Random& random, int32_t low, int32_t high) {
  return low + static_cast<int32_t>(random() % static_cast<uint64_t>(high - low + 1));
}

bool OneIn(Random& random, int32_t n) { return Between(random, 1, n) == 1; }

std::string_view BytesOf(TokenId token) {
  static const std::vector<std::string> bytes = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 29; ++i)
      all.push_back(i < 20
                        ? std::string(1, static_cast<char>('a' + i % 5))
                        : std::string(static_cast<size_t>(i - 19), static_cast<char>('a' + i % 3)));
    return all;
  }();
  return bytes[static_cast<size_t>(token)];
}

void SearchBeams(Random& random, const Schedule& schedule, Request& request) {
  const auto total = static_cast<int64_t>(request.prompt.size()) + request.sampling.max_tokens;
  int64_t most =
      std::min(int64_t{schedule.engine.max_sequences}, int64_t{schedule.engine.max_batch_tokens});
  for (const StateGroup& group : schedule.model.groups) {
    if (group.is_source) continue;
    most =
        std::min(most, group.block_count / group.MostBlocks(total, schedule.engine.max_batch_tokens,
                                                            schedule.model.block_size));
  }
  if (most < request.choice_count || request.sampling.max_tokens == 0) return;
  SamplingParams& params = request.sampling;
  params.beam_width = Between(random, request.choice_count, static_cast<int32_t>(most));
  params.length_penalty = Between(random, -5, 20) / 10.0;
  params.early_stopping = OneIn(random, 3);
  params.logprobs = -1;
  params.stop.clear();
}

void AddPrompt(Random& random, const Schedule& schedule, int32_t token_count, Request& request) {
  if (!schedule.arrivals.empty() && OneIn(random, 2)) {
    const auto other =
        static_cast<size_t>(Between(random, 0, static_cast<int32_t>(schedule.arrivals.size()) - 1));
    const std::vector<TokenId>& shared = schedule.arrivals[other].request.prompt;
    const int32_t most = std::min(token_count, static_cast<int32_t>(shared.size()));
    const int32_t count = OneIn(random, 2) ? most : Between(random, 1, most);
    request.prompt.assign(shared.begin(), shared.begin() + count);
  }
  while (std::ssize(request.prompt) < token_count) request.prompt.push_back(Between(random, 0, 28));
  if (OneIn(random, 8)) request.cache_salt.fill(static_cast<uint8_t>(Between(random, 0, 1)));
  request.reads_prefix_cache = !OneIn(random, 12);
  if (OneIn(random, 3)) request.shared_counts.prompt = Between(random, 0, token_count + 3);
  if (OneIn(random, 3)) request.shared_counts.before_message = Between(random, 0, token_count);
}

namespace {

// What looks back on a sequence's tokens, and mirostat's own state.
void AddHistory(Random& random, SamplingParams& params) {
  if (OneIn(random, 3)) params.repetition_penalty = Between(random, 5, 20) / 10.0;
  if (OneIn(random, 3)) params.frequency_penalty = Between(random, -20, 20) / 10.0;
  if (OneIn(random, 3)) params.presence_penalty = Between(random, -20, 20) / 10.0;
  if (OneIn(random, 3)) params.repeat_last_n = Between(random, 0, 12);
  if (OneIn(random, 3)) params.dry.multiplier = Between(random, 1, 20) / 10.0;
  if (OneIn(random, 3)) params.dry.sequence_breakers = {"ab", "c"};
  if (OneIn(random, 4)) params.mirostat = 2;
  if (OneIn(random, 4)) params.mirostat_tau = Between(random, 0, 50) / 10.0;
  if (OneIn(random, 4)) params.xtc_probability = 0.5;
  if (OneIn(random, 4)) params.dynatemp_range = 0.5;
  if (OneIn(random, 4)) params.bad_words = {{1, 2}, {5}, {0, 0, 3}};
  if (OneIn(random, 4)) params.logit_bias = {{4, 2.5F}, {17, -100}};
  if (OneIn(random, 9)) params.allowed_token_ids = {0, 3, 4, 8, 17, 20};
  if (OneIn(random, 3)) std::shuffle(params.samplers.begin(), params.samplers.end(), random);
}

SamplingParams RandomSampling(Random& random, int32_t max_tokens) {
  SamplingParams params;
  params.max_tokens = max_tokens;
  params.min_tokens = OneIn(random, 4) ? Between(random, 0, max_tokens) : 0;
  params.temperature = OneIn(random, 3) ? 0 : Between(random, 1, 30) / 10.0;
  if (OneIn(random, 3)) params.top_k = Between(random, 1, 29);
  if (OneIn(random, 3)) params.top_p = Between(random, 0, 10) / 10.0;
  if (OneIn(random, 3)) params.min_p = Between(random, 0, 10) / 10.0;
  params.seed = random();
  params.ignore_eos = OneIn(random, 2);
  if (OneIn(random, 3)) params.stop = {"abc", "aa", "dea"};
  if (OneIn(random, 4)) params.stop_token_ids = {Between(random, 0, 28)};
  params.include_stop = OneIn(random, 3);
  params.logprobs = OneIn(random, 3) ? Between(random, 0, 5) : -1;
  params.prompt_logprobs = OneIn(random, 4);
  if (OneIn(random, 2)) AddHistory(random, params);
  return params;
}

// Turns a request into one for an embedding, or for logits.
void Pool(Random& random, Request& request) {
  PoolingParams& pooling = request.pooling.emplace();
  pooling.pooling = OneIn(random, 2) ? Pooling::kMean : Pooling::kLast;
  if (OneIn(random, 2)) {
    pooling.output = PooledOutput::kTokenLogits;
    for (int32_t i = Between(random, 1, 4); i > 0; --i) {
      pooling.tokens.push_back(Between(random, 0, 28));
    }
  }
  request.choice_count = 1;
  request.sampling = {};
  request.sampling.max_tokens = 0;
}

// One group that keeps all, as most models have; that one and others that forget; those alone; and
// states beside them or alone.
void AddGroups(Random& random, Schedule& schedule) {
  const int32_t kind = Between(random, 0, 6);
  std::vector<StateGroup>& groups = schedule.model.groups;
  const int32_t block_size = static_cast<int32_t>(schedule.model.block_size);
  if (kind <= 3) {
    const int32_t block_count = Between(random, 2, OneIn(random, 3) ? 80 : 16);
    groups.push_back({.block_count = block_count});
    schedule.engine.max_context =
        std::max(std::min(block_size * block_count, schedule.engine.max_context), 2);
  }
  const int32_t forgetting_count = kind <= 1 || kind == 6 ? 0 : kind == 2 || kind == 4 ? 1 : 2;
  for (int32_t i = 0; i < forgetting_count; ++i) {
    StateGroup group;
    const int32_t length = Between(random, 1, OneIn(random, 3) ? 30 : 8);
    (OneIn(random, 3) ? group.chunk : group.window) = length;
    const int64_t least =
        group.MostBlocks(schedule.engine.max_context, schedule.engine.max_batch_tokens, block_size);
    group.block_count = least + (OneIn(random, 3) ? 0 : Between(random, 0, 20));
    groups.push_back(group);
  }
  if (kind == 6 || OneIn(random, 3)) {
    groups.push_back({.is_recurrent = true,
                      .window = 2,
                      .block_count = Between(random, 2, OneIn(random, 3) ? 30 : 6),
                      .state_interval = OneIn(random, 2) ? 0 : Between(random, 1, 20)});
  }
  schedule.engine.reads_sources = OneIn(random, 4);
  if (!schedule.engine.reads_sources) return;
  const int32_t least = (schedule.engine.max_context + block_size - 1) / block_size;
  groups.push_back(
      {.is_source = true, .block_count = Between(random, 1, OneIn(random, 2) ? least : 3 * least)});
}

// Of new tokens, or an earlier request's; as long as the cache allows.
void AddSource(Random& random, const Schedule& schedule, Request& request) {
  if (!schedule.engine.reads_sources) return;
  if (!schedule.arrivals.empty() && OneIn(random, 2)) {
    request.source = schedule.arrivals.back().request.source;
    return;
  }
  const auto room =
      static_cast<int32_t>(schedule.model.groups.back().block_count * schedule.model.block_size);
  const int32_t count = Between(random, 1, std::min(room, schedule.engine.max_context));
  for (int32_t i = 0; i < count; ++i) request.source.push_back(Between(random, 0, 28));
}

}  // namespace

Schedule RandomSchedule(Random& random) {
  Schedule schedule;
  schedule.model.block_size = Between(random, 1, 6);
  schedule.engine.max_context = Between(random, 4, 60);
  schedule.engine.max_batch_tokens = Between(random, 1, OneIn(random, 2) ? 6 : 40);
  AddGroups(random, schedule);
  schedule.engine.max_sequences = Between(random, 1, 8);
  schedule.engine.end_tokens = {3, 17};
  schedule.engine.token_bytes = BytesOf;
  schedule.row_cost_us = Between(random, 0, 2) * Between(random, 1, 10'000);
  schedule.engine.max_stall = std::chrono::milliseconds(Between(random, 1, 100));
  schedule.engine.prefix_cache = !OneIn(random, 10);
  if (OneIn(random, 5)) schedule.failing_step_interval = Between(random, 5, 40);
  if (OneIn(random, 2)) schedule.mask_interval = Between(random, 1, 6);
  const int32_t request_count = Between(random, 1, 10);
  for (int32_t i = 0; i < request_count; ++i) {
    Arrival arrival;
    arrival.step = Between(random, 0, 25);
    if (OneIn(random, 5)) arrival.abort_step = arrival.step + Between(random, 0, 20);
    Request& request = arrival.request;
    request.id = static_cast<RequestId>(i) + 1;
    const int32_t prompt_count = Between(random, 1, schedule.engine.max_context - 1);
    AddPrompt(random, schedule, prompt_count, request);
    AddSource(random, schedule, request);
    const bool echo = request.source.empty() && OneIn(random, 12);
    request.sampling = RandomSampling(
        random, echo ? 0 : Between(random, 1, schedule.engine.max_context - prompt_count));
    request.sampling.prompt_logprobs = request.sampling.prompt_logprobs || echo;
    if (!request.source.empty()) request.sampling.prompt_logprobs = false;
    request.choice_count = OneIn(random, 3) ? Between(random, 1, schedule.engine.max_sequences) : 1;
    if (i > 0 && OneIn(random, 3)) {
      const Request& other =
          schedule.arrivals[static_cast<size_t>(Between(random, 0, i - 1))].request;
      request.job_id = other.job_id != 0 ? other.job_id : other.id;
    }
    request.priority = OneIn(random, 6) ? Between(random, -1, 1) : 0;
    if (OneIn(random, 6)) request.priority = kBackgroundPriority;
    if (OneIn(random, 4)) SearchBeams(random, schedule, request);
    if (request.source.empty() && OneIn(random, 6)) Pool(random, request);
    if (i % 3 == 0) {
      const size_t most =
          i % 2 == 0 ? LetterConstraint::kAnyLength : static_cast<size_t>(2 + prompt_count % 12);
      request.constraint = std::make_shared<const LetterConstraint>(BytesOf, 29, most);
      request.finish_by_length =
          prompt_count % 2 == 0 && request.sampling.beam_width == 0 && !request.pooling;
    }
    schedule.arrivals.push_back(std::move(arrival));
  }
  std::stable_sort(schedule.arrivals.begin(), schedule.arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.step < b.step; });
  return schedule;
}

}  // namespace weft
