#include "proto/sampling_fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();

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

ApiResult<void> ReadStop(const json& body, SamplingFields& fields) {
  const json* stop = FindField(body, "stop");
  if (stop == nullptr) return {};
  if (!stop->is_array()) return CheckStopString(*stop, "stop", fields.stop);
  if (stop->size() > kMaxStopStrings) {
    return tl::unexpected(InvalidField("stop", fmt::format("'stop' has {} strings; send at most {}",
                                                           stop->size(), kMaxStopStrings)));
  }
  for (size_t i = 0; i < stop->size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckStopString((*stop)[i], fmt::format("stop[{}]", i), fields.stop));
  }
  return {};
}

ApiResult<void> ReadStopTokenIds(const json& body, SamplingFields& fields) {
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
    fields.stop_token_ids.push_back(id);
  }
  return {};
}

// -2^63 to 2^64-1: what signed and unsigned clients can say.
ApiResult<void> ReadSeed(const json& body, SamplingFields& fields) {
  const json* seed = FindField(body, "seed");
  if (seed == nullptr) return {};
  if (!seed->is_number_integer()) {
    return tl::unexpected(InvalidField(
        "seed", fmt::format("'seed' must be a 64-bit integer, not {}", DescribeJson(*seed))));
  }
  fields.seed = seed->is_number_unsigned() ? seed->get<uint64_t>()
                                           : static_cast<uint64_t>(seed->get<int64_t>());
  return {};
}

ApiResult<void> ReadFilters(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "temperature", 0.0, 2.0, fields.temperature));
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "top_p", 0.0, 1.0, fields.top_p));
  WEFT_RETURN_IF_ERROR(ReadNumber(body, "min_p", 0.0, 1.0, fields.min_p));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "top_k", -1, kMaxInt32, fields.top_k));
  fields.top_k = std::max(fields.top_k, 0);
  return {};
}

ApiResult<void> ReadEndings(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "min_tokens", 0, kMaxInt32, fields.min_tokens));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "ignore_eos", fields.ignore_eos));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "include_stop_str_in_output", fields.include_stop));
  WEFT_RETURN_IF_ERROR(ReadStop(body, fields));
  return ReadStopTokenIds(body, fields);
}

constexpr std::array<std::string_view, 10> kSupported = {
    "temperature", "top_p", "min_p",          "top_k",      "seed",
    "min_tokens",  "stop",  "stop_token_ids", "ignore_eos", "include_stop_str_in_output"};

constexpr std::array kUnsupported = {
    UnsupportedField{"logit_bias", "{}"},
    UnsupportedField{"presence_penalty", "0"},
    UnsupportedField{"frequency_penalty", "0"},
    UnsupportedField{"repetition_penalty", "1"},
    UnsupportedField{"length_penalty", "1"},
    UnsupportedField{"use_beam_search", "false"},
    UnsupportedField{"skip_special_tokens", "true"},
    UnsupportedField{"response_format", "{\"type\":\"text\"}"},
    UnsupportedField{"structured_outputs", "null"},
    UnsupportedField{"guided_json", "null"},
    UnsupportedField{"guided_regex", "null"},
    UnsupportedField{"guided_choice", "null"},
    UnsupportedField{"guided_grammar", "null"},
    UnsupportedField{"grammar", "\"\""},
    UnsupportedField{"json_schema", "null"},
    UnsupportedField{"bad_words", "[]"},
    UnsupportedField{"allowed_token_ids", "null"},
    UnsupportedField{"typical_p", "1"},
};

}  // namespace

ApiResult<void> ReadSamplingFields(const json& body, SamplingFields& fields) {
  WEFT_RETURN_IF_ERROR(ReadFilters(body, fields));
  WEFT_RETURN_IF_ERROR(ReadSeed(body, fields));
  WEFT_RETURN_IF_ERROR(ReadEndings(body, fields));
  return RefuseUnsupported(body, kUnsupported);
}

bool IsSamplingField(std::string_view name) {
  return std::ranges::find(kSupported, name) != kSupported.end() ||
         std::ranges::find(kUnsupported, name, &UnsupportedField::name) != kUnsupported.end();
}

}  // namespace weft
