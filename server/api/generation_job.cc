#include "server/api/generation_job.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <openssl/sha.h>

#include "engine/engine.h"

namespace weft {
namespace {

CacheSalt DigestOf(std::string_view text) {
  CacheSalt digest;
  static_assert(sizeof(digest) == SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace

ApiError TooLong(std::string param, std::string message) {
  ApiError error = InvalidField(std::move(param), std::move(message));
  error.code = "context_length_exceeded";
  return error;
}

GenerationSummary Summarize(const GenerationJob& job) {
  GenerationSummary summary{.model = job.model->id,
                            .usage = job.answer->usage(),
                            .times = job.answer->times(),
                            .finish_reasons = job.answer->finish_reasons(),
                            .choice_count = job.choice_count,
                            .max_tokens = job.sampling.max_tokens,
                            .temperature = job.sampling.temperature,
                            .top_p = job.sampling.top_p,
                            .seed = std::nullopt};
  if (job.has_seed) summary.seed = job.sampling.seed;
  return summary;
}

GenerationJob ExcessJob(const PrepareContext& context) {
  GenerationJob excess;
  excess.excess_bytes = context.max_bytes + 1;
  return excess;
}

void SetCacheUse(const SamplingFields& fields, GenerationJob& job) {
  job.reads_prefix_cache = fields.cache_prompt;
  if (fields.cache_salt) job.cache_salt = DigestOf(*fields.cache_salt);
}

void KeepPrefixesOf(std::string_view owner, GenerationJob& job) {
  // Names have no zero byte, and a salt has one length: no two of both give the same text.
  std::string text(owner);
  text += '\0';
  text.append(reinterpret_cast<const char*>(job.cache_salt.data()), job.cache_salt.size());
  job.cache_salt = DigestOf(text);
}

ApiResult<int32_t> FitMaxTokens(const ServedModel& model, const LengthRequest& request) {
  const int64_t context = model.engine->options().max_context;
  const int64_t room = context - request.prompt_tokens;
  ContextExcess excess{.context = context,
                       .prompt_tokens = request.prompt_tokens,
                       .max_tokens = 0,
                       .param = request.prompt_path,
                       .prompt = request.prompt_path};
  if (room < 0) return tl::unexpected(request.words(excess));
  const bool is_full = room == 0 && request.asked != 0;  // whatever is asked for
  if (is_full || (request.asked > room && !request.clamps)) {
    excess.max_tokens = request.asked.value_or(1);
    if (!is_full) excess.param = request.max_tokens_path;
    return tl::unexpected(request.words(excess));
  }
  const int64_t default_tokens = std::max<int64_t>(request.default_tokens, request.min_tokens);
  const int64_t tokens = std::min(int64_t{request.asked.value_or(default_tokens)}, room);
  if (request.min_tokens > tokens) {
    return tl::unexpected(TooLong(
        "min_tokens", fmt::format("'min_tokens' is {}, but the prompt leaves room for {} tokens",
                                  request.min_tokens, tokens)));
  }
  return static_cast<int32_t>(tokens);
}

ApiResult<void> CheckChoiceCount(const ServedModel& model, int32_t choice_count,
                                 const std::string& path) {
  const int32_t limit = model.engine->options().max_sequences;
  if (choice_count <= limit) return {};
  return tl::unexpected(InvalidField(
      path, fmt::format("'{}' is {}, but this server computes at most {} sequences at once", path,
                        choice_count, limit)));
}

}  // namespace weft
