#include "proto/responses/response_tools.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/chat/chat_messages.h"
#include "proto/conversation_fields.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Those that OpenAI's servers run, and those whose form its models know untold.
constexpr auto kHostedTypes = std::to_array<std::string_view>(
    {"apply_patch", "code_interpreter", "computer", "computer_use", "computer_use_preview",
     "file_search", "image_generation", "local_shell", "mcp", "programmatic_tool_calling", "shell",
     "tool_search", "web_search", "web_search_2025_08_26", "web_search_preview",
     "web_search_preview_2025_03_11"});

bool IsHosted(std::string_view type) {
  return std::ranges::find(kHostedTypes, type) != kHostedTypes.end();
}

tl::unexpected<ApiError> RefuseHosted(const std::string& path, const std::string& type) {
  return RefuseUnsupportedValue(
      path + ".type",
      fmt::format("'{}.type' is '{}', a tool that this server does not run", path, type));
}

// Clients that flatten namespaces themselves write them so, too.
std::string FlatName(std::string_view space, std::string_view name) {
  if (space.empty()) return std::string(name);
  return fmt::format("{}{}{}", space, space.ends_with('_') ? "" : "__", name);
}

// Reads tools one by one; names are given when all are known.
class ToolReader {
 public:
  ToolReader(const RequestRules& rules, ChatRequest& chat) : rules_(rules), chat_(chat) {}

  ApiResult<ResponseToolList> Read(const ordered_json& tools);

 private:
  struct Tool {
    ResponseTool tool;
    ordered_json function;  // as chats have it
    std::optional<OutputFormat> input;
    std::string path;
  };

  // Each returns what the answer repeats.
  ApiResult<ordered_json> ReadFunction(const ordered_json& tool, const std::string& path,
                                       const std::string& space);
  ApiResult<ordered_json> ReadCustom(const ordered_json& tool, const std::string& path,
                                     const std::string& space);
  ApiResult<ordered_json> ReadNamespace(const ordered_json& tool, const std::string& path);
  ApiResult<void> Add(Tool tool);
  void NameTools();

  const RequestRules& rules_;
  ChatRequest& chat_;
  ResponseToolList read_;
  std::vector<Tool> tools_;
  std::set<std::pair<std::string, std::string>> known_;  // namespace and name
};

ApiResult<void> ToolReader::Add(Tool tool) {
  if (!known_.emplace(tool.tool.space, tool.tool.name).second) {
    return tl::unexpected(InvalidField(
        tool.path + ".name", fmt::format("'{}.name' is '{}', as that of an earlier tool; names "
                                         "must differ",
                                         tool.path, tool.tool.name)));
  }
  tools_.push_back(std::move(tool));
  return {};
}

ApiResult<ordered_json> ToolReader::ReadFunction(const ordered_json& tool, const std::string& path,
                                                 const std::string& space) {
  WEFT_RETURN_IF_ERROR(CheckFunction(tool, path));
  ordered_json repeated = {{"type", "function"}};
  ordered_json function;
  for (const char* const name : {"name", "description", "parameters", "strict"}) {
    const ordered_json* value = FindField(tool, name);
    repeated[name] = value == nullptr ? ordered_json() : *value;
    if (value != nullptr) function[name] = *value;
  }
  WEFT_RETURN_IF_ERROR(Add({.tool = {.space = space, .name = tool["name"]},
                            .function = std::move(function),
                            .input = {},
                            .path = path}));
  return repeated;
}

// nullopt: any text.
ApiResult<std::optional<OutputFormat>> ReadInputFormat(const ordered_json* format,
                                                       const std::string& path) {
  if (format == nullptr) return std::nullopt;
  if (!format->is_object()) return RefuseValue(path, "an object", *format);
  WEFT_RETURN_IF_ERROR(CheckRequiredString(*format, "type", path, "send \"text\" or \"grammar\""));
  if ((*format)["type"] == "text") return std::nullopt;
  if ((*format)["type"] != "grammar") {
    return RefuseValue(path + ".type", "\"text\" or \"grammar\"", (*format)["type"]);
  }
  WEFT_RETURN_IF_ERROR(CheckRequiredString(*format, "syntax", path, "send \"lark\" or \"regex\""));
  WEFT_RETURN_IF_ERROR(CheckRequiredString(*format, "definition", path, "it is the grammar"));
  const ordered_json& syntax = (*format)["syntax"];
  if (syntax != "lark" && syntax != "regex") {
    return RefuseValue(path + ".syntax", "\"lark\" or \"regex\"", syntax);
  }
  OutputFormat input;
  input.kind = syntax == "lark" ? OutputKind::kGrammar : OutputKind::kRegex;
  input.path = path + ".definition";
  input.text = (*format)["definition"];
  if (!input.text.empty()) return input;
  return RefuseValue(input.path, "a grammar", (*format)["definition"]);
}

// A function with one parameter; which text that may be, the model is told there.
ordered_json FunctionOfCustom(const ordered_json& tool, const std::optional<OutputFormat>& input) {
  ordered_json function = {{"name", tool["name"]}};
  if (const ordered_json* text = FindField(tool, "description")) function["description"] = *text;
  ordered_json parameter = {{"type", "string"}};
  if (input) {
    const bool is_regex = input->kind == OutputKind::kRegex;
    parameter["description"] = fmt::format(
        "A text {}\n{}",
        is_regex ? "that matches this regular expression:" : "of this Lark grammar:", input->text);
  }
  function["parameters"] = {{"type", "object"},
                            {"properties", {{kCustomInput, std::move(parameter)}}},
                            {"required", ordered_json::array({kCustomInput})},
                            {"additionalProperties", false}};
  return function;
}

ApiResult<ordered_json> ToolReader::ReadCustom(const ordered_json& tool, const std::string& path,
                                               const std::string& space) {
  ordered_json described = tool;
  for (const char* const name : {"parameters", "strict"}) described.erase(name);
  WEFT_RETURN_IF_ERROR(CheckFunction(described, path));
  const ordered_json* format = FindField(tool, "format");
  WEFT_ASSIGN_OR_RETURN(std::optional<OutputFormat> input,
                        ReadInputFormat(format, path + ".format"));
  ordered_json repeated = {{"type", "custom"}, {"name", tool["name"]}};
  repeated["description"] = tool.value("description", ordered_json());
  repeated["format"] = format == nullptr ? ordered_json{{"type", "text"}} : *format;
  ordered_json function = FunctionOfCustom(tool, input);
  WEFT_RETURN_IF_ERROR(Add({.tool = {.space = space, .name = tool["name"], .is_custom = true},
                            .function = std::move(function),
                            .input = std::move(input),
                            .path = path}));
  return repeated;
}

ApiResult<ordered_json> ToolReader::ReadNamespace(const ordered_json& tool,
                                                  const std::string& path) {
  ordered_json described = tool;
  for (const char* const name : {"parameters", "strict"}) described.erase(name);
  WEFT_RETURN_IF_ERROR(CheckFunction(described, path));
  const std::string space = tool["name"];
  const std::string tools_path = path + ".tools";
  const ordered_json* inner = FindField(tool, "tools");
  if (inner == nullptr) return RefuseMissing(tools_path, "they are what may be called");
  if (!inner->is_array()) return RefuseValue(tools_path, "an array of tools", *inner);
  ordered_json repeated = {{"type", "namespace"}, {"name", space}};
  repeated["description"] = tool.value("description", ordered_json());
  ordered_json& tools = repeated["tools"] = ordered_json::array();
  const size_t first = tools_.size();
  for (size_t i = 0; i < inner->size(); ++i) {
    const ordered_json& each = (*inner)[i];
    const std::string each_path = fmt::format("{}[{}]", tools_path, i);
    if (!each.is_object()) return RefuseValue(each_path, "an object", each);
    const bool is_custom = each.value("type", ordered_json()) == "custom";
    if (!is_custom) WEFT_RETURN_IF_ERROR(CheckToolType(each, each_path));
    WEFT_ASSIGN_OR_RETURN(ordered_json echo, is_custom ? ReadCustom(each, each_path, space)
                                                       : ReadFunction(each, each_path, space));
    tools.push_back(std::move(echo));
  }
  // The model hears of the namespace with its first tool.
  const ordered_json* about = FindField(tool, "description");
  if (about != nullptr && first < tools_.size()) {
    ordered_json& function = tools_[first].function;
    const std::string own = function.value("description", std::string());
    function["description"] =
        fmt::format("{}{}{}", about->get<std::string>(), own.empty() ? "" : "\n\n", own);
  }
  return repeated;
}

// Names without a namespace stay what they are; the others get out of their way.
void ToolReader::NameTools() {
  for (const Tool& tool : tools_) {
    if (tool.tool.space.empty()) read_.tools.emplace(tool.tool.name, tool.tool);
  }
  for (Tool& tool : tools_) {
    std::string name = FlatName(tool.tool.space, tool.tool.name);
    if (!tool.tool.space.empty()) {
      const std::string flat = name;
      for (int i = 2; !read_.tools.emplace(name, tool.tool).second; ++i) {
        name = fmt::format("{}_{}", flat, i);
      }
    }
    tool.function["name"] = name;
    if (tool.input) chat_.inputs.emplace(name, *std::move(tool.input));
    chat_.tools.push_back({{"type", "function"}, {"function", std::move(tool.function)}});
    chat_.tool_paths.places.push_back(std::move(tool.path));
  }
}

ApiResult<ResponseToolList> ToolReader::Read(const ordered_json& tools) {
  WEFT_RETURN_IF_ERROR(CheckToolCount(tools));
  for (size_t i = 0; i < tools.size(); ++i) {
    const ordered_json& tool = tools[i];
    const std::string path = fmt::format("tools[{}]", i);
    if (!tool.is_object()) return RefuseValue(path, "an object", tool);
    WEFT_RETURN_IF_ERROR(CheckRequiredString(tool, "type", path, "send \"function\""));
    const auto type = tool["type"].get<std::string>();
    if (IsHosted(type)) {
      if (!rules_.drops_hosted_tools) return RefuseHosted(path, type);
      if (std::ranges::find(chat_.dropped_tools, type) == chat_.dropped_tools.end())
        chat_.dropped_tools.push_back(type);
      continue;
    }
    if (type != "function" && type != "custom" && type != "namespace") {
      return RefuseUnsupportedValue(
          path + ".type",
          fmt::format("'{}.type' is {}, but this server knows tools of the types function, custom "
                      "and namespace only",
                      path, DescribeJson(tool["type"])));
    }
    WEFT_ASSIGN_OR_RETURN(ordered_json echo, type == "namespace" ? ReadNamespace(tool, path)
                                             : type == "custom"  ? ReadCustom(tool, path, "")
                                                                 : ReadFunction(tool, path, ""));
    read_.echo.push_back(std::move(echo));
    if (tools_.size() <= kMaxTools) continue;
    return tl::unexpected(InvalidField(
        "tools",
        fmt::format("'tools' has more than {} tools, those in namespaces included", kMaxTools)));
  }
  NameTools();
  return std::move(read_);
}

// Of the tool that an object at `path` names, what the model hears it called.
ApiResult<std::string> FindNamedTool(const ordered_json& choice, const std::string& path,
                                     const ResponseTools& tools) {
  if (!choice.is_object()) return RefuseValue(path, "an object", choice);
  WEFT_RETURN_IF_ERROR(
      CheckRequiredString(choice, "type", path, "send \"function\" or \"custom\""));
  const auto type = choice["type"].get<std::string>();
  if (IsHosted(type)) {
    return RefuseHosted(path, type);
  }
  if (type != "function" && type != "custom") {
    return RefuseUnsupportedValue(
        path + ".type", fmt::format("'{}.type' is {}, but tools are of type \"function\" or "
                                    "\"custom\" here",
                                    path, DescribeJson(choice["type"])));
  }
  WEFT_RETURN_IF_ERROR(CheckRequiredString(choice, "name", path, "it says which tool"));
  WEFT_RETURN_IF_ERROR(CheckOptionalString(choice, "namespace", path));
  const ordered_json* const space = FindField(choice, "namespace");
  const ResponseTool wanted = {.space = space == nullptr ? "" : space->get<std::string>(),
                               .name = choice["name"],
                               .is_custom = type == "custom"};
  const auto found =
      std::ranges::find(tools, wanted, [](const auto& entry) { return entry.second; });
  if (found != tools.end()) return found->first;
  return tl::unexpected(InvalidField(
      path + ".name", fmt::format("'{}.name' is {}, but no tool of 'tools' is of that type and "
                                  "name",
                                  path, DescribeJson(choice["name"]))));
}

// {"mode":...,"tools":[...]}; those of types that this server does not run can be left out.
ApiResult<void> ReadAllowedResponseTools(const ordered_json& choice, const ResponseTools& tools,
                                         ChatRequest& chat) {
  const ordered_json* mode = FindField(choice, "mode");
  const ApiResult<ToolChoiceKind> kind =
      mode == nullptr ? ToolChoiceKind::kAuto : ReadToolMode(*mode, "tool_choice.mode");
  if (!kind) return tl::unexpected(kind.error());
  const ordered_json* allowed = FindField(choice, "tools");
  if (allowed == nullptr) return RefuseMissing("tool_choice.tools", "they are what may be called");
  if (!allowed->is_array() || allowed->empty()) {
    return RefuseValue("tool_choice.tools", "an array of at least one tool", *allowed);
  }
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < allowed->size(); ++i) {
    ApiResult<std::string> name =
        FindNamedTool((*allowed)[i], fmt::format("tool_choice.tools[{}]", i), tools);
    if (!name) return tl::unexpected(std::move(name).error());
    names.insert(*std::move(name));
  }
  KeepTools(names, chat);
  chat.tool_choice.kind = *kind;
  return {};
}

}  // namespace

ApiResult<ResponseToolList> ReadResponseTools(const ordered_json& tools, const RequestRules& rules,
                                              ChatRequest& chat) {
  return ToolReader(rules, chat).Read(tools);
}

ApiResult<void> ReadResponseToolChoice(const ordered_json& choice, const ResponseTools& tools,
                                       ChatRequest& chat) {
  WEFT_RETURN_IF_ERROR(
      CheckRequiredString(choice, "type", "tool_choice", "send \"function\" or \"allowed_tools\""));
  if (choice["type"] == "allowed_tools") return ReadAllowedResponseTools(choice, tools, chat);
  ApiResult<std::string> name = FindNamedTool(choice, "tool_choice", tools);
  if (!name) return tl::unexpected(std::move(name).error());
  chat.tool_choice = {ToolChoiceKind::kFunction, *std::move(name)};
  return {};
}

std::string HeardName(const ResponseTools& tools, const std::string& space,
                      const std::string& name) {
  if (space.empty()) return name;
  const auto found = std::ranges::find_if(tools, [&](const auto& entry) {
    return entry.second.space == space && entry.second.name == name;
  });
  return found == tools.end() ? FlatName(space, name) : found->first;
}

}  // namespace weft
