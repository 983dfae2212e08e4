#include "server/api/tokenize/tokenize_answers.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "proto/tokenize/tokenize_request.h"
#include "proto/tokenize/tokenize_response.h"
#include "server/api/conversation/reply_job.h"
#include "server/api/prompt_tokens.h"

namespace weft {
namespace {

// What an answer may hold: a body that says little can ask for much.
constexpr size_t kMaxListedTokens = 1 << 20;
constexpr size_t kMaxTextBytes = 8 << 20;

std::vector<std::string_view> StringsOf(const std::vector<TokenId>& tokens,
                                        const Tokenizer& tokenizer) {
  std::vector<std::string_view> strings;
  strings.reserve(tokens.size());
  for (const TokenId token : tokens) strings.push_back(tokenizer.TokenText(token));
  return strings;
}

std::vector<TokenPiece> PiecesOf(const std::vector<TokenId>& tokens, const Tokenizer& tokenizer) {
  std::vector<TokenPiece> pieces;
  pieces.reserve(tokens.size());
  for (const TokenId token : tokens) {
    std::string_view bytes = tokenizer.TokenBytes(token);
    if (bytes.empty()) bytes = tokenizer.TokenText(token);
    pieces.push_back({.bytes = bytes, .is_utf8 = ValidUtf8Prefix(bytes) == bytes.size()});
  }
  return pieces;
}

std::string BodyOf(const TokenizeRequest& request, const std::vector<TokenId>& tokens,
                   const ServedModel& model) {
  if (request.as_llama_cpp) {
    std::optional<std::vector<TokenPiece>> pieces;
    if (request.with_strings) pieces = PiecesOf(tokens, *model.tokenizer);
    return LlamaTokenizeJson(tokens, pieces);
  }
  std::optional<std::vector<std::string_view>> strings;
  if (request.with_strings) strings = StringsOf(tokens, *model.tokenizer);
  return TokenizeJson(tokens, model.engine->options().max_context, strings);
}

}  // namespace

ApiResult<PostAnswer> AnswerTokenize(std::string_view body, const PrepareContext& context) {
  ApiResult<TokenizeRequest> parsed = ParseTokenizeRequest(body, context.rules);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  TokenizeRequest& request = *parsed;
  const ApiResult<const ServedModel*> model = FindModel(request.model, context.models);
  if (!model) return tl::unexpected(model.error());
  if (request.chat) {
    ReplySetup setup;
    ApiResult<std::string> prompt = RenderReplyPrompt(*request.chat, **model, setup);
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    request.text = *std::move(prompt);
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> tokens,
                        EncodeText(*(*model)->tokenizer, request.text,
                                   {.add_special_tokens = request.add_special_tokens,
                                    .parse_special_tokens = request.parse_special_tokens},
                                   request.text_path));
  if (tokens.size() > kMaxListedTokens) {
    return tl::unexpected(InvalidField(
        request.text_path, fmt::format("'{}' has {} tokens; at most {} are listed at once",
                                       request.text_path, tokens.size(), kMaxListedTokens)));
  }
  return PostAnswer{.body = BodyOf(request, tokens, **model),
                    .unknown_field_count = request.unknown_field_count};
}

ApiResult<PostAnswer> AnswerDetokenize(std::string_view body, const PrepareContext& context) {
  const ApiResult<DetokenizeRequest> request = ParseDetokenizeRequest(body);
  if (!request) return tl::unexpected(request.error());
  const ApiResult<const ServedModel*> model = FindModel(request->model, context.models);
  if (!model) return tl::unexpected(model.error());
  const Tokenizer& tokenizer = *(*model)->tokenizer;
  WEFT_RETURN_IF_ERROR(CheckTokenIds(request->tokens, "tokens", tokenizer.vocab_size()));
  size_t text_bytes = 0;
  for (const TokenId token : request->tokens) text_bytes += tokenizer.TokenText(token).size();
  if (text_bytes > kMaxTextBytes) {
    return tl::unexpected(InvalidField(
        "tokens", fmt::format("'tokens' make a text of {} bytes; at most {} are given at once",
                              text_bytes, kMaxTextBytes)));
  }
  return PostAnswer{.body = DetokenizeJson(tokenizer.Decode(request->tokens, true)),
                    .unknown_field_count = request->unknown_field_count};
}

ApiResult<PostAnswer> AnswerApplyTemplate(std::string_view body, const PrepareContext& context) {
  const ApiResult<ChatRequest> request = ParseChatRequest(body, context.rules);
  if (!request) return tl::unexpected(request.error());
  const ApiResult<const ServedModel*> model = FindModel(request->model, context.models);
  if (!model) return tl::unexpected(model.error());
  ReplySetup setup;
  const ApiResult<std::string> prompt = RenderReplyPrompt(*request, **model, setup);
  if (!prompt) return tl::unexpected(prompt.error());
  return PostAnswer{.body = ApplyTemplateJson(*prompt),
                    .unknown_field_count = request->unknown_field_count};
}

}  // namespace weft
