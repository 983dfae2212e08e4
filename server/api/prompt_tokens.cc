#include "server/api/prompt_tokens.h"

#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/result.h"

namespace weft {

ApiResult<std::vector<TokenId>> EncodedAt(const std::string& path,
                                          Result<std::vector<TokenId>> tokens) {
  if (tokens) return *std::move(tokens);
  return tl::unexpected(
      InvalidField(path, fmt::format("'{}': {}; shorten it", path, tokens.error().message)));
}

ApiResult<std::vector<TokenId>> EncodeText(const Tokenizer& tokenizer, std::string_view text,
                                           const EncodeOptions& options, const std::string& path) {
  return EncodedAt(path, tokenizer.Encode(text, options));
}

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

namespace {

ApiResult<std::vector<TokenId>> MixedTokens(const MixedPrompt& mixed, const Tokenizer& tokenizer,
                                            EncodeOptions options, const std::string& path) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < mixed.parts.size(); ++i) {
    if (const auto* text = std::get_if<std::string>(&mixed.parts[i])) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> part,
                            EncodeText(tokenizer, *text, options, fmt::format("{}[{}]", path, i)));
      tokens.insert(tokens.end(), part.begin(), part.end());
    } else {
      tokens.push_back(std::get<int32_t>(mixed.parts[i]));
    }
    options.add_special_tokens = false;  // but for a text that the prompt begins with
  }
  WEFT_RETURN_IF_ERROR(CheckTokenIds(tokens, path, tokenizer.vocab_size()));
  return tokens;
}

}  // namespace

ApiResult<std::vector<TokenId>> TakeTokens(Prompt& prompt, const Tokenizer& tokenizer,
                                           const EncodeOptions& options, const std::string& path) {
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    return EncodeText(tokenizer, *text, options, path);
  }
  if (const auto* mixed = std::get_if<MixedPrompt>(&prompt)) {
    return MixedTokens(*mixed, tokenizer, options, path);
  }
  auto& ids = std::get<std::vector<int32_t>>(prompt);
  WEFT_RETURN_IF_ERROR(CheckTokenIds(ids, path, tokenizer.vocab_size()));
  return std::move(ids);
}

tl::unexpected<ApiError> RefuseEmptyPrompt(const std::string& path) {
  return tl::unexpected(InvalidField(
      path, fmt::format("'{}' is empty and this model has no token that begins a text; send at "
                        "least one character",
                        path)));
}

}  // namespace weft
