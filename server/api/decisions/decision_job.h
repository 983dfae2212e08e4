// POST /v1/decisions: from the body to requests for the engine.
#pragma once

#include "server/api/generation_job.h"

namespace weft {

// A PrepareFunction.
ApiResult<GenerationJob> PrepareDecisions(std::string_view body, const PrepareContext& context);

}  // namespace weft
