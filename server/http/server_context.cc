#include "server/http/server_context.h"

#include <utility>

#include <fmt/core.h>

#include "base/resources.h"
#include "server/batches/batch_runner.h"
#include "server/batches/batch_store.h"
#include "server/batches/file_store.h"
#include "server/http/processor_clock.h"

namespace weft {

ServerContext::ServerContext(ServerOptions options_, std::shared_ptr<ModelRegistry> models_,
                             std::shared_ptr<Metrics> metrics_,
                             std::shared_ptr<const Access> access_, std::shared_ptr<Tracer> tracer_)
    : options(std::move(options_)),
      models(std::move(models_)),
      metrics(std::move(metrics_)),
      access(std::move(access_)),
      tracer(std::move(tracer_)),
      cors(options.cors_origins),
      hosts(options),
      refusal_pacing({.share = options.refusal_share,
                      .max_waiting = options.max_delayed_refusals,
                      .cpu_count = AvailableCpuCount()},
                     ProcessorNow()),
      request_budget(options.request_memory_bytes),
      responses(options.response_store_bytes),
      preparation(options.preparation_threads) {}

ServerContext::~ServerContext() = default;

ByteBudget& ServerContext::BudgetOf(const std::string& key_name) {
  const std::shared_ptr<const ApiKeys> keys = access->keys();
  const bool has_peers = !key_name.empty() && keys != nullptr && keys->size() > 1;
  return has_peers ? request_budget.OfKey(key_name) : request_budget.anybody();
}

std::string ServerContext::NextRequestId() {
  const uint64_t count = id_count_.fetch_add(1, std::memory_order_relaxed);
  return fmt::format("{:016x}{:08x}", id_prefix_, count);
}

}  // namespace weft
