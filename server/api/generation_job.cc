#include "server/api/generation_job.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <openssl/sha.h>

#include "engine/engine.h"
#include "server/api/pooling/model_kind.h"

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

ApiError ModelNotFound(std::string_view id, const std::vector<ServedModel>& models) {
  std::string served;
  for (const ServedModel& model : models) {
    served += fmt::format("{}'{}'", served.empty() ? "" : ", ", model.id);
  }
  ApiError error;
  error.status = 404;
  error.code = "model_not_found";
  error.param = "model";
  error.message =
      fmt::format("the model '{}' does not exist; this server has {}", id.substr(0, 200), served);
  return error;
}

ApiResult<const ServedModel*> FindModel(const std::optional<std::string>& id,
                                        const std::vector<ServedModel>& models) {
  if (!id) return &models.front();
  const auto found = std::ranges::find(models, *id, &ServedModel::id);
  if (found == models.end()) return tl::unexpected(ModelNotFound(*id, models));
  return &*found;
}

ApiResult<const ServedModel*> FindGenerator(const std::optional<std::string>& id,
                                            const std::vector<ServedModel>& models,
                                            TakesSources takes_sources) {
  ApiResult<const ServedModel*> model = FindModel(id, models);
  if (!model) return model;
  const EngineOptions& engine = (*model)->engine->options();
  if (engine.is_encoder) {
    return tl::unexpected(NotServedBy(**model, "generates no text"));
  }
  if (engine.reads_sources && takes_sources == TakesSources::kNo) {
    return tl::unexpected(NotServedBy(**model, "holds no conversations"));
  }
  return model;
}

ApiResult<int32_t> FitMaxTokens(const ServedModel& model, const LengthRequest& request) {
  const int64_t context = model.engine->options().max_context;
  const int64_t room = context - request.prompt_tokens;
  if (room < 0 || (room == 0 && request.asked != 0)) {
    return tl::unexpected(
        TooLong(request.prompt_path,
                fmt::format("'{}' has {} tokens, but prompt and completion share a context of {}; "
                            "shorten the prompt",
                            request.prompt_path, request.prompt_tokens, context)));
  }
  if (request.asked > room && !request.asked_is_bound) {
    return tl::unexpected(
        TooLong(request.max_tokens_path,
                fmt::format("'{}' is {}, but a prompt of {} tokens leaves {} of the context of {}; "
                            "ask for at most {}",
                            request.max_tokens_path, *request.asked, request.prompt_tokens, room,
                            context, room)));
  }
  const int64_t default_tokens = std::max<int64_t>(request.default_tokens, request.min_tokens);
  const int64_t tokens = std::min<int64_t>(request.asked.value_or(default_tokens), room);
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
