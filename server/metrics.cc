#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/resources.h"
#include "engine/engine.h"

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

Histogram& Seconds(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(
      {}, Histogram::BucketBoundaries{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                      2.5, 5, 10, 25, 50, 100, 250});
}

std::string ReasonLabel(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAborted:
      return "aborted";
    case FinishReason::kFailed:
      return "failed";
  }
  return "failed";
}

}  // namespace

struct Metrics::Families {
  Registry registry;

  Family<Counter>& http_requests =
      Counters(registry, "weft_http_requests_total", "HTTP requests answered.");
  Histogram& http_duration = Seconds(registry, "weft_http_request_duration_seconds",
                                     "From the first byte of a request to the end of its answer.");
  Family<Counter>& key_requests =
      Counters(registry, "weft_api_key_requests_total", "HTTP requests answered, by API key.");
  Family<Counter>& key_tokens =
      Counters(registry, "weft_api_key_tokens_total", "Tokens of answered requests, by API key.");
  Counter& unknown_fields =
      Counters(registry, "weft_unknown_request_fields_total", "Request fields that were ignored.")
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

  Counter& steps = Counters(registry, "weft_engine_steps_total", "Forward passes.").Add({});
  Histogram& step_duration =
      Seconds(registry, "weft_engine_step_duration_seconds", "Duration of a forward pass.");
  Histogram& mixed_step_duration =
      Seconds(registry, "weft_engine_mixed_step_duration_seconds",
              "Duration of a step that carried running streams and prompts.");
  Histogram& mixed_step_predicted =
      Seconds(registry, "weft_engine_mixed_step_predicted_seconds",
              "What that duration was predicted to be when the prompts' chunks were cut.");
  Family<Counter>& computed_tokens = Counters(registry, "weft_engine_computed_tokens_total",
                                              "Rows computed, recomputation included.");
  Counter& computed_prompt_tokens = computed_tokens.Add({{"phase", "prompt"}});
  Counter& computed_generated_tokens = computed_tokens.Add({{"phase", "generated"}});
  Counter& preemptions =
      Counters(registry, "weft_engine_preemptions_total", "Sequences that gave up their KV blocks.")
          .Add({});

  Family<Counter>& finished =
      Counters(registry, "weft_choices_finished_total", "Continuations that reached their end.");
  Counter& prompt_tokens =
      Counters(registry, "weft_prompt_tokens_total", "Tokens of accepted prompts.").Add({});
  Counter& completion_tokens =
      Counters(registry, "weft_completion_tokens_total", "Tokens generated for clients.").Add({});
  Histogram& time_to_first_token = Seconds(registry, "weft_time_to_first_token_seconds",
                                           "From a whole request to its first token.");
  Histogram& time_per_output_token = Seconds(registry, "weft_time_per_output_token_seconds",
                                             "Mean time between a choice's tokens.");
  Histogram& request_duration =
      Seconds(registry, "weft_request_duration_seconds", "From a whole request to its last token.");

  Family<Gauge>& running = Gauges(registry, "weft_sequences_running", "Sequences being computed.");
  Family<Gauge>& waiting = Gauges(registry, "weft_requests_waiting", "Requests queued.");
  Family<Gauge>& used_blocks = Gauges(registry, "weft_kv_blocks_used", "KV blocks in use.");
  Family<Gauge>& total_blocks = Gauges(registry, "weft_kv_blocks", "KV blocks there are.");
  Family<Gauge>& kv_usage = Gauges(registry, "weft_kv_usage_ratio", "Share of KV blocks in use.");
  Gauge& resident_bytes =
      Gauges(registry, "weft_process_resident_bytes", "Resident memory of the process.").Add({});
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::CountHttpRequest(std::string_view route, int status, double duration_s) {
  families_->http_requests.Add({{"route", std::string(route)}, {"status", std::to_string(status)}})
      .Increment();
  families_->http_duration.Observe(duration_s);
}

void Metrics::CountKey(const std::string& name, int64_t prompt_tokens, int64_t completion_tokens) {
  families_->key_requests.Add({{"key", name}}).Increment();
  const auto count = [&](const char* kind, int64_t tokens) {
    if (tokens == 0) return;
    families_->key_tokens.Add({{"key", name}, {"kind", kind}})
        .Increment(static_cast<double>(tokens));
  };
  count("prompt", prompt_tokens);
  count("completion", completion_tokens);
}

void Metrics::CountUnknownFields(int32_t count) { families_->unknown_fields.Increment(count); }

void Metrics::ChangeConnections(int change) { families_->connections.Increment(change); }

void Metrics::CountRefusedConnection() { families_->refused_connections.Increment(); }

void Metrics::CountFailedHandshake() { families_->failed_handshakes.Increment(); }

void Metrics::CountDisconnect() { families_->disconnects.Increment(); }

void Metrics::CountStep(const StepReport& report) {
  families_->steps.Increment();
  families_->step_duration.Observe(std::chrono::duration<double>(report.duration).count());
  if (report.predicted.count() > 0) {
    families_->mixed_step_duration.Observe(std::chrono::duration<double>(report.duration).count());
    families_->mixed_step_predicted.Observe(
        std::chrono::duration<double>(report.predicted).count());
  }
  families_->computed_prompt_tokens.Increment(report.prompt_tokens);
  families_->computed_generated_tokens.Increment(report.generated_tokens);
  families_->preemptions.Increment(report.preemptions);
}

void Metrics::CountFinish(FinishReason reason, int32_t completion_tokens) {
  families_->finished.Add({{"reason", ReasonLabel(reason)}}).Increment();
  families_->completion_tokens.Increment(completion_tokens);
}

void Metrics::CountPrompt(int32_t prompt_tokens) {
  families_->prompt_tokens.Increment(prompt_tokens);
}

void Metrics::ObserveTimeToFirstToken(double seconds) {
  families_->time_to_first_token.Observe(seconds);
}

void Metrics::ObserveTimePerOutputToken(double seconds) {
  families_->time_per_output_token.Observe(seconds);
}

void Metrics::ObserveRequestDuration(double seconds) {
  families_->request_duration.Observe(seconds);
}

std::string Metrics::Render(const std::vector<ServedModel>& models) {
  for (const ServedModel& model : models) {
    const EngineState stats = model.engine->Stats();
    const prometheus::Labels labels = {{"model", model.id}};
    const auto used = static_cast<double>(stats.used_blocks);
    const auto total = static_cast<double>(stats.total_blocks);
    families_->running.Add(labels).Set(stats.running);
    families_->waiting.Add(labels).Set(stats.waiting);
    families_->used_blocks.Add(labels).Set(used);
    families_->total_blocks.Add(labels).Set(total);
    families_->kv_usage.Add(labels).Set(total > 0 ? used / total : 0);
  }
  families_->resident_bytes.Set(static_cast<double>(ResidentBytes()));
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace weft
