#include "proto/template_fields.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "proto/chat/chat_request.h"
#include "proto/json_reader.h"
#include "proto/request_rules.h"

namespace weft {

using nlohmann::json;
using nlohmann::ordered_json;

SplitBody SplitFields(ordered_json body, std::span<const std::string_view> ordered,
                      std::span<const std::string_view> plain,
                      std::span<const UnsupportedField> unsupported) {
  SplitBody split;
  auto& kept = split.ordered.get_ref<ordered_json::object_t&>();
  kept.reserve(ordered.size());  // growing, it would copy what it has
  for (auto& [name, value] : body.get_ref<ordered_json::object_t&>()) {
    if (std::ranges::find(ordered, name) != ordered.end()) {
      kept.emplace_back(name, std::move(value));
    } else if (IsKnownGenerationField(name, plain, unsupported)) {
      split.plain.emplace(name, json(value));
    } else {
      ++split.unknown_count;
    }
  }
  return split;
}

ApiResult<void> ReadTemplateVariables(ordered_json& fields, ChatRequest& request) {
  const auto found = fields.find("chat_template_kwargs");
  if (found == fields.end() || found->is_null()) return {};
  if (!found->is_object()) {
    return tl::unexpected(InvalidField(
        "chat_template_kwargs",
        fmt::format("'chat_template_kwargs' must be an object of variables for the chat template, "
                    "not {}",
                    DescribeJson(*found))));
  }
  for (const std::string_view own : {"bos_token", "eos_token"}) {
    if (!found->contains(own)) continue;
    std::string path = fmt::format("chat_template_kwargs.{}", own);
    std::string message = fmt::format("'{}' is the model's own; leave it out", path);
    return tl::unexpected(InvalidField(std::move(path), std::move(message)));
  }
  for (const std::string_view own :
       {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message"}) {
    if (!found->contains(own)) continue;
    std::string path = fmt::format("chat_template_kwargs.{}", own);
    std::string message =
        fmt::format("'{}' is a field of the request itself; send it there, as '{}'", path, own);
    return tl::unexpected(InvalidField(std::move(path), std::move(message)));
  }
  request.template_variables = std::move(*found);
  return {};
}

void AddTemplateDefaults(const RequestRules& rules, ChatRequest& request) {
  const ordered_json defaults = ordered_json::parse(rules.template_variables);
  for (const auto& [name, value] : defaults.items()) {
    if (!request.template_variables.contains(name)) request.template_variables[name] = value;
  }
}

ApiResult<void> ReadDocuments(ordered_json& fields, ChatRequest& request) {
  const auto found = fields.find("documents");
  if (found == fields.end() || found->is_null()) return {};
  const bool valid = found->is_array() &&
                     std::ranges::all_of(*found, [](const auto& each) { return each.is_object(); });
  if (!valid) {
    return tl::unexpected(
        InvalidField("documents", "'documents' must be an array of objects, for the template"));
  }
  request.documents = std::move(*found);
  return {};
}

}  // namespace weft
