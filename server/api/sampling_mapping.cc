#include "server/api/sampling_mapping.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/result.h"
#include "server/api/prompt_tokens.h"

namespace weft {

namespace {

constexpr std::array<std::pair<std::string_view, SamplerStage>, 9> kStages = {{
    {"penalties", SamplerStage::kPenalties},
    {"dry", SamplerStage::kDry},
    {"temperature", SamplerStage::kTemperature},
    {"top_n_sigma", SamplerStage::kTopNSigma},
    {"top_k", SamplerStage::kTopK},
    {"typical_p", SamplerStage::kTypicalP},
    {"top_p", SamplerStage::kTopP},
    {"min_p", SamplerStage::kMinP},
    {"xtc", SamplerStage::kXtc},
}};

void MapChain(const SamplingFields& fields, SamplingParams& sampling) {
  sampling.temperature = fields.temperature;
  sampling.dynatemp_range = fields.dynatemp_range;
  sampling.dynatemp_exponent = fields.dynatemp_exponent;
  sampling.top_k = fields.top_k;
  sampling.top_p = fields.top_p;
  sampling.min_p = fields.min_p;
  sampling.typical_p = fields.typical_p;
  sampling.top_n_sigma = fields.top_n_sigma;
  sampling.xtc_probability = fields.xtc_probability;
  sampling.xtc_threshold = fields.xtc_threshold;
  sampling.mirostat = fields.mirostat;
  sampling.mirostat_tau = fields.mirostat_tau;
  sampling.mirostat_eta = fields.mirostat_eta;
  sampling.repetition_penalty = fields.repetition_penalty;
  sampling.frequency_penalty = fields.frequency_penalty;
  sampling.presence_penalty = fields.presence_penalty;
  sampling.repeat_last_n = fields.repeat_last_n;
  sampling.dry = {.multiplier = fields.dry_multiplier,
                  .base = fields.dry_base,
                  .allowed_length = fields.dry_allowed_length,
                  .last_n = fields.dry_penalty_last_n,
                  .sequence_breakers = fields.dry_sequence_breakers};
  if (!fields.samplers) return;
  sampling.samplers.clear();
  for (const std::string& name : *fields.samplers) {
    const auto* stage =
        std::ranges::find(kStages, name, [](const auto& pair) { return pair.first; });
    WEFT_CHECK(stage != kStages.end());
    sampling.samplers.push_back(stage->second);
  }
}

// As vLLM: the word as it is and, where that is as many tokens but another first one, with a space
// before it, so that it is found at the beginning of a text and inside.
ApiResult<std::vector<std::vector<TokenId>>> TokenizeBadWords(const std::vector<std::string>& words,
                                                              const Tokenizer& tokenizer) {
  std::vector<std::vector<TokenId>> result;
  for (const std::string& word : words) {
    const size_t begin = std::min(word.find_first_not_of(' '), word.size());
    const std::string bare = word.substr(begin);
    const EncodeOptions options{.add_special_tokens = false};
    WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                          EncodeText(tokenizer, bare, options, "bad_words"));
    WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> spaced,
                          EncodeText(tokenizer, " " + bare, options, "bad_words"));
    const bool spaced_too =
        tokens.empty() || (spaced.size() == tokens.size() && spaced.front() != tokens.front());
    if (!tokens.empty()) result.push_back(std::move(tokens));
    if (!spaced.empty() && spaced_too) result.push_back(std::move(spaced));
  }
  return result;
}

ApiResult<void> CheckVocabulary(const SamplingFields& fields, int64_t vocab_size) {
  WEFT_RETURN_IF_ERROR(CheckTokenIds(fields.stop_token_ids, "stop_token_ids", vocab_size));
  WEFT_RETURN_IF_ERROR(CheckTokenIds(fields.allowed_token_ids, "allowed_token_ids", vocab_size));
  for (const auto& [token, bias] : fields.logit_bias) {
    if (token < vocab_size) continue;
    return tl::unexpected(InvalidField(
        fmt::format("logit_bias.{}", token),
        fmt::format("'logit_bias' names token id {}, but the vocabulary has ids 0 to {}", token,
                    vocab_size - 1)));
  }
  return {};
}

}  // namespace

ApiResult<SamplingParams> SamplingOf(const SamplingFields& fields, const Tokenizer& tokenizer) {
  WEFT_RETURN_IF_ERROR(CheckVocabulary(fields, tokenizer.vocab_size()));
  SamplingParams sampling;
  MapChain(fields, sampling);
  for (const auto& [token, bias] : fields.logit_bias)
    sampling.logit_bias.emplace_back(token, static_cast<float>(bias));
  sampling.allowed_token_ids = fields.allowed_token_ids;
  std::ranges::sort(sampling.allowed_token_ids);
  sampling.allowed_token_ids.erase(
      std::unique(sampling.allowed_token_ids.begin(), sampling.allowed_token_ids.end()),
      sampling.allowed_token_ids.end());
  WEFT_ASSIGN_OR_RETURN(sampling.bad_words, TokenizeBadWords(fields.bad_words, tokenizer));
  sampling.seed = fields.seed.value_or(0);
  sampling.min_tokens = fields.min_tokens;
  sampling.ignore_eos = fields.ignore_eos;
  sampling.stop = fields.stop;
  sampling.stop_token_ids = fields.stop_token_ids;
  sampling.include_stop = fields.include_stop;
  return sampling;
}

ApiResult<void> SetGeneration(const GenerationRequest& request, GenerationJob& job) {
  ApiResult<SamplingParams> sampling = SamplingOf(request.sampling, *job.model->tokenizer);
  if (!sampling) return tl::unexpected(std::move(sampling).error());
  job.sampling = *std::move(sampling);
  job.has_seed = request.sampling.seed.has_value();
  job.stream = request.stream;
  job.unknown_field_count = request.unknown_field_count;
  SetCacheUse(request.sampling, job);
  return {};
}

}  // namespace weft
