#include "proto/sampling_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

// What fields hold, and within which limits.
struct NumberKind {
  double minimum;
  double maximum;
  double SamplingFields::*member;
};
struct IntegerKind {
  int32_t minimum;
  int32_t maximum;
  int32_t SamplingFields::*member;
};
struct FlagKind {
  bool SamplingFields::*member;
};
// A list of strings, or where `may_be_one` says so a string alone.
struct StringsKind {
  std::string_view what;  // "a stop string"
  int32_t max_count;
  int32_t max_bytes;
  std::vector<std::string> SamplingFields::*member;
  bool may_be_one = false;
};
struct TokenIdsKind {
  int32_t max_count;
  std::vector<int32_t> SamplingFields::*member;
  bool may_be_empty = true;
};
// Like no other: null and absence are left to it too.
struct OwnKind {
  ApiResult<void> (*read)(const json& body, SamplingFields& fields);
};

ApiResult<void> Read(const json& body, std::string_view name, const NumberKind& kind,
                     SamplingFields& fields) {
  return ReadNumber(body, name, kind.minimum, kind.maximum, fields.*kind.member);
}

ApiResult<void> Read(const json& body, std::string_view name, const IntegerKind& kind,
                     SamplingFields& fields) {
  return ReadInteger(body, name, kind.minimum, kind.maximum, fields.*kind.member);
}

ApiResult<void> Read(const json& body, std::string_view name, const FlagKind& kind,
                     SamplingFields& fields) {
  return ReadBool(body, name, fields.*kind.member);
}

ApiResult<void> CheckString(const json& value, const StringsKind& kind, const std::string& path,
                            std::vector<std::string>& output) {
  if (!value.is_string()) return RefuseValue(path, "a string", value);
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > static_cast<size_t>(kind.max_bytes)) {
    return tl::unexpected(InvalidField(path, fmt::format("'{}' has {} bytes; {} has 1 to {}", path,
                                                         text.size(), kind.what, kind.max_bytes)));
  }
  output.push_back(text);
  return {};
}

ApiResult<void> Read(const json& body, std::string_view field_name, const StringsKind& kind,
                     SamplingFields& fields) {
  const json* value = FindField(body, field_name);
  if (value == nullptr) return {};
  std::vector<std::string>& output = fields.*kind.member;
  output.clear();
  const std::string name(field_name);
  if (kind.may_be_one && !value->is_array()) return CheckString(*value, kind, name, output);
  if (!value->is_array()) return RefuseValue(name, "an array of strings", *value);
  if (value->size() > static_cast<size_t>(kind.max_count)) {
    return tl::unexpected(InvalidField(name, fmt::format("'{}' has {} strings; send at most {}",
                                                         name, value->size(), kind.max_count)));
  }
  for (size_t i = 0; i < value->size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckString((*value)[i], kind, fmt::format("{}[{}]", name, i), output));
  }
  return {};
}

ApiResult<void> Read(const json& body, std::string_view field_name, const TokenIdsKind& kind,
                     SamplingFields& fields) {
  const json* ids = FindField(body, field_name);
  if (ids == nullptr) return {};
  const std::string name(field_name);
  if (!ids->is_array() || ids->size() > static_cast<size_t>(kind.max_count)) {
    return tl::unexpected(InvalidField(
        name, fmt::format("'{}' must be an array of at most {} token ids", name, kind.max_count)));
  }
  if (ids->empty() && !kind.may_be_empty) {
    return tl::unexpected(
        InvalidField(name, fmt::format("'{}' is an empty array; allow at least one token", name)));
  }
  (fields.*kind.member).clear();
  for (size_t i = 0; i < ids->size(); ++i) {
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(CheckInteger((*ids)[i], fmt::format("{}[{}]", name, i), 0, kMaxInt32, id));
    (fields.*kind.member).push_back(id);
  }
  return {};
}

ApiResult<void> Read(const json& body, std::string_view, const OwnKind& kind,
                     SamplingFields& fields) {
  return kind.read(body, fields);
}

// -2^63 to 2^64-1: what signed and unsigned clients can say.
ApiResult<void> ReadSeed(const json& body, SamplingFields& fields) {
  const json* seed = FindField(body, "seed");
  if (seed == nullptr) return {};
  const json integer = IntegerOf(*seed);
  if (integer.is_null()) return RefuseValue("seed", "a 64-bit integer", *seed);
  fields.seed = integer.is_number_unsigned() ? integer.get<uint64_t>()
                                             : static_cast<uint64_t>(integer.get<int64_t>());
  return {};
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
  fields.logit_bias.clear();
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
      return RefuseValue(path, "a number from -100 to 100", value);
    }
    fields.logit_bias.emplace_back(id, value.get<double>());
  }
  return {};
}

ApiResult<void> ReadCacheSalt(const json& body, SamplingFields& fields) {
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
    return RefuseValue(
        "samplers", fmt::format("an array of names ({})", fmt::join(kSamplerNames, ", ")), *names);
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
      return RefuseValue(path, fmt::format("one of {}", fmt::join(kSamplerNames, ", ")), value);
    }
    if (std::ranges::find(output, name) != output.end()) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}' names '{}' a second time; each may act once", path, name)));
    }
    output.push_back(name);
  }
  return {};
}

// Every field that there is, in the order in which they are read.
struct ScalarField {
  std::string_view name;
  std::variant<NumberKind, IntegerKind> kind;
};
constexpr std::array kScalars = {
    ScalarField{"temperature", NumberKind{0, 2, &SamplingFields::temperature}},
    ScalarField{"dynatemp_range", NumberKind{0, 2, &SamplingFields::dynatemp_range}},
    ScalarField{"dynatemp_exponent", NumberKind{0, 100, &SamplingFields::dynatemp_exponent}},
    ScalarField{"top_p", NumberKind{0, 1, &SamplingFields::top_p}},
    ScalarField{"min_p", NumberKind{0, 1, &SamplingFields::min_p}},
    ScalarField{"typical_p", NumberKind{0, 1, &SamplingFields::typical_p}},
    ScalarField{"top_n_sigma", NumberKind{-1, 1000, &SamplingFields::top_n_sigma}},
    ScalarField{"xtc_probability", NumberKind{0, 1, &SamplingFields::xtc_probability}},
    ScalarField{"xtc_threshold", NumberKind{0, 1, &SamplingFields::xtc_threshold}},
    ScalarField{"mirostat_tau", NumberKind{0, 100, &SamplingFields::mirostat_tau}},
    ScalarField{"mirostat_eta", NumberKind{0, 1, &SamplingFields::mirostat_eta}},
    ScalarField{"repetition_penalty", NumberKind{0.01, 100, &SamplingFields::repetition_penalty}},
    ScalarField{"repeat_penalty", NumberKind{0.01, 100, &SamplingFields::repetition_penalty}},
    ScalarField{"frequency_penalty", NumberKind{-2, 2, &SamplingFields::frequency_penalty}},
    ScalarField{"presence_penalty", NumberKind{-2, 2, &SamplingFields::presence_penalty}},
    ScalarField{"dry_multiplier", NumberKind{0, 100, &SamplingFields::dry_multiplier}},
    ScalarField{"dry_base", NumberKind{1, 100, &SamplingFields::dry_base}},
    ScalarField{"top_k", IntegerKind{-1, kMaxInt32, &SamplingFields::top_k}},
    ScalarField{"mirostat", IntegerKind{0, 2, &SamplingFields::mirostat}},
    ScalarField{"repeat_last_n", IntegerKind{-1, kMaxInt32, &SamplingFields::repeat_last_n}},
    ScalarField{"dry_allowed_length",
                IntegerKind{0, kMaxInt32, &SamplingFields::dry_allowed_length}},
    ScalarField{"dry_penalty_last_n",
                IntegerKind{-1, kMaxInt32, &SamplingFields::dry_penalty_last_n}},
    ScalarField{"min_tokens", IntegerKind{0, kMaxInt32, &SamplingFields::min_tokens}},
};

struct OtherField {
  std::string_view name;
  std::variant<FlagKind, StringsKind, TokenIdsKind, OwnKind> kind;
};
constexpr std::array kOthers = {
    OtherField{"ignore_eos", FlagKind{&SamplingFields::ignore_eos}},
    OtherField{"seed", OwnKind{ReadSeed}},
    OtherField{"stop", StringsKind{"a stop string", kMaxStopStrings, kMaxStopStringBytes,
                                   &SamplingFields::stop, true}},
    OtherField{"bad_words", StringsKind{"a bad word", kMaxBadWords, kMaxBadWordBytes,
                                        &SamplingFields::bad_words}},
    OtherField{"dry_sequence_breakers",
               StringsKind{"a sequence breaker", kMaxDryBreakers, kMaxDryBreakerBytes,
                           &SamplingFields::dry_sequence_breakers}},
    OtherField{"stop_token_ids", TokenIdsKind{kMaxStopTokenIds, &SamplingFields::stop_token_ids}},
    OtherField{"include_stop_str_in_output", FlagKind{&SamplingFields::include_stop}},
    OtherField{"logit_bias", OwnKind{ReadLogitBias}},
    OtherField{"allowed_token_ids",
               TokenIdsKind{kMaxAllowedTokenIds, &SamplingFields::allowed_token_ids, false}},
    OtherField{"samplers", OwnKind{ReadSamplers}},
    OtherField{"cache_prompt", FlagKind{&SamplingFields::cache_prompt}},
    OtherField{"cache_salt", OwnKind{ReadCacheSalt}},
};

ApiResult<void> ReadAll(const json& body, const auto& table, SamplingFields& fields) {
  for (const auto& field : table) {
    WEFT_RETURN_IF_ERROR(std::visit(
        [&](const auto& kind) { return Read(body, field.name, kind, fields); }, field.kind));
  }
  return {};
}

// What no range says.
ApiResult<void> CheckScalars(const json& body, SamplingFields& fields) {
  fields.top_k = std::max(fields.top_k, 0);
  if (fields.mirostat == 1) {
    return tl::unexpected(
        InvalidField("mirostat", "'mirostat' must be 0 or 2; version 1 is not supported"));
  }
  const json* name = FindField(body, "repetition_penalty");
  const json* other_name = FindField(body, "repeat_penalty");
  if (name == nullptr || other_name == nullptr || *name == *other_name) return {};
  return tl::unexpected(
      InvalidField("repeat_penalty",
                   "'repeat_penalty' and 'repetition_penalty' are two names of one value, "
                   "but differ; send one of them"));
}

constexpr std::array kUnsupported = {
    UnsupportedField{"skip_special_tokens", "true"},
    UnsupportedField{"spaces_between_special_tokens", "true"},
    UnsupportedField{"truncate_prompt_tokens", "null"},
    UnsupportedField{"logits_processors", "null"},
    UnsupportedField{"return_token_ids", "false"},
    UnsupportedField{"return_tokens_as_token_ids", "false"},
    UnsupportedField{"grammar_lazy", "false"},
    UnsupportedField{"grammar_triggers", "[]"},
    UnsupportedField{"n_predict", "null"},
    UnsupportedField{"n_indent", "0"},
    UnsupportedField{"n_probs", "0"},
    UnsupportedField{"min_keep", "0"},
    UnsupportedField{"post_sampling_probs", "false"},
    UnsupportedField{"t_max_predict_ms", "null"},
    UnsupportedField{"lora", "[]"},
};

}  // namespace

nlohmann::ordered_json SamplingJson(const SamplingFields& fields) {
  nlohmann::ordered_json values;
  for (const ScalarField& field : kScalars) {
    std::visit([&](const auto& kind) { values[std::string(field.name)] = fields.*kind.member; },
               field.kind);
  }
  return values;
}

std::span<const std::string_view> SamplerNames() { return kSamplerNames; }

ApiResult<void> ReadSamplingFields(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(ReadAll(body, kScalars, fields));
  WEFT_RETURN_IF_ERROR(CheckScalars(body, fields));
  WEFT_RETURN_IF_ERROR(ReadAll(body, kOthers, fields));
  return RefuseUnsupported(body, kUnsupported);
}

ApiResult<void> CheckBeamSearch(const SamplingFields& fields) {
  const auto refuse = [](std::string_view name) {
    return tl::unexpected(InvalidField(
        std::string(name),
        fmt::format("'{}' cannot be combined with 'use_beam_search'; leave it out", name)));
  };
  const SamplingFields neutral;
  for (const ScalarField& field : kScalars) {
    const bool changes_nothing = std::visit(
        [&](const auto& kind) { return fields.*kind.member == neutral.*kind.member; }, field.kind);
    const bool greedy = field.name == "temperature" && fields.temperature == 0;
    if (!changes_nothing && !greedy && field.name != "min_tokens") return refuse(field.name);
  }
  if (fields.samplers) return refuse("samplers");
  if (!fields.logit_bias.empty()) return refuse("logit_bias");
  if (!fields.allowed_token_ids.empty()) return refuse("allowed_token_ids");
  if (!fields.bad_words.empty()) return refuse("bad_words");
  if (!fields.stop.empty()) return refuse("stop");
  return {};
}

bool IsSamplingField(std::string_view name) {
  return std::ranges::find(kScalars, name, &ScalarField::name) != kScalars.end() ||
         std::ranges::find(kOthers, name, &OtherField::name) != kOthers.end() ||
         std::ranges::find(kUnsupported, name, &UnsupportedField::name) != kUnsupported.end();
}

}  // namespace weft
