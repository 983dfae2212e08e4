#include "proto/conversation_fields.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"

namespace weft {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// One of the tools that may be called, in the shape that the request's tools have.
ApiResult<std::string> ReadAllowedName(const ordered_json& tool, const std::string& path,
                                       const ChatRequest& request) {
  if (!tool.is_object()) return RefuseValue(path, "an object", tool);
  WEFT_RETURN_IF_ERROR(CheckToolType(tool, path));
  const std::string function_path = path + request.tool_paths.function;
  const ordered_json* function = FindField(tool, "function");
  if (function == nullptr) return RefuseMissing(function_path, "it names the tool");
  if (!function->is_object()) return RefuseValue(function_path, "an object", *function);
  return ReadToolName(*function, function_path, request);
}

}  // namespace

std::optional<ToolChoiceKind> ToolModeOf(std::string_view mode) {
  if (mode == "none") return ToolChoiceKind::kNone;
  if (mode == "auto") return ToolChoiceKind::kAuto;
  if (mode == "required") return ToolChoiceKind::kRequired;
  return std::nullopt;
}

ApiResult<void> CheckToolExists(const ChatRequest& request, const std::string& name,
                                const std::string& path) {
  const bool exists = std::ranges::any_of(
      request.tools, [&](const ordered_json& tool) { return tool["function"]["name"] == name; });
  if (exists) return {};
  // Types of Anthropic's tools end with a date, which their names do not have.
  const bool is_dropped = std::ranges::any_of(request.dropped_tools, [&](const std::string& type) {
    return type == name || type.starts_with(name + "_");
  });
  return tl::unexpected(InvalidField(
      path, fmt::format("'{}' is {}, but {}", path, DescribeJson(json(name)),
                        is_dropped ? "that tool was left out (--hosted-tools drop): no server here "
                                     "runs it"
                                   : "no tool of 'tools' has that name")));
}

tl::unexpected<ApiError> RefuseCallWithoutTools() {
  return tl::unexpected(
      InvalidField("tool_choice", "'tool_choice' asks for a call, but there are no 'tools'"));
}

ApiResult<void> SetReasoningEffort(const std::string& effort, const std::string& path,
                                   ChatRequest& request) {
  const auto found = request.template_variables.find("reasoning_effort");
  if (found != request.template_variables.end() && *found != effort) {
    return tl::unexpected(InvalidField(
        path,
        fmt::format("'{}' and 'chat_template_kwargs.reasoning_effort' differ; send one of them",
                    path)));
  }
  request.template_variables["reasoning_effort"] = effort;
  return {};
}

ApiResult<ToolChoiceKind> ReadToolMode(const ordered_json& mode, const std::string& path) {
  if (mode.is_string()) {
    if (const auto kind = ToolModeOf(mode.get_ref<const std::string&>())) return *kind;
  }
  return RefuseValue(path, "\"none\", \"auto\" or \"required\"", mode);
}

ApiResult<std::string> ReadToolName(const ordered_json& tool, const std::string& path,
                                    const ChatRequest& request) {
  WEFT_RETURN_IF_ERROR(CheckRequiredString(tool, "name", path, "it says which function"));
  auto name = tool["name"].get<std::string>();
  WEFT_RETURN_IF_ERROR(CheckToolExists(request, name, path + ".name"));
  return name;
}

ApiResult<void> ReadAllowedTools(const ordered_json& allowed, const std::string& path,
                                 ChatRequest& request) {
  const ordered_json* mode = FindField(allowed, "mode");
  const ApiResult<ToolChoiceKind> kind =
      mode == nullptr ? ToolChoiceKind::kAuto : ReadToolMode(*mode, path + ".mode");
  if (!kind) return tl::unexpected(kind.error());
  const ordered_json* tools = FindField(allowed, "tools");
  if (tools == nullptr) return RefuseMissing(path + ".tools", "they are what may be called");
  if (!tools->is_array() || tools->empty()) {
    return RefuseValue(path + ".tools", "an array of at least one tool", *tools);
  }
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < tools->size(); ++i) {
    ApiResult<std::string> name =
        ReadAllowedName((*tools)[i], fmt::format("{}.tools[{}]", path, i), request);
    if (!name) return tl::unexpected(std::move(name).error());
    names.insert(*std::move(name));
  }
  KeepTools(names, request);
  request.tool_choice.kind = *kind;
  return {};
}

void KeepTools(const std::unordered_set<std::string>& names, ChatRequest& request) {
  ordered_json kept = ordered_json::array();
  std::vector<std::string> places;
  for (size_t i = 0; i < request.tools.size(); ++i) {
    if (!names.contains(request.tools[i]["function"]["name"].get<std::string>())) continue;
    kept.push_back(std::move(request.tools[i]));
    places.push_back(request.tool_paths.PlaceOf(i));
  }
  request.tools = std::move(kept);
  request.tool_paths.places = std::move(places);
}

}  // namespace weft
