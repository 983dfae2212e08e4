#include "proto/completion_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();

ApiError WrongPrompt(const std::string& path, const json& value) {
  return InvalidField(
      path, fmt::format("'{}' must be a string, an array of strings, an array of token ids, or an "
                        "array of arrays of token ids, not {}",
                        path, DescribeJson(value)));
}

ApiResult<Prompt> ReadTokenIds(const json& array, const std::string& path) {
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (const json& element : array) {
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(
        CheckInteger(element, fmt::format("{}[{}]", path, ids.size()), 0, kMaxInt32, id));
    ids.push_back(id);
  }
  if (ids.empty()) {
    return tl::unexpected(InvalidField(
        path, fmt::format("'{}' is an empty array; send at least one token id", path)));
  }
  return Prompt(std::move(ids));
}

// One element of a list of prompts.
ApiResult<Prompt> ReadListedPrompt(const json& value, const std::string& path) {
  if (value.is_string()) return Prompt(value.get<std::string>());
  if (value.is_array()) return ReadTokenIds(value, path);
  return tl::unexpected(WrongPrompt(path, value));
}

ApiResult<void> ReadPromptList(const json& list, CompletionRequest& request) {
  if (list.empty()) {
    return tl::unexpected(
        InvalidField("prompt", "'prompt' is an empty array; send at least one prompt"));
  }
  if (list.front().is_number()) {
    ApiResult<Prompt> ids = ReadTokenIds(list, "prompt");
    if (!ids) return tl::unexpected(std::move(ids).error());
    request.prompts.push_back(*std::move(ids));
    return {};
  }
  if (list.size() > kMaxPrompts) {
    return tl::unexpected(
        InvalidField("prompt", fmt::format("'prompt' has {} prompts; send at most {} a request",
                                           list.size(), kMaxPrompts)));
  }
  request.prompt_is_list = true;
  for (const json& element : list) {
    ApiResult<Prompt> prompt =
        ReadListedPrompt(element, fmt::format("prompt[{}]", request.prompts.size()));
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    request.prompts.push_back(*std::move(prompt));
    if (request.prompts.back().index() != request.prompts.front().index()) {
      return tl::unexpected(InvalidField(
          fmt::format("prompt[{}]", request.prompts.size() - 1),
          "'prompt' mixes strings and arrays of token ids; send prompts of one kind a request"));
    }
  }
  return {};
}

ApiResult<void> ReadPrompts(const json& body, CompletionRequest& request) {
  const json* prompt = FindField(body, "prompt");
  if (prompt == nullptr) {
    ApiError error = InvalidField("prompt", "'prompt' is missing; send the text to continue");
    error.code = "missing_required_parameter";
    return tl::unexpected(std::move(error));
  }
  if (prompt->is_string()) {
    request.prompts.emplace_back(prompt->get<std::string>());
    return {};
  }
  if (!prompt->is_array()) return tl::unexpected(WrongPrompt("prompt", *prompt));
  return ReadPromptList(*prompt, request);
}

ApiResult<void> CheckStopString(const json& value, const std::string& path,
                                std::vector<std::string>& stop) {
  if (!value.is_string()) {
    return tl::unexpected(InvalidField(
        path, fmt::format("'{}' must be a string, not {}", path, DescribeJson(value))));
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > kMaxStopStringBytes) {
    return tl::unexpected(
        InvalidField(path, fmt::format("'{}' has {} bytes; a stop string has 1 to {}", path,
                                       text.size(), kMaxStopStringBytes)));
  }
  stop.push_back(text);
  return {};
}

ApiResult<void> ReadStop(const json& body, CompletionRequest& request) {
  const json* stop = FindField(body, "stop");
  if (stop == nullptr) return {};
  if (!stop->is_array()) return CheckStopString(*stop, "stop", request.stop);
  if (stop->size() > kMaxStopStrings) {
    return tl::unexpected(InvalidField("stop", fmt::format("'stop' has {} strings; send at most {}",
                                                           stop->size(), kMaxStopStrings)));
  }
  for (size_t i = 0; i < stop->size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckStopString((*stop)[i], fmt::format("stop[{}]", i), request.stop));
  }
  return {};
}

ApiResult<void> ReadStopTokenIds(const json& body, CompletionRequest& request) {
  const json* ids = FindField(body, "stop_token_ids");
  if (ids == nullptr) return {};
  if (!ids->is_array() || ids->size() > kMaxStopTokenIds) {
    return tl::unexpected(InvalidField(
        "stop_token_ids", fmt::format("'stop_token_ids' must be an array of at most {} token ids",
                                      kMaxStopTokenIds)));
  }
  for (size_t i = 0; i < ids->size(); ++i) {
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(
        CheckInteger((*ids)[i], fmt::format("stop_token_ids[{}]", i), 0, kMaxInt32, id));
    request.stop_token_ids.push_back(id);
  }
  return {};
}

// -2^63 to 2^64-1: what signed and unsigned clients can say.
ApiResult<void> ReadSeed(const json& body, CompletionRequest& request) {
  const json* seed = FindField(body, "seed");
  if (seed == nullptr) return {};
  if (!seed->is_number_integer()) {
    return tl::unexpected(InvalidField(
        "seed", fmt::format("'seed' must be a 64-bit integer, not {}", DescribeJson(*seed))));
  }
  request.seed = seed->is_number_unsigned() ? seed->get<uint64_t>()
                                            : static_cast<uint64_t>(seed->get<int64_t>());
  return {};
}

ApiResult<void> ReadSampling(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "temperature", 0.0, 2.0, request.temperature));
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "top_p", 0.0, 1.0, request.top_p));
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "min_p", 0.0, 1.0, request.min_p));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "top_k", -1, kMaxInt32, request.top_k));
  request.top_k = std::max(request.top_k, 0);
  return ReadSeed(body, request);
}

ApiResult<void> ReadLengths(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "max_tokens", 0, kMaxInt32, request.max_tokens));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "min_tokens", 0, kMaxInt32, request.min_tokens));
  if (request.max_tokens && request.min_tokens > *request.max_tokens) {
    return tl::unexpected(
        InvalidField("min_tokens", fmt::format("'min_tokens' is {}, more than 'max_tokens' ({})",
                                               request.min_tokens, *request.max_tokens)));
  }
  WEFT_RETURN_IF_ERROR(ReadBool(body, "ignore_eos", request.ignore_eos));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "include_stop_str_in_output", request.include_stop));
  WEFT_RETURN_IF_ERROR(ReadStop(body, request));
  return ReadStopTokenIds(body, request);
}

ApiResult<void> ReadChoices(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "n", 1, kMaxChoices, request.n));
  const auto total = static_cast<int64_t>(request.prompts.size()) * request.n;
  if (total > kMaxTotalChoices) {
    return tl::unexpected(
        InvalidField("n", fmt::format("{} prompts with n {} make {} choices; at most {} a request",
                                      request.prompts.size(), request.n, total, kMaxTotalChoices)));
  }
  int32_t best_of = request.n;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "best_of", 1, kMaxChoices, best_of));
  if (best_of != request.n) {
    ApiError error = InvalidField(
        "best_of", "'best_of' other than 'n' is not supported yet; leave it out or make it equal");
    error.code = "unsupported_parameter";
    return tl::unexpected(std::move(error));
  }
  return {};
}

ApiResult<void> ReadOutput(const json& body, CompletionRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(body, "echo", request.echo));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "logprobs", 0, kMaxLogprobs, request.logprobs));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "stream", request.stream));
  if (request.max_tokens == 0 && !request.echo) {
    return tl::unexpected(InvalidField(
        "max_tokens", "'max_tokens' 0 generates nothing; ask for at least 1, or set 'echo'"));
  }
  const json* options = FindField(body, "stream_options");
  if (options == nullptr) return {};
  if (!options->is_object()) {
    return tl::unexpected(InvalidField(
        "stream_options",
        fmt::format("'stream_options' must be an object, not {}", DescribeJson(*options))));
  }
  if (!request.stream) {
    return tl::unexpected(InvalidField(
        "stream_options", "'stream_options' has a meaning only together with 'stream': true"));
  }
  return ReadBool(*options, "include_usage", request.include_usage, "stream_options.");
}

// Options of OpenAI's API or of other servers that would change the answer and that Weft does not
// have. A value that changes nothing is accepted, because clients send their defaults.
struct UnsupportedOption {
  std::string_view name;
  std::string_view neutral;  // JSON text; null always is
};
constexpr std::array kUnsupported = {
    UnsupportedOption{"suffix", "\"\""},
    UnsupportedOption{"logit_bias", "{}"},
    UnsupportedOption{"presence_penalty", "0"},
    UnsupportedOption{"frequency_penalty", "0"},
    UnsupportedOption{"repetition_penalty", "1"},
    UnsupportedOption{"length_penalty", "1"},
    UnsupportedOption{"use_beam_search", "false"},
    UnsupportedOption{"skip_special_tokens", "true"},
    UnsupportedOption{"add_special_tokens", "true"},
    UnsupportedOption{"truncate_prompt_tokens", "null"},
    UnsupportedOption{"prompt_logprobs", "null"},
    UnsupportedOption{"response_format", "{\"type\":\"text\"}"},
    UnsupportedOption{"structured_outputs", "null"},
    UnsupportedOption{"guided_json", "null"},
    UnsupportedOption{"guided_regex", "null"},
    UnsupportedOption{"guided_choice", "null"},
    UnsupportedOption{"guided_grammar", "null"},
    UnsupportedOption{"grammar", "\"\""},
    UnsupportedOption{"json_schema", "null"},
    UnsupportedOption{"bad_words", "[]"},
    UnsupportedOption{"allowed_token_ids", "null"},
    UnsupportedOption{"typical_p", "1"},
};

ApiResult<void> RefuseUnsupported(const json& body) {
  for (const UnsupportedOption& option : kUnsupported) {
    const json* value = FindField(body, option.name);
    if (value == nullptr || *value == json::parse(option.neutral)) continue;
    ApiError error = InvalidField(
        std::string(option.name),
        fmt::format("'{}' is not supported by this server; leave it out", option.name));
    error.code = "unsupported_parameter";
    return tl::unexpected(std::move(error));
  }
  return {};
}

constexpr std::array<std::string_view, 21> kSupported = {
    "model",    "prompt", "n",           "best_of",        "max_tokens",
    "echo",     "top_p",  "min_p",       "top_k",          "min_tokens",
    "seed",     "stop",   "temperature", "stop_token_ids", "include_stop_str_in_output",
    "logprobs", "stream", "ignore_eos",  "stream_options", "user",
    "metadata"};

int32_t CountUnknown(const json& body) {
  int32_t count = 0;
  for (const auto& [name, value] : body.items()) {
    const bool supported = std::ranges::find(kSupported, name) != kSupported.end();
    const bool refused =
        std::ranges::find(kUnsupported, name, &UnsupportedOption::name) != kUnsupported.end();
    if (!supported && !refused) ++count;
  }
  return count;
}

}  // namespace

ApiResult<CompletionRequest> ParseCompletionRequest(std::string_view text) {
  ApiResult<json> parsed = ParseJson(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  const json& body = *parsed;
  if (!body.is_object()) {
    return tl::unexpected(InvalidField(
        "", fmt::format("the request body must be a JSON object, not {}", DescribeJson(body))));
  }
  CompletionRequest request;
  std::optional<std::string> user;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_RETURN_IF_ERROR(ReadPrompts(body, request));
  WEFT_RETURN_IF_ERROR(ReadChoices(body, request));
  WEFT_RETURN_IF_ERROR(ReadLengths(body, request));
  WEFT_RETURN_IF_ERROR(ReadSampling(body, request));
  WEFT_RETURN_IF_ERROR(ReadOutput(body, request));
  WEFT_RETURN_IF_ERROR(ReadString(body, "user", user));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body));
  request.unknown_field_count = CountUnknown(body);
  return request;
}

}  // namespace weft
