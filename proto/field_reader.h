// Typed, range-checked reading of one field of a JSON object. An absent field and null both mean
// the default: the output is left as it is. Include from .cc files only.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

inline constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// nullptr if absent or null. Valid while `object`, a json or an ordered_json, lives.
template <typename Json>
Json* FindField(Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// The number as an integer; null for any other value. As in JSON Schema, an integer is a number
// without a fraction, however it is written: 4, 4.0 and 0.4e1 are one. Those from -2^63 to 2^64-1.
nlohmann::json IntegerOf(const nlohmann::json& value);

// Errors are 400 "invalid_value", name `path` and say the range.
ApiResult<void> CheckInteger(const nlohmann::json& value, const std::string& path, int32_t minimum,
                             int32_t maximum, int32_t& output);

ApiResult<void> ReadInteger(const nlohmann::json& object, std::string_view name, int32_t minimum,
                            int32_t maximum, int32_t& output);
ApiResult<void> ReadInteger(const nlohmann::json& object, std::string_view name, int32_t minimum,
                            int32_t maximum, std::optional<int32_t>& output);
// How many tokens may be generated: from `minimum` on, or -1 for no limit, which leaves the output
// as it is, too.
ApiResult<void> ReadMaxTokens(const nlohmann::json& object, std::string_view name, int32_t minimum,
                              std::optional<int32_t>& output);
ApiResult<void> ReadNumber(const nlohmann::json& object, std::string_view name, double minimum,
                           double maximum, double& output);
// `path_prefix` names the object that holds the field: "stream_options.".
ApiResult<void> ReadBool(const nlohmann::json& object, std::string_view name, bool& output,
                         std::string_view path_prefix = "");
ApiResult<void> ReadBool(const nlohmann::ordered_json& object, std::string_view name, bool& output,
                         std::string_view path_prefix = "");
// An object of whatever members, for a field without effect.
ApiResult<void> CheckObject(const nlohmann::json& object, std::string_view name);
ApiResult<void> ReadString(const nlohmann::json& object, std::string_view name,
                           std::optional<std::string>& output);

}  // namespace weft
