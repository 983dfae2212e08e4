#include "model/tokenizer/jinja/json_values.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace weft::jinja {
namespace {

std::string ValidUtf8(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Utf8Character c = DecodeUtf8(text, i);
    if (c.status == Utf8Status::kValid) {
      out.append(text, i, c.size_bytes);
    } else {
      out.append(kReplacementCharacter);
    }
    i += c.size_bytes;
  }
  return out;
}

Value ToText(Runtime& runtime, const std::string& text) {
  if (ValidUtf8Prefix(text) != text.size()) return runtime.NewString(ValidUtf8(text));
  return runtime.NewString(text);
}

Result<Value> Convert(Runtime& runtime, const nlohmann::ordered_json& json, int depth) {
  if (depth >= kMaxValueDepth) {
    return Fail(ErrorCode::kInvalidArgument, "the conversation is nested deeper than {} levels",
                kMaxValueDepth);
  }
  if (!runtime.Spend(0)) return runtime.Exceeded();
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::null:
      return Value::None();
    case nlohmann::ordered_json::value_t::boolean:
      return Value::Bool(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_integer:
      return Value::Int(json.get<int64_t>());
    case nlohmann::ordered_json::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return Value::BigInt(number);
      }
      return Value::Int(static_cast<int64_t>(number));
    }
    case nlohmann::ordered_json::value_t::number_float:
      return Value::Float(json.get<double>());
    case nlohmann::ordered_json::value_t::string:
      return ToText(runtime, json.get_ref<const std::string&>());
    case nlohmann::ordered_json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) {
        WEFT_ASSIGN_OR_RETURN(Value value, Convert(runtime, item, depth + 1));
        items.push_back(std::move(value));
      }
      return runtime.NewList(std::move(items));
    }
    case nlohmann::ordered_json::value_t::object: {
      std::vector<DictObject::Entry> entries;
      entries.reserve(json.size());
      for (const auto& [key, item] : json.items()) {
        WEFT_ASSIGN_OR_RETURN(Value value, Convert(runtime, item, depth + 1));
        entries.emplace_back(ToText(runtime, key), std::move(value));
      }
      return runtime.NewDict(std::move(entries));
    }
    default:
      return Fail(ErrorCode::kInvalidArgument, "the conversation holds binary data");
  }
}

}  // namespace

Result<Value> FromJson(Runtime& runtime, const nlohmann::ordered_json& json) {
  return Convert(runtime, json, 0);
}

}  // namespace weft::jinja
