#include "server/api/job_memory.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "proto/json_reader.h"
#include "proto/sparse/sparse_response.h"
#include "server/http/request_budget.h"

namespace weft {
namespace {

// A request in the engine, with its sink; a choice, with what is sampled from and put together.
constexpr uint64_t kEngineRequestBytes = 2 << 10;
constexpr uint64_t kChoiceBytes = 4 << 10;
constexpr uint64_t kDigestBytesPerToken = 1;  // in blocks of 32
// A whole answer's text, the JSON value made of it, and its bytes, which may be escaped.
constexpr uint64_t kCopiesOfText = 4;
// A token with its weight, and both in the answer's JSON.
constexpr uint64_t kSparseEntryBytes = 8 + kSparseEntryJsonBytes;
// Of a body's text; a number with its place in a list that grows; any other value, as it was parsed
// and in what is made of it for a template (230 bytes were measured, of objects with one member);
// and one in the text of a call's arguments (110).
constexpr uint64_t kPreparationFactor = 2;
constexpr uint64_t kNumberBytes = 64;
constexpr uint64_t kValueBytes = 256;
constexpr uint64_t kQuotedValueBytes = 128;

// What may become values, counted before there are any: each is the first of its container or
// stands behind a comma.
struct BodyCounts {
  uint64_t elements = 0;  // behind commas
  uint64_t containers = 0;
  uint64_t quoted = 0;  // both, in strings: they may be the arguments of calls
};

BodyCounts CountValues(std::string_view body) {
  BodyCounts counts;
  bool in_string = false;
  for (size_t i = 0; i < body.size(); ++i) {
    switch (body[i]) {
      case '"':
        in_string = !in_string;
        break;
      case ',':
        ++(in_string ? counts.quoted : counts.elements);
        break;
      case '[':
      case '{':
        ++(in_string ? counts.quoted : counts.containers);
        break;
      case '\\':
        ++i;
        if (body.substr(i, 3) == "u00") ++counts.quoted;  // it may be one of them
        break;
      default:
        break;
    }
  }
  return counts;
}

uint64_t BytesOf(const SamplingParams& sampling) {
  uint64_t size = sampling.logit_bias.size() * sizeof(sampling.logit_bias[0]) +
                  sampling.allowed_token_ids.size() * sizeof(TokenId);
  for (const std::vector<TokenId>& word : sampling.bad_words)
    size += sizeof(std::vector<TokenId>) + word.size() * sizeof(TokenId);
  for (const std::string& stop : sampling.stop) size += sizeof(std::string) + stop.size();
  return size;
}

// Each prompt waits with parameters of its own; its tokens are there twice, in its request and in
// the sequence made of it, which also has a digest for each KV block of them.
uint64_t BytesInEngine(const GenerationJob& job) {
  uint64_t size = 0;
  for (const std::vector<TokenId>& prompt : job.prompts)
    size += prompt.size() * (2 * sizeof(TokenId) + kDigestBytesPerToken);
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

uint64_t PreparationBytes::Count() const {
  const BodyCounts counts = CountValues(body_);
  const auto within_limit = [](uint64_t count) {
    return std::min(count, static_cast<uint64_t>(kMaxJsonValues));
  };
  return kPreparationFactor * size_bytes_ +
         std::max(kNumberBytes * counts.elements,
                  kValueBytes * within_limit(counts.elements + counts.containers)) +
         kQuotedValueBytes * within_limit(counts.quoted);
}

uint64_t LargestBodyBytes(uint64_t request_memory_bytes) {
  const uint64_t largest = RequestBudget(request_memory_bytes).anybody().largest_hold_bytes();
  return (largest - std::min(largest, kExchangeBytes)) / (1 + kPreparationFactor);
}

ApiError Overloaded() {
  return HttpError(503, "overloaded",
                   "requests take all the memory that there is for them; try again in a second");
}

ApiError NoRoom(const ByteBudget::Hold& hold, uint64_t size_bytes) {
  const uint64_t largest = hold.largest_bytes();
  return size_bytes > largest ? NeverFits(size_bytes, largest) : Overloaded();
}

std::optional<ApiError> HoldMore(ByteBudget::Hold& hold, uint64_t more_bytes) {
  if (hold.Take(more_bytes)) return std::nullopt;
  return NoRoom(hold, hold.bytes() + more_bytes);
}

std::optional<ApiError> HoldPrepared(GenerationJob& job, uint64_t body_bytes) {
  job.prepared_bytes = kExchangeBytes + body_bytes + BytesInEngine(job) + job.answer_bytes;
  return Hold(job);
}

std::optional<ApiError> HoldEvents(const std::vector<EngineEvent>& events, GenerationJob& job) {
  for (const EngineEvent& event : events) {
    // Of sparse vectors nobody knows beforehand how long they are.
    if (const auto* pooled = std::get_if<PooledResult>(&event.event)) {
      job.generated_bytes += pooled->tokens.size() * kSparseEntryBytes;
    }
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
