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

Truncation TruncationOf(const ServedModel& model, const TruncationFields& fields) {
  Truncation truncation;
  if (fields.is_wanted) truncation.max_tokens = MaxTextTokens(model, fields);
  if (fields.keeps_end) truncation.side = Truncation::Side::kLeft;
  return truncation;
}

ApiResult<EncodedText> EncodeUnchecked(Prompt& input, const ServedModel& model,
                                       const TruncationFields& fields, const std::string& path) {
  const Truncation truncation = TruncationOf(model, fields);
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

ApiResult<EncodedText> CheckLength(EncodedText text, const ServedModel& model,
                                   const TruncationFields& fields, const std::string& path) {
  if (text.ids.empty()) return RefuseEmptyPrompt(path);
  const int64_t count = std::ssize(text.ids);
  if (count > MaxTextTokens(model, fields)) {
    return tl::unexpected(TooManyTokens(path, count, model, fields.is_offered));
  }
  return text;
}

}  // namespace

ApiResult<EncodedText> EncodeInput(Prompt& input, const ServedModel& model,
                                   const TruncationFields& fields, const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(EncodedText text, EncodeUnchecked(input, model, fields, path));
  return CheckLength(std::move(text), model, fields, path);
}

ApiResult<int64_t> AddInputs(PromptList& inputs, const std::string& name,
                             const TruncationFields& fields, GenerationJob& job) {
  int64_t dropped_count = 0;
  for (size_t i = 0; i < inputs.prompts.size(); ++i) {
    const std::string path = inputs.is_list ? fmt::format("{}[{}]", name, i) : name;
    WEFT_ASSIGN_OR_RETURN(EncodedText text,
                          EncodeInput(inputs.prompts[i], *job.model, fields, path));
    dropped_count += text.dropped_count;
    AddText(std::move(text), job);
  }
  return dropped_count;
}

ApiResult<void> AddModelPrompt(std::string_view prompt_name, const ServedModel& model,
                               PromptList& inputs) {
  const Result<std::string_view> prompt = model.prompts.Find(prompt_name);
  if (!prompt) {
    return tl::unexpected(
        InvalidField("prompt_name", fmt::format("'prompt_name': {}", prompt.error().message)));
  }
  for (Prompt& input : inputs.prompts) {
    if (auto* text = std::get_if<std::string>(&input)) text->insert(0, *prompt);
  }
  return {};
}

ApiResult<EncodedText> EncodeInputPair(std::string_view first, std::string_view second,
                                       const ServedModel& model, const TruncationFields& fields,
                                       const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(EncodedText text,
                        EncodedTextAt(path, model.tokenizer->EncodePair(
                                                first, second, {.parse_special_tokens = false},
                                                TruncationOf(model, fields))));
  return CheckLength(std::move(text), model, fields, path);
}

ApiError TooManyTokens(const std::string& path, int64_t count, const ServedModel& model,
                       bool is_offered) {
  const std::string_view cutting =
      is_offered ? R"(, or send "truncate_prompt_tokens": -1 to have it cut)" : "";
  return TooLong(
      path,
      fmt::format("'{}' is too large: it has {} tokens, and the model's context {} positions; "
                  "shorten it{}",
                  path, count, model.engine->options().max_context, cutting));
}

}  // namespace weft
