// Ollama's POST /api/chat, /api/generate, /api/embed and /api/embeddings: from the body to the
// engine.
#pragma once

#include <string_view>

#include "server/api/generation_job.h"

namespace weft {

// PrepareFunctions.
ApiResult<GenerationJob> PrepareOllamaChat(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PrepareOllamaGenerate(std::string_view body,
                                               const PrepareContext& context);
ApiResult<GenerationJob> PrepareOllamaEmbed(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PrepareOllamaEmbeddings(std::string_view body,
                                                 const PrepareContext& context);

}  // namespace weft
