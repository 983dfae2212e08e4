// The models that `weft serve` loads when requests name them.
#pragma once

#include <memory>

#include "base/result.h"
#include "server/commands/serve_options.h"
#include "server/models/loaded_model.h"
#include "server/models/model_registry.h"

namespace weft {

class MatcherPool;
class Metrics;

// What a registry needs to know of them, but for its fixed models and the room; where the options
// name no place to look for models, nothing. The options' limit of memory is not 0. Errors: the
// folder of --models-dir is none.
Result<RegistryOptions> RequestedModels(const ServeOptions& options, const Compute& compute,
                                        const std::shared_ptr<MatcherPool>& constraints,
                                        const std::shared_ptr<Metrics>& metrics);

ModelMemory MemoryOf(const MemoryPlan& plan);

}  // namespace weft
