#include "proto/prompt_reader.h"

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

// One element of a list of prompts.
ApiResult<Prompt> ReadListedPrompt(const json& value, const std::string& path) {
  if (value.is_string()) return Prompt(value.get<std::string>());
  if (value.is_array()) return ReadTokenIds(value, path);
  return RefusePrompt(path, value);
}

// What one element of the field is called: 'prompt' has prompts, and so has 'prompts'.
std::string_view SingularOf(std::string_view name) {
  if (name.ends_with('s')) name.remove_suffix(1);
  return name;
}

ApiResult<PromptList> ReadPromptList(const json& list, const std::string& name, size_t max_count) {
  PromptList result;
  if (list.empty()) {
    return tl::unexpected(InvalidField(
        name, fmt::format("'{}' is an empty array; send at least one {}", name, SingularOf(name))));
  }
  if (list.front().is_number()) {
    ApiResult<Prompt> ids = ReadTokenIds(list, name);
    if (!ids) return tl::unexpected(std::move(ids).error());
    result.prompts.push_back(*std::move(ids));
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
    ApiResult<Prompt> prompt = ReadListedPrompt(element, path);
    if (!prompt) return tl::unexpected(std::move(prompt).error());
    result.prompts.push_back(*std::move(prompt));
    if (result.prompts.back().index() != result.prompts.front().index()) {
      return tl::unexpected(InvalidField(
          path, fmt::format("'{}' mixes strings and arrays of token ids; send {}s of one kind a "
                            "request",
                            name, SingularOf(name))));
    }
  }
  return result;
}

}  // namespace

ApiResult<PromptList> ReadPrompts(const json& body, const std::string& name, size_t max_count) {
  const json* field = FindField(body, name);
  if (field == nullptr) return RefuseMissing(name, "send the text");
  if (field->is_string()) return PromptList{.prompts = {field->get<std::string>()}};
  if (!field->is_array()) return RefusePrompt(name, *field);
  return ReadPromptList(*field, name, max_count);
}

}  // namespace weft
