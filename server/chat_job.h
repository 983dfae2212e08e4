// POST /v1/chat/completions: from the body to the engine.
#pragma once

#include <string_view>
#include <vector>

#include "server/generation_job.h"

namespace weft {

// A PrepareFunction.
ApiResult<GenerationJob> PrepareChat(std::string_view body, const std::vector<ServedModel>& models);

}  // namespace weft
