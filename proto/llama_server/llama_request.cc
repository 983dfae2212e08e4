#include "proto/llama_server/llama_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/output_fields.h"
#include "proto/prompt_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Those that are read here, by names that sampling fields do not have, or in forms that they do
// not.
constexpr auto kLlamaFields = std::to_array<std::string_view>(
    {"model", "prompt", "stream", "n_predict", "max_tokens", "n_probs", "return_tokens",
     "timings_per_token", "return_progress", "response_fields", "logit_bias", "seed", "samplers",
     "typ_p", "input_prefix", "input_suffix", "input_extra"});

// About slots, caches and the time that an answer may take: which slot computes, how a text that
// has outgrown the context is cut, what is drafted. Without effect.
constexpr auto kIgnoredLlamaFields =
    std::to_array<std::string_view>({"id_slot", "n_keep", "n_discard", "n_cache_reuse", "n_indent",
                                     "t_max_predict_ms", "t_max_prompt_ms", "backend_sampling"});

constexpr std::array kUnsupportedLlamaFields = {
    UnsupportedField{"n", "1"},
    UnsupportedField{"n_cmpl", "1"},
    UnsupportedField{"adaptive_target", "-1"},
};

// llama-server's clients name it so for a seed that is drawn.
constexpr int64_t kDrawnSeed = std::numeric_limits<uint32_t>::max();

// Takes the fields of these names out of a body.
json TakeLlamaFields(json& body, std::span<const std::string_view> names) {
  json taken = json::object();
  for (const std::string_view name : names) {
    const auto field = body.find(name);
    if (field == body.end()) continue;
    taken.emplace(name, std::move(*field));
    body.erase(field);
  }
  return taken;
}

ApiResult<double> ReadBias(const json& value, const std::string& path) {
  if (value == false) return kNeverBias;
  constexpr double kLargest = 100;  // which decides already
  if (value.is_number()) return std::clamp(value.get<double>(), -kLargest, kLargest);
  return RefuseValue(path, "a number, or false", value);
}

// The token id that a key of an object is.
std::optional<int32_t> TokenIdOf(const std::string& key) {
  int32_t id = 0;
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
  const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size() && id >= 0;
  return is_id ? std::optional(id) : std::nullopt;
}

ApiResult<void> ReadBiasPair(const json& pair, const std::string& path, LlamaRequest& request) {
  if (!pair.is_array() || pair.size() != 2) {
    return RefuseValue(path, "a token id or a text and its bias: [15043, -1.5]", pair);
  }
  WEFT_ASSIGN_OR_RETURN(const double bias, ReadBias(pair[1], path + "[1]"));
  if (pair[0].is_string()) {
    request.text_biases.emplace_back(pair[0].get<std::string>(), bias);
    return {};
  }
  int32_t id = 0;
  WEFT_RETURN_IF_ERROR(CheckInteger(pair[0], path + "[0]", 0, kMaxInt32, id));
  request.token_biases.emplace_back(id, bias);
  return {};
}

// [[id or text, bias], ...] or {id or text: bias, ...}; a bias of false: never.
ApiResult<void> ReadLlamaBiases(const json& fields, LlamaRequest& request) {
  const json* biases = FindField(fields, "logit_bias");
  if (biases == nullptr) {
    for (const auto& [id, bias] : request.sampling.logit_bias) {
      request.token_biases.emplace_back(id, bias);  // the server's defaults
    }
    return {};
  }
  if (!biases->is_structured() || biases->size() > static_cast<size_t>(kMaxBiasedTokens)) {
    return tl::unexpected(InvalidField(
        "logit_bias", fmt::format("'logit_bias' must be an array of at most {} token ids or texts "
                                  "and their biases: [[15043, -1.5], [\"Hello\", false]]",
                                  kMaxBiasedTokens)));
  }
  if (biases->is_array()) {
    for (size_t i = 0; i < biases->size(); ++i) {
      WEFT_RETURN_IF_ERROR(ReadBiasPair((*biases)[i], fmt::format("logit_bias[{}]", i), request));
    }
    return {};
  }
  for (const auto& [key, value] : biases->items()) {
    WEFT_ASSIGN_OR_RETURN(const double bias,
                          ReadBias(value, fmt::format("logit_bias.{}", key.substr(0, 20))));
    if (const std::optional<int32_t> id = TokenIdOf(key)) {
      request.token_biases.emplace_back(*id, bias);
    } else {
      request.text_biases.emplace_back(key, bias);
    }
  }
  return {};
}

ApiResult<void> ReadLlamaSampling(const json& fields, json& sampling, LlamaRequest& request) {
  if (const json* typical = FindField(fields, "typ_p")) sampling["typical_p"] = *typical;
  const json* seed = FindField(fields, "seed");
  if (seed != nullptr && IntegerOf(*seed) != -1 && IntegerOf(*seed) != kDrawnSeed) {
    sampling["seed"] = *seed;
  }
  // "infill" leaves out tokens that would not end where the text goes on; here what the suffix
  // makes likely does.
  if (const json* samplers = FindField(fields, "samplers")) {
    json& kept = sampling["samplers"] = *samplers;
    if (kept.is_array()) kept.erase(std::remove(kept.begin(), kept.end(), "infill"), kept.end());
  }
  WEFT_RETURN_IF_ERROR(ReadSamplingFields(sampling, request.sampling));
  WEFT_RETURN_IF_ERROR(ReadLlamaBiases(fields, request));
  request.sampling.logit_bias.clear();
  return {};
}

ApiResult<void> ReadPredict(const json& fields, LlamaRequest& request) {
  const bool has_own = FindField(fields, "n_predict") != nullptr;
  const std::string_view name = has_own ? "n_predict" : "max_tokens";
  int32_t limit = -1;  // below 0: as long as there is room
  WEFT_RETURN_IF_ERROR(ReadInteger(fields, name, -2, kMaxInt32, limit));
  if (limit >= 0) request.max_tokens = limit;
  return CheckMinTokens(request, name);
}

ApiResult<void> ReadChosenFields(const json& fields, LlamaRequest& request) {
  const json* list = FindField(fields, "response_fields");
  if (list == nullptr) return {};
  if (!list->is_array() || list->size() > kMaxResponseFields) {
    return RefuseValue("response_fields",
                       fmt::format("an array of at most {} paths", kMaxResponseFields), *list);
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const json& path = (*list)[i];
    if (!path.is_string()) {
      return RefuseValue(fmt::format("response_fields[{}]", i), "a string", path);
    }
    request.response_fields.push_back(path.get<std::string>());
  }
  return {};
}

ApiResult<void> ReadLlamaOutput(const json& fields, LlamaRequest& request) {
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "stream", request.stream));
  WEFT_RETURN_IF_ERROR(ReadInteger(fields, "n_probs", 0, kMaxLlamaProbs, request.n_probs));
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "return_tokens", request.returns_tokens));
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "timings_per_token", request.timings_per_token));
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "return_progress", request.returns_progress));
  return ReadChosenFields(fields, request);
}

// A schema's members keep their order, so the body is read once more if it may have one.
ApiResult<void> ReadLlamaFormat(const json& body, std::string_view text, LlamaRequest& request) {
  const bool has_fields = std::ranges::any_of(
      kOutputFields, [&](std::string_view name) { return FindField(body, name) != nullptr; });
  if (!has_fields) return {};
  WEFT_ASSIGN_OR_RETURN(ordered_json fields, ParseOrderedBody(text));
  return ReadOutputFields(fields, {}, request);
}

ApiResult<std::string> ReadInfillText(const json& fields, const std::string& name) {
  const json* text = FindField(fields, name);
  if (text == nullptr) return RefuseMissing(name, "send the text, or an empty one");
  if (!text->is_string()) return RefuseValue(name, "a string", *text);
  return text->get<std::string>();
}

ApiResult<InfillFile> ReadInfillFile(const json& value, const std::string& path) {
  if (!value.is_object()) return RefuseValue(path, R"({"filename", "text"})", value);
  const json* text = FindField(value, "text");
  if (text == nullptr) return RefuseMissing(path + ".text", "send what the file has");
  if (!text->is_string()) return RefuseValue(path + ".text", "a string", *text);
  const json* name = FindField(value, "filename");
  if (name != nullptr && !name->is_string()) {
    return RefuseValue(path + ".filename", "a string", *name);
  }
  return InfillFile{.name = name == nullptr ? "tmp" : name->get<std::string>(),
                    .text = text->get<std::string>()};
}

ApiResult<void> ReadInfill(const json& fields, LlamaRequest& request) {
  InfillText& infill = request.infill.emplace();
  WEFT_ASSIGN_OR_RETURN(infill.before, ReadInfillText(fields, "input_prefix"));
  WEFT_ASSIGN_OR_RETURN(infill.after, ReadInfillText(fields, "input_suffix"));
  std::optional<std::string> prompt;
  WEFT_RETURN_IF_ERROR(ReadString(fields, "prompt", prompt));
  request.prompt.prompts = {prompt.value_or("")};
  const json* files = FindField(fields, "input_extra");
  if (files == nullptr) return {};
  if (!files->is_array() || files->size() > kMaxInfillFiles) {
    return RefuseValue("input_extra", fmt::format("an array of at most {} files", kMaxInfillFiles),
                       *files);
  }
  for (size_t i = 0; i < files->size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(InfillFile file,
                          ReadInfillFile((*files)[i], fmt::format("input_extra[{}]", i)));
    infill.files.push_back(std::move(file));
  }
  return {};
}

ApiResult<LlamaRequest> ParseLlama(std::string_view text, const RequestRules& rules,
                                   bool is_infill) {
  WEFT_ASSIGN_OR_RETURN(json body, ParseBody(text));
  LlamaRequest request;
  request.sampling = rules.sampling;
  const json fields = TakeLlamaFields(body, kLlamaFields);
  const json ignored = TakeLlamaFields(body, kIgnoredLlamaFields);
  WEFT_RETURN_IF_ERROR(ReadString(fields, "model", request.model));
  if (is_infill) {
    WEFT_RETURN_IF_ERROR(ReadInfill(fields, request));
  } else {
    WEFT_ASSIGN_OR_RETURN(request.prompt,
                          ReadPrompts(fields, "prompt", kMaxLlamaPrompts, PromptKinds::kMixed));
  }
  WEFT_RETURN_IF_ERROR(ReadLlamaFormat(body, text, request));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body, kUnsupportedLlamaFields));
  WEFT_RETURN_IF_ERROR(ReadLlamaOutput(fields, request));
  WEFT_RETURN_IF_ERROR(ReadLlamaSampling(fields, body, request));
  WEFT_RETURN_IF_ERROR(ReadPredict(fields, request));
  request.unknown_field_count +=
      CountUnknownGenerationFields(body, kOutputFields, kUnsupportedLlamaFields);
  return request;
}

bool HasField(const json& body, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return body.contains(name); });
}

// An object, or null.
json BodyOrNull(std::string_view text) {
  ApiResult<json> body = ParseBody(text);
  return body ? *std::move(body) : json();
}

}  // namespace

ApiResult<LlamaRequest> ParseLlamaCompletion(std::string_view body, const RequestRules& rules) {
  return ParseLlama(body, rules, false);
}

ApiResult<LlamaRequest> ParseLlamaInfill(std::string_view body, const RequestRules& rules) {
  return ParseLlama(body, rules, true);
}

bool IsLlamaCompletion(std::string_view text) {
  constexpr auto kOwn =
      std::to_array<std::string_view>({"n_predict", "n_probs", "return_tokens", "timings_per_token",
                                       "return_progress", "response_fields", "id_slot"});
  constexpr auto kOpenAis = std::to_array<std::string_view>(
      {"model", "max_tokens", "echo", "logprobs", "best_of", "suffix", "stream_options"});
  const json body = BodyOrNull(text);
  return body.is_object() && (HasField(body, kOwn) || !HasField(body, kOpenAis));
}

bool IsLlamaEmbedding(std::string_view text) {
  constexpr auto kOwn = std::to_array<std::string_view>({"content", "embd_normalize"});
  constexpr auto kOpenAis =
      std::to_array<std::string_view>({"model", "encoding_format", "dimensions", "user"});
  const json body = BodyOrNull(text);
  return body.is_object() && (HasField(body, kOwn) || !HasField(body, kOpenAis));
}

}  // namespace weft
