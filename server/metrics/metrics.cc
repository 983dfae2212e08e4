#include "server/metrics/metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/log.h"
#include "base/resources.h"
#include "engine/engine.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metric_families.h"
#include "server/metrics/vllm_aliases.h"

namespace weft {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

Family<Counter>& Counters(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& Gauges(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Histogram>& Histograms(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

const Histogram::BucketBoundaries& HttpBuckets() {
  static const Histogram::BucketBoundaries bounds(buckets::kRequest.begin(),
                                                  buckets::kRequest.end());
  return bounds;
}

void DropOtherKeys(const std::string& name, std::vector<prometheus::MetricFamily>& families) {
  const auto is_others = [&](const prometheus::ClientMetric& metric) {
    return std::ranges::any_of(metric.label, [&](const prometheus::ClientMetric::Label& label) {
      return label.name == "key" && label.value != name;
    });
  };
  for (prometheus::MetricFamily& family : families) std::erase_if(family.metric, is_others);
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
}

}  // namespace

struct Metrics::Families {
  struct WatchedEngine {
    std::shared_ptr<EngineMeter> meter;
    const Engine* engine;
  };
  std::mutex render_mutex;         // a meter has one reader at a time; guards these two:
  std::vector<EngineFacts> facts;  // an engine each
  std::vector<WatchedEngine> engines;
  Registry registry;

  Family<Counter>& http_requests =
      Counters(registry, "weft_http_requests_total", "HTTP requests answered.");
  Family<Histogram>& http_duration =
      Histograms(registry, "weft_http_request_duration_seconds",
                 "From the first byte of a request to the end of its answer.");
  Family<Counter>& key_requests =
      Counters(registry, "weft_api_key_requests_total", "HTTP requests answered, by API key.");
  Family<Counter>& key_tokens =
      Counters(registry, "weft_api_key_tokens_total", "Tokens of answered requests, by API key.");
  Counter& unknown_fields =
      Counters(registry, "weft_unknown_request_fields_total", "Request fields that were ignored.")
          .Add({});
  Counter& loose_tools =
      Counters(registry, "weft_loose_tools_total",
               "Tools in requests whose arguments are not held to all of their schema.")
          .Add({});
  Gauge& connections = Gauges(registry, "weft_connections", "Open client connections.").Add({});
  Counter& refused_connections =
      Counters(registry, "weft_connections_refused_total", "Connections beyond the limit.").Add({});
  Counter& failed_handshakes =
      Counters(registry, "weft_tls_handshakes_failed_total", "Connections without a TLS handshake.")
          .Add({});
  Counter& disconnects = Counters(registry, "weft_client_disconnects_total",
                                  "Clients that went away before their answer was complete.")
                             .Add({});
  Family<Counter>& spans =
      Counters(registry, "weft_trace_spans_total", "Spans of traces, by what became of them.");
  std::array<Counter*, 3> spans_by_fate = {&spans.Add({{"result", "exported"}}),  // as SpanFate
                                           &spans.Add({{"result", "dropped"}}),
                                           &spans.Add({{"result", "failed"}})};
  Gauge& request_memory =
      Gauges(registry, "weft_request_memory_bytes", "Held by requests and connections.").Add({});
  Gauge& request_memory_limit =
      Gauges(registry, "weft_request_memory_limit_bytes", "What they may hold together.").Add({});
  Family<Counter>& model_loads =
      Counters(registry, "weft_model_loads_total", "Models that were to be loaded on request.");
  Histogram& model_load_seconds =
      Histograms(registry, "weft_model_load_seconds", "From a model's turn to its being loaded.")
          .Add({}, HttpBuckets());
  Family<Counter>& model_leaves =
      Counters(registry, "weft_models_left_total", "Models that have left, by reason.");
  Gauge& memory_limit =
      Gauges(registry, "weft_memory_limit_bytes", "The limit for the whole process.").Add({});
  std::atomic<uint64_t> reserve_bytes{0};
  Family<Counter>& batch_lines =
      Counters(registry, "weft_batch_lines_total", "Lines of batches, by what became of them.");
  Gauge& files_disk =
      Gauges(registry, "weft_files_bytes", "What files and results of batches take on disk.")
          .Add({});
  Gauge& files_disk_limit =
      Gauges(registry, "weft_files_limit_bytes", "What they may take; 0: they are not offered.")
          .Add({});
  Gauge& resident_bytes =
      Gauges(registry, "weft_process_resident_bytes", "Resident memory of the process.").Add({});
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::CountHttpRequest(std::string_view route, int status, double duration_s) {
  const std::string route_label(route);
  families_->http_requests.Add({{"route", route_label}, {"status", std::to_string(status)}})
      .Increment();
  families_->http_duration.Add({{"route", route_label}}, HttpBuckets()).Observe(duration_s);
}

void Metrics::CountKey(const std::string& name, int64_t prompt_tokens, int64_t completion_tokens) {
  families_->key_requests.Add({{"key", name}}).Increment();
  CountKeyTokens(name, prompt_tokens, completion_tokens);
}

void Metrics::CountKeyTokens(const std::string& name, int64_t prompt_tokens,
                             int64_t completion_tokens) {
  const auto count = [&](const char* kind, int64_t tokens) {
    if (tokens == 0) return;
    families_->key_tokens.Add({{"key", name}, {"kind", kind}})
        .Increment(static_cast<double>(tokens));
  };
  count("prompt", prompt_tokens);
  count("completion", completion_tokens);
}

void Metrics::CountBatchLine(bool is_answered) {
  families_->batch_lines.Add({{"result", is_answered ? "answered" : "refused"}}).Increment();
}

void Metrics::SetFilesDisk(uint64_t used_bytes, uint64_t limit_bytes) {
  families_->files_disk.Set(static_cast<double>(used_bytes));
  families_->files_disk_limit.Set(static_cast<double>(limit_bytes));
}

void Metrics::CountUnknownFields(int32_t count) { families_->unknown_fields.Increment(count); }

void Metrics::CountLooseTools(int32_t count) { families_->loose_tools.Increment(count); }

void Metrics::ChangeConnections(int change) { families_->connections.Increment(change); }

void Metrics::CountRefusedConnection() { families_->refused_connections.Increment(); }

void Metrics::SetRequestMemory(uint64_t held_bytes, uint64_t limit_bytes) {
  families_->request_memory.Set(static_cast<double>(held_bytes));
  families_->request_memory_limit.Set(static_cast<double>(limit_bytes));
}

void Metrics::CountFailedHandshake() { families_->failed_handshakes.Increment(); }

void Metrics::CountDisconnect() { families_->disconnects.Increment(); }

void Metrics::CountSpans(SpanFate fate, int64_t count) {
  families_->spans_by_fate[static_cast<size_t>(fate)]->Increment(static_cast<double>(count));
}

void Metrics::CountModelLoad(bool is_loaded, double duration_s) {
  families_->model_loads.Add({{"result", is_loaded ? "loaded" : "failed"}}).Increment();
  if (is_loaded) families_->model_load_seconds.Observe(duration_s);
}

void Metrics::CountModelLeft(std::string_view reason) {
  families_->model_leaves.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::SetMemoryLimit(uint64_t limit_bytes, uint64_t reserve_bytes) {
  families_->memory_limit.Set(static_cast<double>(limit_bytes));
  families_->reserve_bytes = reserve_bytes;
}

void Metrics::AddEngine(EngineFacts facts, std::shared_ptr<EngineMeter> meter,
                        const Engine& engine) {
  const std::lock_guard lock(families_->render_mutex);
  families_->facts.push_back(std::move(facts));
  families_->engines.push_back({.meter = std::move(meter), .engine = &engine});
}

void Metrics::RemoveEngine(const Engine& engine) {
  const std::lock_guard lock(families_->render_mutex);
  for (size_t i = 0; i < families_->engines.size(); ++i) {
    if (families_->engines[i].engine != &engine) continue;
    families_->engines.erase(families_->engines.begin() + static_cast<std::ptrdiff_t>(i));
    families_->facts.erase(families_->facts.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

int32_t Metrics::RunningOf(const Engine& engine) const {
  const std::lock_guard lock(families_->render_mutex);
  for (const auto& [meter, metered] : families_->engines) {
    if (metered == &engine) return meter->Latest().state.running;
  }
  return 0;
}

WatchTotals Metrics::TakeWatchTotals() {
  WatchTotals all;
  all.resident_bytes = static_cast<int64_t>(ResidentBytes());
  const std::lock_guard lock(families_->render_mutex);
  for (const auto& [meter, engine] : families_->engines) {
    const EngineTotals& totals = meter->Latest();
    all.running += totals.state.running;
    all.waiting += std::max(totals.state.waiting, engine->queued_count());
    all.prompt_tokens += totals.prompt_tokens;
    all.completion_tokens += totals.completion_tokens;
    all.cache_queries += totals.cache_queries;
    all.cache_hits += totals.cache_hits;
    all.steps += totals.steps;
    all.step_seconds += totals.step_seconds.sum();
    all.kv_usage = std::max(all.kv_usage, totals.state.block_usage);
    all.longest_step = std::max(all.longest_step, meter->TakeLongestStep());
    const std::chrono::duration<double> max_stall = engine->options().max_stall;
    all.facts.max_stall = std::max(all.facts.max_stall, max_stall.count());
  }
  for (const EngineFacts& facts : families_->facts) {
    all.facts.memory_limit_bytes = static_cast<int64_t>(facts.memory.limit_bytes);
  }
  return all;
}

std::string Metrics::Render(const std::string* only_key) {
  MetricFamilies engines;
  {
    const std::lock_guard lock(families_->render_mutex);
    for (size_t i = 0; i < families_->engines.size(); ++i) {
      const auto& [meter, engine] = families_->engines[i];
      AddEngineMetrics(families_->facts[i], meter->Latest(), engine->queued_count(), engines);
    }
    AddReserve(families_->reserve_bytes, engines);
    AddVllmAliases(families_->facts, engines);
    engines.AddGauge("weft_models_loaded", "Models that are loaded.", {},
                     static_cast<double>(families_->facts.size()));
  }
  engines.AddCounter(
      "weft_log_lines_dropped_total",
      "Lines of the log that are lost: stderr did not take them in time, or no memory was left.",
      {}, static_cast<double>(LogLinesDropped()));
  families_->resident_bytes.Set(static_cast<double>(ResidentBytes()));
  std::vector<prometheus::MetricFamily> all = families_->registry.Collect();
  if (only_key != nullptr) DropOtherKeys(*only_key, all);
  std::ranges::move(engines.families(), std::back_inserter(all));
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace weft
