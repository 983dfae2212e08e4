// An engine's totals as metrics, under Weft's names. docs/API.md has the table.
#pragma once

#include <cstdint>
#include <string>

#include "server/metrics/engine_meter.h"
#include "server/metrics/machine_limits.h"
#include "server/metrics/metric_families.h"
#include "server/models/memory_plan.h"

namespace weft {

// What does not change while an engine runs.
struct EngineFacts {
  std::string model;  // what requests call it
  std::string architecture;
  std::string kernels;
  std::string kv_type;
  int32_t thread_count = 0;
  int32_t context = 0;
  int64_t block_size = 0;  // positions
  bool prefix_cache = true;
  MemoryPlan memory;
  MachineLimits limits;
};

// `queued_count` is Engine::queued_count.
void AddEngineMetrics(const EngineFacts& facts, const EngineTotals& totals, int32_t queued_count,
                      MetricFamilies& families);

// What of the process's memory is for no model.
void AddReserve(uint64_t bytes, MetricFamilies& families);

}  // namespace weft
