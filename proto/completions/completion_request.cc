#include "proto/completions/completion_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_reader.h"
#include "proto/output_fields.h"
#include "proto/prompt_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ApiResult<void> ReadLengths(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadMaxTokens(body, "max_tokens", 0, request.max_tokens));
  request.has_no_limit = !request.max_tokens && body.contains("max_tokens");
  return CheckMinTokens(request, "max_tokens");
}

ApiResult<void> ReadChoices(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "n", 1, kMaxChoices, request.n));
  request.best_of = request.n;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "best_of", 1, kMaxChoices, request.best_of));
  if (request.best_of < request.n) {
    return tl::unexpected(InvalidField(
        "best_of", fmt::format("'best_of' is {}, less than 'n' ({})", request.best_of, request.n)));
  }
  const auto total = static_cast<int64_t>(request.prompts.size()) * request.best_of;
  if (total > kMaxTotalChoices) {
    const char* name = request.best_of > request.n ? "best_of" : "n";
    return tl::unexpected(InvalidField(
        name, fmt::format("{} prompts with {} {} make {} choices; at most {} a request",
                          request.prompts.size(), name, request.best_of, total, kMaxTotalChoices)));
  }
  return {};
}

ApiResult<void> ReadBeamSearch(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "length_penalty", -10, 10, request.length_penalty));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "early_stopping", request.early_stopping));
  if (request.use_beam_search) return CheckBeamSearch(request.sampling);
  if (request.length_penalty == 1 && !request.early_stopping) return {};
  const char* name = request.early_stopping ? "early_stopping" : "length_penalty";
  return tl::unexpected(InvalidField(
      name, fmt::format("'{}' has a meaning only together with 'use_beam_search': true", name)));
}

// What is known only when everything has been generated has no place in a stream.
ApiResult<void> CheckStreamable(const CompletionRequest& request) {
  if (!request.stream) return {};
  if (request.best_of > request.n) {
    return tl::unexpected(
        InvalidField("best_of",
                     "'best_of' above 'n' cannot be streamed: which choices are the best is known "
                     "at the end only"));
  }
  if (request.use_beam_search) {
    return tl::unexpected(
        InvalidField("use_beam_search",
                     "'use_beam_search' cannot be streamed: which texts are the best is "
                     "known at the end only"));
  }
  if (request.prompt_logprobs) {
    return tl::unexpected(InvalidField("prompt_logprobs",
                                       "'prompt_logprobs' cannot be streamed; leave out 'stream'"));
  }
  return {};
}

ApiResult<void> ReadOutput(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(body, "echo", request.echo));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "logprobs", 0, kMaxLogprobs, request.logprobs));
  WEFT_RETURN_IF_ERROR(
      ReadInteger(body, "prompt_logprobs", 0, kMaxLogprobs, request.prompt_logprobs));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "timings", request.timings));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "timings_per_token", request.timings));  // llama-server's
  WEFT_RETURN_IF_ERROR(ReadStreamOptions(body, request));
  WEFT_RETURN_IF_ERROR(CheckStreamable(request));
  if (request.use_beam_search && request.logprobs) {
    return tl::unexpected(InvalidField(
        "logprobs", "'logprobs' cannot be combined with 'use_beam_search'; leave it out"));
  }
  if (request.max_tokens == 0 && (request.use_beam_search || !request.echo)) {
    return tl::unexpected(InvalidField(
        "max_tokens", "'max_tokens' 0 generates nothing; ask for at least 1, or set 'echo'"));
  }
  return {};
}

constexpr std::array kUnsupportedCompletionFields = {
    UnsupportedField{"add_special_tokens", "true"},
};

constexpr auto kTextFields =
    JoinFields(std::to_array<std::string_view>({"response_format"}), kOutputFields);

constexpr auto kSupportedCompletionFields = JoinFields(
    std::to_array<std::string_view>({"use_beam_search", "length_penalty", "early_stopping",
                                     "prompt_logprobs", "suffix", "model", "prompt", "n", "best_of",
                                     "max_tokens", "echo", "logprobs", "stream", "stream_options",
                                     "user", "metadata", "timings", "timings_per_token", "task"}),
    kTextFields);

// A schema's members keep their order, so the body is read once more if it may have one: prompts
// may be more token ids than an ordered body can have.
ApiResult<void> ReadOutputFormat(const json& body, std::string_view text,
                                 CompletionRequest& request) {
  const bool has_fields = std::ranges::any_of(
      kTextFields, [&](std::string_view name) { return FindField(body, name) != nullptr; });
  if (!has_fields) return {};
  ApiResult<ordered_json> fields = ParseOrderedBody(text);
  if (!fields) return tl::unexpected(std::move(fields).error());
  const TypedFormat format{"response_format", FindField(*fields, "response_format"), true};
  WEFT_RETURN_IF_ERROR(ReadOutputFields(*fields, format, request));
  if (request.use_beam_search && request.finish_by_length) {
    return tl::unexpected(
        InvalidField("finish_by_length",
                     "'finish_by_length' cannot be combined with 'use_beam_search'; leave it out"));
  }
  return {};
}

}  // namespace

ApiResult<CompletionRequest> ParseCompletionRequest(std::string_view text,
                                                    const RequestRules& rules) {
  ApiResult<json> parsed = ParseBody(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  const json& body = *parsed;
  CompletionRequest request;
  std::optional<std::string> user;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  ApiResult<PromptList> prompts = ReadPrompts(body, "prompt", kMaxPrompts);
  if (!prompts) return tl::unexpected(std::move(prompts).error());
  request.prompts = std::move(prompts->prompts);
  request.prompt_is_list = prompts->is_list;
  std::optional<std::string> task;
  WEFT_RETURN_IF_ERROR(ReadString(body, "task", task));
  request.task = task.value_or("");
  std::optional<std::string> suffix;
  WEFT_RETURN_IF_ERROR(ReadString(body, "suffix", suffix));
  request.suffix = suffix.value_or("");
  WEFT_RETURN_IF_ERROR(ReadChoices(body, request));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "use_beam_search", request.use_beam_search));
  // A search for the likeliest texts has nothing of what sampling goes by.
  if (!request.use_beam_search) request.sampling = rules.sampling;
  WEFT_RETURN_IF_ERROR(ReadSamplingFields(body, request.sampling));
  WEFT_RETURN_IF_ERROR(ReadBeamSearch(body, request));
  WEFT_RETURN_IF_ERROR(ReadLengths(body, request));
  WEFT_RETURN_IF_ERROR(ReadOutput(body, request));
  WEFT_RETURN_IF_ERROR(ReadOutputFormat(body, text, request));
  WEFT_RETURN_IF_ERROR(ReadString(body, "user", user));
  WEFT_RETURN_IF_ERROR(CheckObject(body, "metadata"));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body, kUnsupportedCompletionFields));
  request.unknown_field_count +=
      CountUnknownGenerationFields(body, kSupportedCompletionFields, kUnsupportedCompletionFields);
  return request;
}

}  // namespace weft
