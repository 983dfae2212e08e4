// POST /generative_scoring, and /v1/score with labels: from the body to requests for the engine.
#pragma once

#include "proto/label_scores/label_score_request.h"
#include "server/api/generation_job.h"

namespace weft {

ApiResult<GenerationJob> PrepareLabelScore(LabelScoreRequest request,
                                           const PrepareContext& context);

// A PrepareFunction: vLLM's shape.
ApiResult<GenerationJob> PrepareGenerativeScoring(std::string_view body,
                                                  const PrepareContext& context);

}  // namespace weft
