// Texts through an encoder's engine: what `weft bench` measures of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "engine/request.h"
#include "engine/transformer_runner.h"
#include "server/commands/bench/options.h"
#include "server/commands/bench/report.h"
#include "server/metrics/step_floor.h"

namespace weft {

// What the runner needs, so that the largest texts that are asked for can be computed as many at a
// time as fit into a step.
TransformerRunnerOptions EncodeRunnerOptions(const ModelSpec& spec, const BenchOptions& options,
                                             int thread_count);

// Each length of --prompt-tokens in each number of --batch: all texts are handed to the engine at
// once, and timed until the last embedding has come. `print` gets a row a test. All outlive the
// call; `limits` may be nullptr.
Result<void> MeasureEncoding(std::unique_ptr<TransformerRunner> runner,
                             const PoolingParams& pooling, const BenchOptions& options,
                             const ModelCost& cost, const MachineLimits* limits,
                             const std::function<void(const BenchRow&)>& print);

}  // namespace weft
