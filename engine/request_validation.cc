#include "engine/request_validation.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"

namespace weft {
namespace {

Result<void> ValidateTokens(std::string_view what, const std::vector<TokenId>& tokens,
                            int64_t vocab_size) {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= vocab_size)
      return Fail(ErrorCode::kInvalidArgument,
                  "the {} has the token id {}, but the vocabulary ends at {}", what, token,
                  vocab_size - 1);
  }
  return {};
}

// What a model is short of that does not make this.
std::string_view LackFor(PooledOutput output) {
  switch (output) {
    case PooledOutput::kEmbedding:
      return "the model makes no embeddings";
    case PooledOutput::kLabels:
      return "the model has no classifier, so that it scores no labels";
    case PooledOutput::kTokenLogits:
      return "the model generates no text, so that it has no logits of a next token";
    case PooledOutput::kSparse:
      return "the model has no masked-language head, so that it makes no sparse vectors";
  }
  return "";
}

Result<void> ValidatePooling(const Request& request, const ModelRunner& runner) {
  const SamplingParams& params = request.sampling;
  const PoolingParams& pooling = *request.pooling;
  if (request.choice_count != 1 || params.max_tokens != 0 || params.beam_width != 0 ||
      params.prompt_logprobs)
    return Fail(
        ErrorCode::kInvalidArgument,
        "with pooling there is one choice, max_tokens is 0, and no beams or prompt_logprobs");
  if (!runner.makes(pooling.output))
    return Fail(ErrorCode::kInvalidArgument, "{}", LackFor(pooling.output));
  const bool of_tokens = pooling.output == PooledOutput::kTokenLogits;
  if (of_tokens == pooling.tokens.empty())
    return Fail(ErrorCode::kInvalidArgument, "{} tokens are named whose logits are wanted{}",
                pooling.tokens.size(),
                of_tokens ? ", expected one or more" : ", but logits are not");
  return ValidateTokens("list of tokens", pooling.tokens, runner.vocab_size());
}

Result<void> ValidateGeneration(const Request& request, const EngineOptions& options,
                                const ModelRunner& runner) {
  if (options.is_encoder)
    return Fail(ErrorCode::kInvalidArgument, "the model is an encoder, which generates nothing");
  if (!runner.generates())
    return Fail(ErrorCode::kInvalidArgument,
                "the model has no language head: it generates nothing");
  if (request.finish_by_length &&
      (request.constraint == nullptr || request.sampling.beam_width > 0))
    return Fail(ErrorCode::kInvalidArgument,
                "finish_by_length is for texts whose form is given, and not for beams");
  return ValidateSampling(request.sampling, runner.vocab_size());
}

Result<void> ValidateSource(const Request& request, const EngineOptions& options,
                            const ModelRunner& runner) {
  if (!options.reads_sources && !request.source.empty())
    return Fail(ErrorCode::kInvalidArgument,
                "there is a source, but the model has no encoder for it");
  if (!options.reads_sources) return {};
  if (request.pooling || request.sampling.prompt_logprobs)
    return Fail(ErrorCode::kInvalidArgument,
                "the model is an encoder-decoder: it makes no embeddings, and has no logprobs of a "
                "prompt");
  if (request.source.empty())
    return Fail(ErrorCode::kInvalidArgument,
                "the model is an encoder-decoder, but there is no source");
  WEFT_RETURN_IF_ERROR(ValidateTokens("source", request.source, runner.vocab_size()));
  const auto count = static_cast<int64_t>(request.source.size());
  const int64_t room = runner.groups().back().block_count * runner.block_size();
  if (count > std::min<int64_t>(options.max_context, room))
    return Fail(ErrorCode::kInvalidArgument,
                "the source has {} tokens, but the context has {} positions, and the cache of "
                "sources room for {}",
                count, options.max_context, room);
  return {};
}

Result<void> ValidateBeams(const Request& request, int64_t total_count,
                           const EngineOptions& options, const ModelRunner& runner) {
  const SamplingParams& params = request.sampling;
  const int64_t width = params.beam_width;
  const int64_t most = std::min(options.max_sequences, options.max_batch_tokens);
  if (width < request.choice_count || width > most)
    return Fail(ErrorCode::kInvalidArgument,
                "the number of beams is {}, but must be from the number of choices ({}) to {}",
                width, request.choice_count, most);
  // After preemption beams share nothing any more.
  for (const StateGroup& group : runner.groups()) {
    if (group.is_source) continue;  // which they share
    const int64_t block_count =
        width * group.MostBlocks(total_count, options.max_batch_tokens, runner.block_size());
    if (block_count > group.block_count)
      return Fail(ErrorCode::kInvalidArgument,
                  "{} beams of {} tokens take {} KV blocks, but there are {}", width, total_count,
                  block_count, group.block_count);
  }
  const int64_t end_count = std::ssize(options.end_tokens) + std::ssize(params.stop_token_ids);
  if (2 * width + end_count > runner.vocab_size())
    return Fail(ErrorCode::kInvalidArgument,
                "{} beams need {} tokens to choose from, but the vocabulary has {}", width,
                2 * width + end_count, runner.vocab_size());
  if (!params.stop.empty() || params.logprobs >= 0)
    return Fail(ErrorCode::kInvalidArgument,
                "stop strings and logprobs cannot be had with beam search");
  return {};
}

}  // namespace

Result<void> ValidateRequest(const Request& request, const EngineOptions& options,
                             const ModelRunner& runner) {
  WEFT_CHECK(request.sink != nullptr);
  const int64_t vocab_size = runner.vocab_size();
  WEFT_RETURN_IF_ERROR(ValidateSource(request, options, runner));
  WEFT_RETURN_IF_ERROR(request.pooling ? ValidatePooling(request, runner)
                                       : ValidateGeneration(request, options, runner));
  if (request.choice_count < 1 || request.choice_count > options.max_sequences)
    return Fail(ErrorCode::kInvalidArgument,
                "the number of choices is {}, but must be from 1 to {}", request.choice_count,
                options.max_sequences);
  if (request.prompt.empty())
    return Fail(ErrorCode::kInvalidArgument, "the prompt is empty, but must have a token");
  WEFT_RETURN_IF_ERROR(ValidateTokens("prompt", request.prompt, vocab_size));
  const auto prompt_count = static_cast<int64_t>(request.prompt.size());
  const int64_t total_count = prompt_count + request.sampling.max_tokens;
  if (total_count > options.max_context)
    return Fail(
        ErrorCode::kInvalidArgument,
        "the prompt's {} tokens and max_tokens {} make {}, but the context has {} positions",
        prompt_count, request.sampling.max_tokens, total_count, options.max_context);
  for (const StateGroup& group : runner.groups()) {
    if (group.is_source) continue;
    const int64_t block_count =
        group.MostBlocks(total_count, options.max_batch_tokens, runner.block_size());
    if (block_count > group.block_count)
      return Fail(
          ErrorCode::kInvalidArgument,
          "the prompt's {} tokens and max_tokens {} make {}, but the KV cache has room for {}",
          prompt_count, request.sampling.max_tokens, total_count,
          group.block_count * runner.block_size());
  }
  if (request.sampling.beam_width > 0) return ValidateBeams(request, total_count, options, runner);
  return {};
}

}  // namespace weft
