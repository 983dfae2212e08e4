// POST /v1/rerank, /v2/rerank and /rerank: from the body to requests for the engine.
#pragma once

#include "server/api/generation_job.h"

namespace weft {

// PrepareFunctions. The second takes Text Embeddings Inference's shape, too.
ApiResult<GenerationJob> PrepareRerank(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PrepareAnyRerank(std::string_view body, const PrepareContext& context);

}  // namespace weft
