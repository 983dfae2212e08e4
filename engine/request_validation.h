// Whether a request can be served at all, whatever else runs.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "engine/model_runner.h"
#include "engine/request.h"

namespace weft {

// kInvalidArgument, and why not: its sampling, its number of choices, its length against the
// context and the KV cache. Reads nothing that changes: any thread may call it.
Result<void> ValidateRequest(const Request& request, const EngineOptions& options,
                             const ModelRunner& runner);

}  // namespace weft
