#include "server/sampling_mapping.h"

#include <utility>

#include <fmt/core.h>

#include "base/result.h"

namespace weft {

ApiResult<void> CheckTokenIds(const std::vector<int32_t>& ids, const std::string& path,
                              int64_t vocab_size) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < vocab_size) continue;
    std::string element = fmt::format("{}[{}]", path, i);
    std::string message = fmt::format("'{}' is token id {}, but the vocabulary has ids 0 to {}",
                                      element, ids[i], vocab_size - 1);
    return tl::unexpected(InvalidField(std::move(element), std::move(message)));
  }
  return {};
}

ApiResult<SamplingParams> SamplingOf(const SamplingFields& fields, const Tokenizer& tokenizer) {
  WEFT_RETURN_IF_ERROR(
      CheckTokenIds(fields.stop_token_ids, "stop_token_ids", tokenizer.vocab_size()));
  SamplingParams sampling;
  sampling.temperature = fields.temperature;
  sampling.top_k = fields.top_k;
  sampling.top_p = fields.top_p;
  sampling.min_p = fields.min_p;
  sampling.seed = fields.seed.value_or(0);
  sampling.min_tokens = fields.min_tokens;
  sampling.ignore_eos = fields.ignore_eos;
  sampling.stop = fields.stop;
  sampling.stop_token_ids = fields.stop_token_ids;
  sampling.include_stop = fields.include_stop;
  return sampling;
}

}  // namespace weft
