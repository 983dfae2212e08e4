#include "server/api/conversation/hosted_tools.h"

#include <algorithm>

#include <fmt/core.h>

namespace weft {

ApiResult<void> DropHostedTools(const std::vector<HostedTool>& tools, const PrepareContext& context,
                                GenerationJob& job) {
  if (tools.empty()) return {};
  if (context.refuses_hosted_tools) {
    const HostedTool& first = tools.front();
    ApiError error = InvalidField(
        first.path + ".type", fmt::format("'{}.type' is '{}', a tool that this server does not run",
                                          first.path, first.type));
    error.code = "unsupported_value";
    return tl::unexpected(std::move(error));
  }
  for (const HostedTool& tool : tools) {
    if (std::ranges::find(job.dropped_tools, tool.type) == job.dropped_tools.end()) {
      job.dropped_tools.push_back(tool.type);
    }
  }
  return {};
}

}  // namespace weft
