// POST /classify and /predict: from the body to requests for the engine.
#pragma once

#include "proto/classify/classify_request.h"
#include "server/api/generation_job.h"

namespace weft {

// PrepareFunctions.
ApiResult<GenerationJob> PrepareClassify(std::string_view body, const PrepareContext& context);
ApiResult<GenerationJob> PreparePredict(std::string_view body, const PrepareContext& context);

// What /pooling makes of it.
ApiResult<GenerationJob> PrepareClassifyTask(ClassifyRequest request,
                                             const PrepareContext& context);

}  // namespace weft
