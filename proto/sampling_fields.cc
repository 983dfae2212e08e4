#include "proto/sampling_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

// A list of strings, or where `may_be_one` says so a string alone.
struct StringList {
  std::string_view name;
  std::string_view what;  // "a stop string"
  int32_t max_count;
  int32_t max_bytes;
  bool may_be_one = false;
};

ApiResult<void> CheckString(const json& value, const StringList& list, const std::string& path,
                            std::vector<std::string>& output) {
  if (!value.is_string()) {
    return tl::unexpected(InvalidField(
        path, fmt::format("'{}' must be a string, not {}", path, DescribeJson(value))));
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > static_cast<size_t>(list.max_bytes)) {
    return tl::unexpected(InvalidField(path, fmt::format("'{}' has {} bytes; {} has 1 to {}", path,
                                                         text.size(), list.what, list.max_bytes)));
  }
  output.push_back(text);
  return {};
}

ApiResult<void> ReadStrings(const json& body, const StringList& list,
                            std::vector<std::string>& output) {
  const json* value = FindField(body, list.name);
  if (value == nullptr) return {};
  output.clear();
  const std::string name(list.name);
  if (list.may_be_one && !value->is_array()) return CheckString(*value, list, name, output);
  if (!value->is_array()) {
    return tl::unexpected(InvalidField(
        name, fmt::format("'{}' must be an array of strings, not {}", name, DescribeJson(*value))));
  }
  if (value->size() > static_cast<size_t>(list.max_count)) {
    return tl::unexpected(InvalidField(name, fmt::format("'{}' has {} strings; send at most {}",
                                                         name, value->size(), list.max_count)));
  }
  for (size_t i = 0; i < value->size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckString((*value)[i], list, fmt::format("{}[{}]", name, i), output));
  }
  return {};
}

ApiResult<void> ReadTokenIds(const json& body, const std::string& name, int32_t max_count,
                             std::vector<int32_t>& output) {
  const json* ids = FindField(body, name);
  if (ids == nullptr) return {};
  if (!ids->is_array() || ids->size() > static_cast<size_t>(max_count)) {
    return tl::unexpected(InvalidField(
        name, fmt::format("'{}' must be an array of at most {} token ids", name, max_count)));
  }
  for (size_t i = 0; i < ids->size(); ++i) {
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(CheckInteger((*ids)[i], fmt::format("{}[{}]", name, i), 0, kMaxInt32, id));
    output.push_back(id);
  }
  return {};
}

// -2^63 to 2^64-1: what signed and unsigned clients can say.
ApiResult<void> ReadSeed(const json& body, SamplingFields& fields) {
  const json* seed = FindField(body, "seed");
  if (seed == nullptr) return {};
  const json integer = IntegerOf(*seed);
  if (integer.is_null()) {
    return tl::unexpected(InvalidField(
        "seed", fmt::format("'seed' must be a 64-bit integer, not {}", DescribeJson(*seed))));
  }
  fields.seed = integer.is_number_unsigned() ? integer.get<uint64_t>()
                                             : static_cast<uint64_t>(integer.get<int64_t>());
  return {};
}

struct NumberField {
  std::string_view name;
  double minimum;
  double maximum;
  double SamplingFields::*member;
};
constexpr std::array kNumbers = {
    NumberField{"temperature", 0, 2, &SamplingFields::temperature},
    NumberField{"dynatemp_range", 0, 2, &SamplingFields::dynatemp_range},
    NumberField{"dynatemp_exponent", 0, 100, &SamplingFields::dynatemp_exponent},
    NumberField{"top_p", 0, 1, &SamplingFields::top_p},
    NumberField{"min_p", 0, 1, &SamplingFields::min_p},
    NumberField{"typical_p", 0, 1, &SamplingFields::typical_p},
    NumberField{"top_n_sigma", -1, 1000, &SamplingFields::top_n_sigma},
    NumberField{"xtc_probability", 0, 1, &SamplingFields::xtc_probability},
    NumberField{"xtc_threshold", 0, 1, &SamplingFields::xtc_threshold},
    NumberField{"mirostat_tau", 0, 100, &SamplingFields::mirostat_tau},
    NumberField{"mirostat_eta", 0, 1, &SamplingFields::mirostat_eta},
    NumberField{"repetition_penalty", 0.01, 100, &SamplingFields::repetition_penalty},
    NumberField{"repeat_penalty", 0.01, 100, &SamplingFields::repetition_penalty},
    NumberField{"frequency_penalty", -2, 2, &SamplingFields::frequency_penalty},
    NumberField{"presence_penalty", -2, 2, &SamplingFields::presence_penalty},
    NumberField{"dry_multiplier", 0, 100, &SamplingFields::dry_multiplier},
    NumberField{"dry_base", 1, 100, &SamplingFields::dry_base},
};

struct IntegerField {
  std::string_view name;
  int32_t minimum;
  int32_t maximum;
  int32_t SamplingFields::*member;
};
constexpr std::array kIntegers = {
    IntegerField{"top_k", -1, kMaxInt32, &SamplingFields::top_k},
    IntegerField{"mirostat", 0, 2, &SamplingFields::mirostat},
    IntegerField{"repeat_last_n", -1, kMaxInt32, &SamplingFields::repeat_last_n},
    IntegerField{"dry_allowed_length", 0, kMaxInt32, &SamplingFields::dry_allowed_length},
    IntegerField{"dry_penalty_last_n", -1, kMaxInt32, &SamplingFields::dry_penalty_last_n},
    IntegerField{"min_tokens", 0, kMaxInt32, &SamplingFields::min_tokens},
};

constexpr StringList kStop = {"stop", "a stop string", kMaxStopStrings, kMaxStopStringBytes, true};
constexpr StringList kBadWords = {"bad_words", "a bad word", kMaxBadWords, kMaxBadWordBytes};
constexpr StringList kBreakers = {"dry_sequence_breakers", "a sequence breaker", kMaxDryBreakers,
                                  kMaxDryBreakerBytes};

ApiResult<void> ReadScalars(const json& body, SamplingFields& fields) {
  for (const NumberField& field : kNumbers) {
    WEFT_RETURN_IF_ERROR(
        ReadNumber(body, field.name, field.minimum, field.maximum, fields.*field.member));
  }
  for (const IntegerField& field : kIntegers) {
    WEFT_RETURN_IF_ERROR(
        ReadInteger(body, field.name, field.minimum, field.maximum, fields.*field.member));
  }
  fields.top_k = std::max(fields.top_k, 0);
  if (fields.mirostat == 1) {
    return tl::unexpected(
        InvalidField("mirostat", "'mirostat' must be 0 or 2; version 1 is not supported"));
  }
  const json* name = FindField(body, "repetition_penalty");
  const json* other_name = FindField(body, "repeat_penalty");
  if (name != nullptr && other_name != nullptr && *name != *other_name) {
    return tl::unexpected(
        InvalidField("repeat_penalty",
                     "'repeat_penalty' and 'repetition_penalty' are two names of one value, "
                     "but differ; send one of them"));
  }
  return ReadBool(body, "ignore_eos", fields.ignore_eos);
}

// {"token id": bias}, as OpenAI has it.
ApiResult<void> ReadLogitBias(const json& body, SamplingFields& fields) {
  const json* biases = FindField(body, "logit_bias");
  if (biases == nullptr) return {};
  if (!biases->is_object() || biases->size() > static_cast<size_t>(kMaxBiasedTokens)) {
    return tl::unexpected(InvalidField(
        "logit_bias", fmt::format("'logit_bias' must be an object of at most {} token ids and "
                                  "their biases: {{\"50256\": -100}}",
                                  kMaxBiasedTokens)));
  }
  for (const auto& [key, value] : biases->items()) {
    const std::string path = fmt::format("logit_bias.{}", key.substr(0, 20));
    int32_t id = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size() &&
                       id >= 0 && std::to_string(id) == key;
    if (!is_id) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}' must be named by a token id, in decimal digits", path)));
    }
    if (!value.is_number() || value.get<double>() < -100 || value.get<double>() > 100) {
      return tl::unexpected(
          InvalidField(path, fmt::format("'{}' must be a number from -100 to 100, not {}", path,
                                         DescribeJson(value))));
    }
    fields.logit_bias.emplace_back(id, value.get<double>());
  }
  return {};
}

ApiResult<void> ReadAllowedTokens(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(
      ReadTokenIds(body, "allowed_token_ids", kMaxAllowedTokenIds, fields.allowed_token_ids));
  if (!fields.allowed_token_ids.empty() || FindField(body, "allowed_token_ids") == nullptr)
    return {};
  return tl::unexpected(InvalidField(
      "allowed_token_ids", "'allowed_token_ids' is an empty array; allow at least one token"));
}

ApiResult<void> ReadCacheFields(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(ReadBool(body, "cache_prompt", fields.cache_prompt));
  WEFT_RETURN_IF_ERROR(ReadString(body, "cache_salt", fields.cache_salt));
  if (!fields.cache_salt) return {};
  const size_t byte_count = fields.cache_salt->size();
  if (byte_count > 0 && byte_count <= static_cast<size_t>(kMaxCacheSaltBytes)) return {};
  return tl::unexpected(
      InvalidField("cache_salt", fmt::format("'cache_salt' has {} bytes; a salt has 1 to {}",
                                             byte_count, kMaxCacheSaltBytes)));
}

constexpr std::array<std::string_view, 9> kSamplerNames = {"penalties",   "dry",   "temperature",
                                                           "top_n_sigma", "top_k", "typical_p",
                                                           "top_p",       "min_p", "xtc"};

ApiResult<void> ReadSamplers(const json& body, SamplingFields& fields) {
  const json* names = FindField(body, "samplers");
  if (names == nullptr) return {};
  if (!names->is_array()) {
    return tl::unexpected(InvalidField(
        "samplers", fmt::format("'samplers' must be an array of names ({}), not {}",
                                fmt::join(kSamplerNames, ", "), DescribeJson(*names))));
  }
  std::vector<std::string>& output = fields.samplers.emplace();
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string path = fmt::format("samplers[{}]", i);
    const json& value = (*names)[i];
    // llama.cpp's server knows both names of one.
    const std::string name = value == "typ_p"    ? "typical_p"
                             : value.is_string() ? value.get<std::string>()
                                                 : std::string();
    if (std::ranges::find(kSamplerNames, name) == kSamplerNames.end()) {
      return tl::unexpected(
          InvalidField(path, fmt::format("'{}' must be one of {}, not {}", path,
                                         fmt::join(kSamplerNames, ", "), DescribeJson(value))));
    }
    if (std::ranges::find(output, name) != output.end()) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}' names '{}' a second time; each may act once", path, name)));
    }
    output.push_back(name);
  }
  return {};
}

constexpr std::array<std::string_view, 13> kOthers = {"stop",
                                                      "stop_token_ids",
                                                      "include_stop_str_in_output",
                                                      "bad_words",
                                                      "dry_sequence_breakers",
                                                      "logit_bias",
                                                      "samplers",
                                                      "allowed_token_ids",
                                                      "ignore_eos",
                                                      "seed",
                                                      "min_tokens",
                                                      "cache_prompt",
                                                      "cache_salt"};

constexpr std::array kUnsupported = {
    UnsupportedField{"skip_special_tokens", "true"},
    UnsupportedField{"spaces_between_special_tokens", "true"},
    UnsupportedField{"truncate_prompt_tokens", "null"},
    UnsupportedField{"logits_processors", "null"},
    UnsupportedField{"return_token_ids", "false"},
    UnsupportedField{"return_tokens_as_token_ids", "false"},
    UnsupportedField{"response_format", "{\"type\":\"text\"}"},
    UnsupportedField{"structured_outputs", "null"},
    UnsupportedField{"guided_json", "null"},
    UnsupportedField{"guided_regex", "null"},
    UnsupportedField{"guided_choice", "null"},
    UnsupportedField{"guided_grammar", "null"},
    UnsupportedField{"grammar", "\"\""},
    UnsupportedField{"json_schema", "null"},
    UnsupportedField{"n_predict", "null"},
    UnsupportedField{"n_indent", "0"},
    UnsupportedField{"n_probs", "0"},
    UnsupportedField{"min_keep", "0"},
    UnsupportedField{"post_sampling_probs", "false"},
    UnsupportedField{"t_max_predict_ms", "null"},
    UnsupportedField{"lora", "[]"},
};

}  // namespace

std::span<const std::string_view> SamplerNames() { return kSamplerNames; }

ApiResult<void> ReadSamplingFields(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(ReadScalars(body, fields));
  WEFT_RETURN_IF_ERROR(ReadSeed(body, fields));
  WEFT_RETURN_IF_ERROR(ReadStrings(body, kStop, fields.stop));
  WEFT_RETURN_IF_ERROR(ReadStrings(body, kBadWords, fields.bad_words));
  WEFT_RETURN_IF_ERROR(ReadStrings(body, kBreakers, fields.dry_sequence_breakers));
  WEFT_RETURN_IF_ERROR(
      ReadTokenIds(body, "stop_token_ids", kMaxStopTokenIds, fields.stop_token_ids));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "include_stop_str_in_output", fields.include_stop));
  WEFT_RETURN_IF_ERROR(ReadLogitBias(body, fields));
  WEFT_RETURN_IF_ERROR(ReadAllowedTokens(body, fields));
  WEFT_RETURN_IF_ERROR(ReadSamplers(body, fields));
  WEFT_RETURN_IF_ERROR(ReadCacheFields(body, fields));
  return RefuseUnsupported(body, kUnsupported);
}

ApiResult<void> CheckBeamSearch(const SamplingFields& fields) {
  const auto refuse = [](std::string_view name) {
    return tl::unexpected(InvalidField(
        std::string(name),
        fmt::format("'{}' cannot be combined with 'use_beam_search'; leave it out", name)));
  };
  const SamplingFields neutral;
  for (const NumberField& field : kNumbers) {
    const bool greedy = field.name == "temperature" && fields.temperature == 0;
    if (fields.*field.member != neutral.*field.member && !greedy) return refuse(field.name);
  }
  for (const IntegerField& field : kIntegers) {
    if (field.name != "min_tokens" && fields.*field.member != neutral.*field.member)
      return refuse(field.name);
  }
  if (fields.samplers) return refuse("samplers");
  if (!fields.logit_bias.empty()) return refuse("logit_bias");
  if (!fields.allowed_token_ids.empty()) return refuse("allowed_token_ids");
  if (!fields.bad_words.empty()) return refuse("bad_words");
  if (!fields.stop.empty()) return refuse("stop");
  return {};
}

bool IsSamplingField(std::string_view name) {
  return std::ranges::find(kNumbers, name, &NumberField::name) != kNumbers.end() ||
         std::ranges::find(kIntegers, name, &IntegerField::name) != kIntegers.end() ||
         std::ranges::find(kOthers, name) != kOthers.end() ||
         std::ranges::find(kUnsupported, name, &UnsupportedField::name) != kUnsupported.end();
}

}  // namespace weft
