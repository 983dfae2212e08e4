#include "proto/prompt_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"

namespace weft {
namespace {

using nlohmann::json;

tl::unexpected<ApiError> RefusePrompt(const std::string& path, const json& value) {
  return RefuseValue(path,
                     "a string, an array of strings, an array of token ids, or an array of arrays "
                     "of token ids",
                     value);
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

ApiResult<Prompt> ReadMixedPrompt(const json& array, const std::string& path) {
  MixedPrompt mixed;
  mixed.parts.reserve(array.size());
  for (const json& element : array) {
    if (element.is_string()) {
      mixed.parts.emplace_back(element.get<std::string>());
      continue;
    }
    int32_t id = 0;
    WEFT_RETURN_IF_ERROR(
        CheckInteger(element, fmt::format("{}[{}]", path, mixed.parts.size()), 0, kMaxInt32, id));
    mixed.parts.emplace_back(id);
  }
  return Prompt(std::move(mixed));
}

// The texts of a message's parts, one behind the other.
ApiResult<Prompt> ReadTextParts(const json& parts, const std::string& path) {
  if (!parts.is_array() || parts.empty()) return RefuseValue(path, "an array of text parts", parts);
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part_path = fmt::format("{}[{}]", path, i);
    if (!parts[i].is_object()) return RefuseValue(part_path, "an object", parts[i]);
    const json* type = FindField(parts[i], "type");
    const json* part = FindField(parts[i], "text");
    if (type == nullptr || *type != "text") {
      return RefuseUnsupportedValue(
          part_path + ".type", fmt::format("'{}.type' must be \"text\": no model here sees images "
                                           "or hears sounds",
                                           part_path));
    }
    if (part == nullptr || !part->is_string()) {
      return RefuseValue(part_path + ".text", "a string", part == nullptr ? json() : *part);
    }
    text += part->get_ref<const std::string&>();
  }
  return Prompt(std::move(text));
}

// {"prompt_string": "..."} or {"content": [...]}.
ApiResult<Prompt> ReadPromptObject(const json& object, const std::string& path) {
  if (FindField(object, "multimodal_data") != nullptr) {
    return RefuseUnsupportedValue(
        path + ".multimodal_data",
        fmt::format("'{}.multimodal_data': no model here sees images or hears sounds", path));
  }
  if (const json* parts = FindField(object, "content")) {
    return ReadTextParts(*parts, path + ".content");
  }
  const json* text = FindField(object, "prompt_string");
  if (text == nullptr) return RefuseMissing(path + ".prompt_string", "send the text");
  if (!text->is_string()) return RefuseValue(path + ".prompt_string", "a string", *text);
  return Prompt(text->get<std::string>());
}

bool HasNumber(const json& array) {
  return std::ranges::any_of(array, [](const json& element) { return element.is_number(); });
}

// One element of a list of prompts.
ApiResult<Prompt> ReadListedPrompt(const json& value, const std::string& path, PromptKinds kinds) {
  const bool is_mixed = kinds == PromptKinds::kMixed;
  if (value.is_string()) return Prompt(value.get<std::string>());
  if (is_mixed && value.is_object()) return ReadPromptObject(value, path);
  if (!value.is_array()) return RefusePrompt(path, value);
  const bool has_text =
      std::ranges::any_of(value, [](const json& element) { return element.is_string(); });
  return is_mixed && has_text ? ReadMixedPrompt(value, path) : ReadTokenIds(value, path);
}

// What one element of the field is called: 'prompt' has prompts, and so has 'prompts'.
std::string_view SingularOf(std::string_view name) {
  if (name.ends_with('s')) name.remove_suffix(1);
  return name;
}

ApiResult<PromptList> ReadPromptList(const json& list, const std::string& name, size_t max_count,
                                     PromptKinds kinds) {
  const bool is_mixed = kinds == PromptKinds::kMixed;
  PromptList result;
  if (list.empty()) {
    return tl::unexpected(InvalidField(
        name, fmt::format("'{}' is an empty array; send at least one {}", name, SingularOf(name))));
  }
  if (list.front().is_number() || (is_mixed && HasNumber(list))) {
    ApiResult<Prompt> prompt = ReadListedPrompt(list, name, kinds);
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    result.prompts.push_back(*std::move(prompt));
    return result;
  }
  if (list.size() > max_count) {
    return tl::unexpected(
        InvalidField(name, fmt::format("'{}' has {} {}s; send at most {} a request", name,
                                       list.size(), SingularOf(name), max_count)));
  }
  result.is_list = true;
  for (const json& element : list) {
    const std::string path = fmt::format("{}[{}]", name, result.prompts.size());
    ApiResult<Prompt> prompt = ReadListedPrompt(element, path, kinds);
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    result.prompts.push_back(*std::move(prompt));
    if (!is_mixed && result.prompts.back().index() != result.prompts.front().index()) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}' mixes strings and arrays of token ids; send {}s of one kind a "
                            "request",
                            name, SingularOf(name))));
    }
  }
  return result;
}

}  // namespace

ApiResult<PromptList> ReadPrompts(const json& body, const std::string& name, size_t max_count,
                                  PromptKinds kinds) {
  const json* field = FindField(body, name);
  if (field == nullptr) return RefuseMissing(name, "send the text");
  if (field->is_string()) return PromptList{.prompts = {field->get<std::string>()}};
  if (kinds == PromptKinds::kMixed && field->is_object()) {
    WEFT_ASSIGN_OR_RETURN(Prompt prompt, ReadPromptObject(*field, name));
    return PromptList{.prompts = {std::move(prompt)}};
  }
  if (!field->is_array()) return RefusePrompt(name, *field);
  return ReadPromptList(*field, name, max_count, kinds);
}

}  // namespace weft
