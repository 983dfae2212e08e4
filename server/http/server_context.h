// What all sessions share. Outlives them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "server/access/access.h"
#include "server/api/preparation_queue.h"
#include "server/api/responses/background_runs.h"
#include "server/api/responses/response_store.h"
#include "server/http/arriving_bodies.h"
#include "server/http/cors.h"
#include "server/http/extra_connections.h"
#include "server/http/host_policy.h"
#include "server/http/refusal_pacing.h"
#include "server/http/request_budget.h"
#include "server/http/server_options.h"
#include "server/metrics/metrics.h"
#include "server/metrics/watch_history.h"
#include "server/models/model_registry.h"
#include "server/random_sequence.h"
#include "server/tracing/tracer.h"

namespace weft {

class BatchRunner;
class BatchStore;
class FileStore;

struct ServerContext {
  ServerContext(ServerOptions options_, std::shared_ptr<ModelRegistry> models_,
                std::shared_ptr<Metrics> metrics_, std::shared_ptr<const Access> access_,
                std::shared_ptr<Tracer> tracer_);
  ~ServerContext();
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // What a request may hold memory of; `key_name` as in HttpRequest.
  ByteBudget& BudgetOf(const std::string& key_name);
  // "4f0c...": unique in this process and, with high probability, among all.
  std::string NextRequestId();
  // For requests that bring none.
  uint64_t NextSeed() { return random_.Next(); }

  const ServerOptions options;
  const std::shared_ptr<ModelRegistry> models;
  const std::shared_ptr<Metrics> metrics;
  const std::shared_ptr<const Access> access;
  const std::shared_ptr<Tracer> tracer;
  const CorsPolicy cors;
  const HostPolicy hosts;
  RefusalPacing refusal_pacing;
  RequestBudget request_budget;
  ResponseStore responses;
  // Set before there are sessions, or nullptr: not offered.
  std::unique_ptr<FileStore> files;
  std::unique_ptr<BatchStore> batches;
  PreparationQueue preparation;
  std::atomic<int32_t> preparations{0};     // on or waiting for its threads
  std::atomic<bool> draining{false};        // no new work; running work goes on
  std::atomic<int32_t> active_requests{0};  // between head read and answer written
  std::atomic<int32_t> connections{0};
  std::atomic<int32_t> metrics_connections{0};  // to metrics_address, not among those
  ExtraConnections extra_connections;           // nor these
  ArrivingBodies arriving_bodies;
  WatchHistory watch;
  std::atomic<int32_t> watchers{0};           // streams of it
  BackgroundRuns background;                  // count among active_requests
  std::unique_ptr<BatchRunner> batch_runner;  // as batches; refers to all of it

 private:
  RandomSequence random_;
  // Everybody sees it: it says nothing of the seeds that are drawn.
  const uint64_t id_prefix_ = RandomSequence().Next();
  std::atomic<uint64_t> id_count_{0};
};

}  // namespace weft
