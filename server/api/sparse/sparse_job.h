// POST /embed_sparse: from the body to requests for the engine.
#pragma once

#include "server/api/generation_job.h"

namespace weft {

// A PrepareFunction.
ApiResult<GenerationJob> PrepareSparse(std::string_view body, const PrepareContext& context);

}  // namespace weft
