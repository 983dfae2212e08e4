// What becomes of a request whose tools are not all such as this server, or its client, can run.
#pragma once

#include <vector>

#include "proto/hosted_tool.h"
#include "server/api/generation_job.h"

namespace weft {

// The job goes on without them, and says so; or, where the server was told to, 400 at the first.
ApiResult<void> DropHostedTools(const std::vector<HostedTool>& tools, const PrepareContext& context,
                                GenerationJob& job);

}  // namespace weft
