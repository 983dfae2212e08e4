// The tokens of what a request says, as text or as ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "proto/api_error.h"
#include "proto/prompt.h"

namespace weft {

// What a tokenizer made of a text that stands at `path` of a request. The error names it: the
// model's normalizer makes too much of it.
ApiResult<std::vector<TokenId>> EncodedAt(const std::string& path,
                                          Result<std::vector<TokenId>> tokens);
// The same of a text.
ApiResult<std::vector<TokenId>> EncodeText(const Tokenizer& tokenizer, std::string_view text,
                                           const EncodeOptions& options, const std::string& path);

// Errors name the first id that the vocabulary does not have: "prompt[3]".
ApiResult<void> CheckTokenIds(const std::vector<int32_t>& ids, const std::string& path,
                              int64_t vocab_size);

// Of a prompt in any shape; `options` are for text. May be empty. Ids are taken out of it.
ApiResult<std::vector<TokenId>> TakeTokens(Prompt& prompt, const Tokenizer& tokenizer,
                                           const EncodeOptions& options, const std::string& path);

tl::unexpected<ApiError> RefuseEmptyPrompt(const std::string& path);

}  // namespace weft
