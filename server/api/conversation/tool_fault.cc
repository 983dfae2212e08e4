#include "server/api/conversation/tool_fault.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "server/api/conversation/chat_messages.h"

namespace weft {

using nlohmann::ordered_json;

std::optional<ApiError> FindToolAtFault(const ChatTemplate& chat_template,
                                        const ChatTemplate::Options& options,
                                        ordered_json variables, const ToolPaths& paths) {
  const ordered_json tools = variables["tools"];
  const auto render_first = [&](size_t count) {
    variables["tools"] = ordered_json::array();
    for (size_t i = 0; i < count; ++i) variables["tools"].push_back(tools[i]);
    return chat_template.Render(variables, options);
  };
  Result<std::string> failed = render_first(tools.size());
  if (failed || !render_first(0)) return std::nullopt;  // the fault lies elsewhere
  // With `good` tools it renders, with `bad` it does not.
  size_t good = 0;
  size_t bad = tools.size();
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    Result<std::string> rendered = render_first(middle);
    if (rendered) {
      good = middle;
    } else {
      bad = middle;
      failed = std::move(rendered);
    }
  }
  std::string path = paths.FunctionOf(bad - 1);
  ordered_json& tool = variables["tools"] = ordered_json::array({tools[bad - 1]});
  tool[0]["function"].erase("parameters");
  tool = FilledTools(std::move(tool));
  if (chat_template.Render(variables, options)) path += "." + paths.parameters;
  ApiError refusal = InvalidField(
      path,
      fmt::format("the model's chat template cannot take '{}': {}", path, failed.error().message));
  refusal.code = "template_error";
  return refusal;
}

}  // namespace weft
