#include "server/server_context.h"

#include <utility>

#include <fmt/core.h>

#include "server/processor_clock.h"

namespace weft {

ServerContext::ServerContext(ServerOptions options_, std::vector<ServedModel> models_,
                             std::shared_ptr<Metrics> metrics_,
                             std::shared_ptr<const Access> access_, std::shared_ptr<Tracer> tracer_)
    : options(std::move(options_)),
      models(std::move(models_)),
      metrics(std::move(metrics_)),
      access(std::move(access_)),
      tracer(std::move(tracer_)),
      cors(options.cors_origins),
      body_budget(options.max_buffered_body_bytes),
      logprob_budget(options.max_logprob_bytes),
      refusal_pacing({.share = options.refusal_share, .max_waiting = options.max_delayed_refusals},
                     ProcessorNow()),
      responses(options.response_store_bytes),
      preparation(options.preparation_threads) {}

std::string ServerContext::NextRequestId() {
  const uint64_t count = id_count_.fetch_add(1, std::memory_order_relaxed);
  return fmt::format("{:016x}{:08x}", id_prefix_, count);
}

}  // namespace weft
