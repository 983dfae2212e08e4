// llama-server's POST /completion, /infill and /embedding: from the body to the engine.
#pragma once

#include <string_view>

#include "server/api/generation_job.h"

namespace weft {

// PrepareFunctions.
ApiResult<GenerationJob> PrepareLlamaCompletion(std::string_view body,
                                                const PrepareContext& context);
ApiResult<GenerationJob> PrepareLlamaInfill(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PrepareLlamaEmbedding(std::string_view body,
                                               const PrepareContext& context);

// Of paths that OpenAI's API has, too, behind /v1: the body's shape decides whose they are.
ApiResult<GenerationJob> PrepareAnyCompletion(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PrepareAnyEmbedding(std::string_view body, const PrepareContext& context);

}  // namespace weft
