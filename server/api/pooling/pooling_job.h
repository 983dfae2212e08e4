// What endpoints share that make one thing of each text and generate nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/tokenizer/tokenizer.h"
#include "proto/prompt.h"
#include "proto/truncation.h"
#include "server/api/generation_job.h"

namespace weft {

// Texts that one request has in the engine at a time: it leaves room for others in the queue.
inline constexpr int32_t kMaxPooledInFlight = 32;

// Without texts and answer.
GenerationJob PoolingJob(const ServedModel& model, PoolingParams pooling);
// Appends what is pooled next.
void AddText(EncodedText text, GenerationJob& job);

// How many tokens a text may have: the model's context, or what the request says, if that is less.
int64_t MaxTextTokens(const ServedModel& model, const TruncationFields& fields);

// What the tokenizer made of the text at `path`. Errors: 400 at `path`, or at 'model' if its files
// ask for what is not there.
ApiResult<EncodedText> EncodedTextAt(const std::string& path, Result<EncodedText> text);

// A text with its special tokens, or token ids as they are; of ids the memory is taken. Errors: 400
// at `path`, of what is empty or too long.
ApiResult<EncodedText> EncodeInput(Prompt& input, const ServedModel& model,
                                   const TruncationFields& fields, const std::string& path);

// The same of a list of them, which the job's prompts become. `name` is their field's. How many
// tokens were dropped.
ApiResult<int64_t> AddInputs(PromptList& inputs, const std::string& name,
                             const TruncationFields& fields, GenerationJob& job);
// Puts the model's prompt of this name, or its default, before texts; token ids stay as they are.
// Errors: 400 at 'prompt_name'.
ApiResult<void> AddModelPrompt(std::string_view prompt_name, const ServedModel& model,
                               PromptList& inputs);
// Two texts that are read together.
ApiResult<EncodedText> EncodeInputPair(std::string_view first, std::string_view second,
                                       const ServedModel& model, const TruncationFields& fields,
                                       const std::string& path);

// 400 "context_length_exceeded". It says how to have a text cut where that `is_offered`.
ApiError TooManyTokens(const std::string& path, int64_t count, const ServedModel& model,
                       bool is_offered = true);

}  // namespace weft
