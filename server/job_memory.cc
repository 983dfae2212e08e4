#include "server/job_memory.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "server/request_budget.h"

namespace weft {
namespace {

// A request in the engine, with its sink; a choice, with what is sampled from and put together.
constexpr uint64_t kEngineRequestBytes = 2 << 10;
constexpr uint64_t kChoiceBytes = 4 << 10;
// A whole answer's text, the JSON value made of it, and its bytes, which may be escaped.
constexpr uint64_t kCopiesOfText = 4;
// Of a body's text; and a JSON value with its place in a list that grows.
constexpr uint64_t kPreparationFactor = 2;
constexpr uint64_t kValueBytes = 64;

uint64_t BytesOf(const SamplingParams& sampling) {
  uint64_t size = sampling.logit_bias.size() * sizeof(sampling.logit_bias[0]) +
                  sampling.allowed_token_ids.size() * sizeof(TokenId);
  for (const auto& word : sampling.bad_words) size += sizeof(word) + word.size() * sizeof(TokenId);
  for (const auto& stop : sampling.stop) size += sizeof(stop) + stop.size();
  return size;
}

// Each prompt waits with parameters of its own; its tokens are there twice, in its request and in
// the sequence made of it.
uint64_t BytesInEngine(const GenerationJob& job) {
  uint64_t size = 0;
  for (const std::vector<TokenId>& prompt : job.prompts)
    size += 2 * prompt.size() * sizeof(TokenId);
  const uint64_t each = kEngineRequestBytes + BytesOf(job.sampling) +
                        static_cast<uint64_t>(job.choice_count) * kChoiceBytes;
  return size + std::min(job.prompts.size(), static_cast<size_t>(job.max_in_flight)) * each;
}

ApiError NeverFits(uint64_t size_bytes, uint64_t largest_bytes) {
  ApiError error;
  error.code = "invalid_value";
  error.message = fmt::format(
      "this request and its answer take {} bytes of memory, and this server has {} for one; ask "
      "for less at once",
      size_bytes, largest_bytes);
  return error;
}

std::optional<ApiError> Hold(GenerationJob& job) {
  const LogprobUse& use = job.logprobs;
  const uint64_t others = job.prepared_bytes + job.generated_bytes;
  const uint64_t largest = job.hold->largest_bytes();
  if (others > largest) return NeverFits(others, largest);
  if (use.bytes_each > 0) {
    const uint64_t room = (largest - others) / use.bytes_each;
    const auto most = static_cast<uint64_t>(std::max(use.count, use.asked_count));
    if (most > room) {
      return InvalidField(
          use.path, fmt::format("{} log probabilities are more than the {} that this server has "
                                "memory for at once; lower '{}', 'n' or 'max_tokens'",
                                most, room, use.path));
    }
  }
  if (job.hold->Resize(others + static_cast<uint64_t>(use.count) * use.bytes_each)) {
    return std::nullopt;
  }
  return Overloaded();
}

}  // namespace

uint64_t PreparationBytes(uint64_t body_bytes) { return kPreparationFactor * body_bytes; }

uint64_t PreparationBytes(std::string_view body) {
  const auto values = static_cast<uint64_t>(std::ranges::count(body, ','));
  return std::max(PreparationBytes(body.size()), kValueBytes * values);
}

uint64_t LargestBodyBytes(uint64_t request_memory_bytes) {
  const uint64_t largest = RequestBudget(request_memory_bytes).anybody().largest_hold_bytes();
  return (largest - std::min(largest, kExchangeBytes)) / (1 + kPreparationFactor);
}

ApiError Overloaded() {
  return HttpError(503, "overloaded",
                   "requests take all the memory that there is for them; try again in a second");
}

std::optional<ApiError> HoldMore(ByteBudget::Hold& hold, uint64_t more_bytes) {
  if (hold.Take(more_bytes)) return std::nullopt;
  const uint64_t size_bytes = hold.bytes() + more_bytes;
  const uint64_t largest = hold.largest_bytes();
  return size_bytes > largest ? NeverFits(size_bytes, largest) : Overloaded();
}

std::optional<ApiError> HoldPrepared(GenerationJob& job, uint64_t body_bytes) {
  job.prepared_bytes = kExchangeBytes + body_bytes + BytesInEngine(job) + job.answer_bytes;
  return Hold(job);
}

std::optional<ApiError> HoldEvents(const std::vector<EngineEvent>& events, GenerationJob& job) {
  for (const EngineEvent& event : events) {
    const auto* tokens = std::get_if<TokensEvent>(&event.event);
    if (tokens == nullptr || (job.stream && !job.keeps_stream)) continue;
    job.generated_bytes +=
        kCopiesOfText * tokens->text.size() + tokens->tokens.size() * sizeof(TokenId);
    if (job.logprobs.is_streamed || job.logprobs.bytes_each == 0) continue;
    for (const TokenLogprob& entry : tokens->logprobs) {
      job.logprobs.count += 1 + std::ssize(entry.top);
    }
  }
  return Hold(job);
}

}  // namespace weft
