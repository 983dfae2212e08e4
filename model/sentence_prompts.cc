#include "model/sentence_prompts.h"

#include <optional>

#include "base/json_limits.h"
#include "base/quoted.h"
#include "base/regular_file.h"
#include "model/formats/config_json.h"

namespace weft {

Result<std::string_view> SentencePrompts::Find(std::string_view name) const {
  if (name.empty() && default_name.empty()) return std::string_view();
  const auto found = texts.find(name.empty() ? std::string_view(default_name) : name);
  if (found != texts.end()) return std::string_view(found->second);
  std::string names;
  for (const auto& entry : texts) names += (names.empty() ? "" : ", ") + Quoted(entry.first);
  return Fail(ErrorCode::kInvalidArgument, "there is no prompt {}: {}", Quoted(name),
              names.empty() ? "the model's files name none" : "the model's files have " + names);
}

Result<SentencePrompts> ReadSentencePrompts(const std::string& directory) {
  constexpr std::string_view kPrompts = "prompts.";
  constexpr std::string_view kDefault = "default_prompt_name";
  const std::string path = directory + "/config_sentence_transformers.json";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                        ReadFileIfPresent(path, kConfigJson.max_bytes));
  SentencePrompts prompts;
  if (!text) return prompts;
  WEFT_ASSIGN_OR_RETURN(const ConfigValues values, ReadConfigJson(*text, path));
  for (const auto& [key, value] : values) {
    const bool is_prompt = key.starts_with(kPrompts);
    if (!is_prompt && key != kDefault) continue;
    const auto* string = std::get_if<std::string>(&value);
    if (string == nullptr) {
      if (std::holds_alternative<std::monostate>(value)) continue;
      return Fail(ErrorCode::kCorrupt, "{}: {} is not a string", path, key);
    }
    if (is_prompt) {
      prompts.texts[key.substr(kPrompts.size())] = *string;
    } else {
      prompts.default_name = *string;
    }
  }
  if (!prompts.default_name.empty() && !prompts.texts.contains(prompts.default_name)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: default_prompt_name is {}, which is no prompt",
                path, Quoted(prompts.default_name));
  }
  return prompts;
}

}  // namespace weft
