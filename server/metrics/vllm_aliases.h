// vLLM's names for what Weft measures too, so that dashboards, autoscalers and gateways made for
// vLLM work as they are. Names, labels and buckets: vLLM 0.11, vllm/v1/metrics/loggers.py.
#pragma once

#include <span>

#include "server/metrics/engine_metrics.h"
#include "server/metrics/metric_families.h"

namespace weft {

// Adds a vLLM family for each of Weft's that has one, with the same values. `engines` are those
// whose metrics are there.
void AddVllmAliases(std::span<const EngineFacts> engines, MetricFamilies& families);

}  // namespace weft
