#include "model/formats/config_json.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json_limits.h"
#include "base/quoted.h"

namespace weft {
namespace {

using Json = nlohmann::json;

bool FitsInt64(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

// transformers writes what JSON has no number for as an object, {"__float__": "Infinity"}.
bool IsInfinity(const Json& value) {
  return value.is_object() && value.size() == 1 && value.contains("__float__") &&
         value["__float__"] == "Infinity";
}

ConfigValue FromArray(const Json& array) {
  const auto all = [&](auto is_kind) { return std::ranges::all_of(array, is_kind); };
  if (all([](const Json& v) { return v.is_boolean(); })) return array.get<std::vector<bool>>();
  if (all(FitsInt64)) return array.get<std::vector<int64_t>>();
  if (all([](const Json& v) { return v.is_number() || IsInfinity(v); })) {
    std::vector<double> numbers;
    for (const Json& v : array) {
      numbers.push_back(v.is_number() ? v.get<double>() : std::numeric_limits<double>::infinity());
    }
    return numbers;
  }
  if (all([](const Json& v) { return v.is_string(); })) {
    return array.get<std::vector<std::string>>();
  }
  return OtherValue{fmt::format("an array of {}", array.size())};
}

void Flatten(const Json& object, const std::string& prefix, ConfigValues& values) {
  for (const auto& [name, value] : object.items()) {
    ConfigValue& place = values[prefix + name];
    if (value.is_object()) {
      place = OtherValue{std::string(kObjectValue)};
      Flatten(value, prefix + name + ".", values);
    } else if (value.is_array()) {
      place = FromArray(value);
    } else if (value.is_string()) {
      place = value.get<std::string>();
    } else if (value.is_boolean()) {
      place = value.get<bool>();
    } else if (FitsInt64(value)) {
      place = value.get<int64_t>();
    } else if (value.is_number_float()) {
      place = value.get<double>();
    } else if (value.is_number()) {
      place = OtherValue{value.dump()};
    }
  }
}

// Python writes infinity as a bare word, which is no JSON: as transformers writes it.
std::string WithoutBareInfinity(std::string_view text) {
  constexpr std::string_view kWord = "Infinity";
  std::string json;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (!in_string && text.substr(i).starts_with(kWord)) {
      json += R"({"__float__": "Infinity"})";
      i += kWord.size() - 1;
      continue;
    }
    json += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) json += text[++i];
  }
  return json;
}

Result<Json> ParseObject(std::string_view json_text, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(json_text, kConfigJson, path));
  Json json = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    json = Json::parse(WithoutBareInfinity(json_text), nullptr, /*allow_exceptions=*/false);
  }
  if (!json.is_object()) return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  return json;
}

}  // namespace

Result<ConfigValues> ReadConfigJson(std::string_view json_text, const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const Json json, ParseObject(json_text, path));
  ConfigValues values;
  Flatten(json, "", values);
  return values;
}

Result<std::optional<Pooling>> ReadHfPooling(std::string_view json_text, const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const Json json, ParseObject(json_text, path));
  static constexpr std::pair<std::string_view, Pooling> kWords[] = {
      {"cls", Pooling::kFirst},
      {"cls_token", Pooling::kFirst},
      {"lasttoken", Pooling::kLast},
      {"max", Pooling::kMax},
      {"max_tokens", Pooling::kMax},
      {"mean", Pooling::kMean},
      {"mean_tokens", Pooling::kMean},
      {"weightedmean", Pooling::kWeightedMean},
      {"weightedmean_tokens", Pooling::kWeightedMean},
  };
  constexpr std::string_view kFlag = "pooling_mode_";
  // Since version 5 one word; before it a flag a mode.
  std::vector<std::string> modes;
  for (const auto& [key, value] : json.items()) {
    if (key == "pooling_mode" && value.is_string()) modes.push_back(value.get<std::string>());
    if (!key.starts_with(kFlag)) continue;
    if (!value.is_boolean()) {
      return Fail(ErrorCode::kCorrupt, "{}: {} is {}, expected true or false", path, key,
                  value.type_name());
    }
    if (value.get<bool>()) modes.push_back(key.substr(kFlag.size()));
  }
  if (modes.empty()) return std::nullopt;
  if (modes.size() > 1) {
    return Fail(ErrorCode::kUnsupported, "{}: has {} modes of pooling, expected one", path,
                modes.size());
  }
  for (const auto& [word, pooling] : kWords) {
    if (modes.front() == word) return pooling;
  }
  return Fail(ErrorCode::kUnsupported, "{}: pooling_mode {} is not supported", path,
              Quoted(modes.front()));
}

Result<std::vector<HfModule>> ReadHfModules(std::string_view json_text, const std::string& path) {
  constexpr size_t kMostModules = 64;
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(json_text, kConfigJson, path));
  const Json json = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() > kMostModules) {
    return Fail(ErrorCode::kCorrupt, "{}: not a JSON array of at most {} modules", path,
                kMostModules);
  }
  std::vector<HfModule> modules;
  for (const Json& entry : json) {
    HfModule module;
    for (const auto& [key, text] : {std::pair{"path", &module.path}, {"type", &module.type}}) {
      if (!entry.is_object() || !entry.contains(key) || !entry[key].is_string()) {
        return Fail(ErrorCode::kCorrupt, "{}: module {} has no string {}", path, modules.size(),
                    key);
      }
      *text = entry[key].get<std::string>();
    }
    if (module.path.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos ||
        module.path.starts_with(".")) {
      return Fail(ErrorCode::kCorrupt, "{}: module {} has the path {}, expected a folder beside it",
                  path, modules.size(), Quoted(module.path));
    }
    modules.push_back(std::move(module));
  }
  return modules;
}

Result<void> ReadHfTarget(std::string_view json_text, const std::string& path, int64_t vocab_size,
                          TargetSpec& target) {
  WEFT_ASSIGN_OR_RETURN(const Json json, ParseObject(json_text, path));
  const auto read_id = [&](const std::string& key,
                           const Json& value) -> Result<std::optional<TokenId>> {
    if (value.is_null()) return std::nullopt;
    if (FitsInt64(value) && value.get<int64_t>() >= 0 && value.get<int64_t>() < vocab_size) {
      return static_cast<TokenId>(value.get<int64_t>());
    }
    return Fail(ErrorCode::kInvalidArgument, "{}: {} is {}, expected a token from 0 to {}", path,
                key, value.is_number() ? value.dump() : value.type_name(), vocab_size - 1);
  };
  const auto id_of = [&](const std::string& key) { return read_id(key, json.value(key, Json())); };
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> start, id_of("decoder_start_token_id"));
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> forced, id_of("forced_bos_token_id"));
  if (start) target.prefix.front() = *start;
  if (forced) {
    target.prefix.resize(1);
    target.prefix.push_back(*forced);
  }
  const Json banned = json.value("bad_words_ids", Json());
  if (banned.is_null()) return {};
  for (const Json& words : banned) {
    if (!words.is_array() || words.size() != 1) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: bad_words_ids has an entry that is no array of one token", path);
    }
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> word, read_id("bad_words_ids", words[0]));
    if (word) target.banned.push_back(*word);
  }
  return {};
}

Result<void> ReadHfTasks(std::string_view json_text, const std::string& path, TargetSpec& target) {
  WEFT_ASSIGN_OR_RETURN(const Json json, ParseObject(json_text, path));
  const Json tasks = json.value("task_specific_params", Json());
  if (!tasks.is_object()) return {};
  for (const auto& [name, params] : tasks.items()) {
    const auto prefix = params.is_object() ? params.find("prefix") : params.end();
    if (prefix != params.end() && prefix->is_string()) {
      target.task_prefixes.emplace(name, prefix->get<std::string>());
    }
  }
  return {};
}

}  // namespace weft
