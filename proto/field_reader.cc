#include "proto/field_reader.h"

#include <cmath>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/json_checks.h"

namespace weft {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

template <typename Json>
ApiResult<void> ReadFlag(const Json& object, std::string_view name, bool& output,
                         std::string_view path_prefix) {
  const Json* value = FindField(object, name);
  if (value == nullptr) return {};
  if (!value->is_boolean()) {
    return RefuseValue(fmt::format("{}{}", path_prefix, name), "true or false", *value);
  }
  output = value->template get<bool>();
  return {};
}

}  // namespace

json IntegerOf(const json& value) {
  if (value.is_number_integer()) return value;
  if (!value.is_number_float()) return nullptr;
  const auto number = value.get<double>();
  if (std::trunc(number) != number) return nullptr;
  if (number >= 0 && number < 0x1p64) return static_cast<uint64_t>(number);
  if (number >= -0x1p63 && number < 0) return static_cast<int64_t>(number);
  return nullptr;
}

ApiResult<void> CheckInteger(const json& value, const std::string& path, int32_t minimum,
                             int32_t maximum, int32_t& output) {
  const json integer = IntegerOf(value);
  // An unsigned value beyond int64 compares right as unsigned; everything else fits int64.
  const bool in_range = integer.is_number_unsigned()
                            ? integer.get<uint64_t>() <= static_cast<uint64_t>(maximum) &&
                                  static_cast<int64_t>(integer.get<uint64_t>()) >= minimum
                            : integer.is_number_integer() && integer.get<int64_t>() >= minimum &&
                                  integer.get<int64_t>() <= maximum;
  if (!in_range) {
    return RefuseValue(path, fmt::format("an integer from {} to {}", minimum, maximum), value);
  }
  output = integer.get<int32_t>();
  return {};
}

ApiResult<void> ReadInteger(const json& object, std::string_view name, int32_t minimum,
                            int32_t maximum, int32_t& output) {
  const json* value = FindField(object, name);
  if (value == nullptr) return {};
  return CheckInteger(*value, std::string(name), minimum, maximum, output);
}

ApiResult<void> ReadInteger(const json& object, std::string_view name, int32_t minimum,
                            int32_t maximum, std::optional<int32_t>& output) {
  const json* value = FindField(object, name);
  if (value == nullptr) return {};
  int32_t number = 0;
  WEFT_RETURN_IF_ERROR(CheckInteger(*value, std::string(name), minimum, maximum, number));
  output = number;
  return {};
}

ApiResult<void> ReadMaxTokens(const json& object, std::string_view name, int32_t minimum,
                              std::optional<int32_t>& output) {
  const json* value = FindField(object, name);
  if (value == nullptr) return {};
  const json integer = IntegerOf(*value);
  // As unsigned numbers compare, the largest is -1, too.
  if (!integer.is_number_unsigned() && integer == -1) return {};
  return ReadInteger(object, name, minimum, kMaxInt32, output);
}

ApiResult<void> ReadNumber(const json& object, std::string_view name, double minimum,
                           double maximum, double& output) {
  const json* value = FindField(object, name);
  if (value == nullptr) return {};
  if (!value->is_number() || value->get<double>() < minimum || value->get<double>() > maximum) {
    return RefuseValue(std::string(name), fmt::format("a number from {} to {}", minimum, maximum),
                       *value);
  }
  output = value->get<double>();
  return {};
}

ApiResult<void> ReadBool(const json& object, std::string_view name, bool& output,
                         std::string_view path_prefix) {
  return ReadFlag(object, name, output, path_prefix);
}

ApiResult<void> ReadBool(const ordered_json& object, std::string_view name, bool& output,
                         std::string_view path_prefix) {
  return ReadFlag(object, name, output, path_prefix);
}

ApiResult<void> CheckObject(const json& object, std::string_view name) {
  const json* value = FindField(object, name);
  if (value == nullptr || value->is_object()) return {};
  return RefuseValue(std::string(name), "an object", *value);
}

ApiResult<void> ReadString(const json& object, std::string_view name,
                           std::optional<std::string>& output) {
  const json* value = FindField(object, name);
  if (value == nullptr) return {};
  if (!value->is_string()) return RefuseValue(std::string(name), "a string", *value);
  output = value->get<std::string>();
  return {};
}

}  // namespace weft
