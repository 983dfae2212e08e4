// POST /v1/embeddings, /pooling and /embed: from the body to requests for the engine.
#pragma once

#include "proto/embeddings/embedding_request.h"
#include "server/api/generation_job.h"

namespace weft {

// PrepareFunctions. The second may become what /classify does.
ApiResult<GenerationJob> PrepareEmbedding(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PreparePooling(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PrepareTeiEmbed(std::string_view body, const PrepareContext& context);

// Of a body that has been read. Without inputs the job has an answer, and nothing to compute.
ApiResult<GenerationJob> PrepareParsedEmbedding(EmbeddingRequest request, const ServedModel& model);

}  // namespace weft
