#include "server/api/pooling/pooling_job.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/check.h"
#include "base/result.h"
#include "engine/engine.h"
#include "server/api/prompt_tokens.h"

namespace weft {

GenerationJob PoolingJob(const ServedModel& model, PoolingParams pooling) {
  GenerationJob job;
  job.model = &model;
  job.has_seed = true;  // nothing is drawn
  job.sampling.max_tokens = 0;
  job.max_in_flight = kMaxPooledInFlight;
  job.pooling = std::move(pooling);
  return job;
}

void AddText(EncodedText text, GenerationJob& job) {
  job.prompts.push_back(std::move(text.ids));
  job.second_texts.push_back(text.second_text);
}

int64_t MaxTextTokens(const ServedModel& model, const TruncationFields& fields) {
  const int64_t context = model.engine->options().max_context;
  return fields.max_tokens ? std::min<int64_t>(*fields.max_tokens, context) : context;
}

ApiResult<EncodedText> EncodedTextAt(const std::string& path, Result<EncodedText> text) {
  if (text) return *std::move(text);
  const Error& error = text.error();
  switch (error.code) {
    case ErrorCode::kUnsupported:
      return tl::unexpected(InvalidField("model", error.message));
    case ErrorCode::kResourceExhausted:
      return tl::unexpected(
          InvalidField(path, fmt::format("'{}': {}; shorten it", path, error.message)));
    default:
      return tl::unexpected(InvalidField(path, fmt::format("'{}': {}", path, error.message)));
  }
}

namespace {

ApiResult<EncodedText> EncodeUnchecked(Prompt& input, const ServedModel& model,
                                       const TruncationFields& fields, const std::string& path) {
  Truncation truncation;
  if (fields.is_wanted) truncation.max_tokens = MaxTextTokens(model, fields);
  if (fields.keeps_end) truncation.side = Truncation::Side::kLeft;
  if (const auto* text = std::get_if<std::string>(&input)) {
    return EncodedTextAt(path, model.tokenizer->EncodeTruncated(*text, {}, truncation));
  }
  EncodedText encoded;
  WEFT_ASSIGN_OR_RETURN(encoded.ids, TakeTokens(input, *model.tokenizer, {}, path));
  const Result<int64_t> dropped = Truncate(truncation, 0, &encoded.ids, nullptr);
  WEFT_CHECK(dropped);  // it asks for one token at least, and there are no special ones
  encoded.dropped_count = *dropped;
  return encoded;
}

}  // namespace

ApiResult<EncodedText> EncodeInput(Prompt& input, const ServedModel& model,
                                   const TruncationFields& fields, const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(EncodedText text, EncodeUnchecked(input, model, fields, path));
  if (text.ids.empty()) return RefuseEmptyPrompt(path);
  const int64_t count = std::ssize(text.ids);
  if (count > MaxTextTokens(model, fields)) {
    return tl::unexpected(TooManyTokens(path, count, model));
  }
  return text;
}

ApiError TooManyTokens(const std::string& path, int64_t count, const ServedModel& model) {
  return TooLong(path, fmt::format("'{}' has {} tokens, but the model's context has {} positions; "
                                   "shorten it, or send \"truncate_prompt_tokens\": -1 to have it "
                                   "cut",
                                   path, count, model.engine->options().max_context));
}

}  // namespace weft
