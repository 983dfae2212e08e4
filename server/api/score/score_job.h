// POST /v1/score and /score: from the body to requests for the engine.
#pragma once

#include "server/api/generation_job.h"

namespace weft {

// A PrepareFunction.
ApiResult<GenerationJob> PrepareScore(std::string_view body, const PrepareContext& context);

}  // namespace weft
