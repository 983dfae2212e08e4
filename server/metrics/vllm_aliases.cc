#include "server/metrics/vllm_aliases.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>

namespace weft {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

constexpr std::array kFirstTokenBounds = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                          0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                          20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
constexpr std::array kTokenBounds = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                     0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
constexpr std::array kRequestBounds = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                       5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                       60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
constexpr std::array kIterationBounds = {1.,   8.,    16.,   32.,   64.,   128.,  256.,
                                         512., 1024., 2048., 4096., 8192., 16384.};
constexpr std::array kChoicesBounds = {1., 2., 5., 10., 20.};

// Which of Weft's buckets vLLM has; all of a counter or gauge.
enum class Buckets { kNone, kFirstToken, kToken, kRequest, kIteration, kChoices, kLength };

struct Alias {
  std::string_view own;
  std::string_view vllm;
  std::string_view help;
  Buckets buckets = Buckets::kNone;
};

constexpr std::array kAliases = {
    Alias{"weft_sequences_running", "vllm:num_requests_running",
          "Number of requests in model execution batches."},
    Alias{"weft_requests_waiting", "vllm:num_requests_waiting",
          "Number of requests waiting to be processed."},
    Alias{"weft_kv_usage_ratio", "vllm:kv_cache_usage_perc",
          "KV-cache usage. 1 means 100 percent usage."},
    Alias{"weft_kv_usage_ratio", "vllm:gpu_cache_usage_perc",
          "KV-cache usage. 1 means 100 percent usage. Older name of vllm:kv_cache_usage_perc."},
    Alias{"weft_prefix_cache_queries_total", "vllm:prefix_cache_queries_total",
          "Prefix cache queries, in terms of number of queried tokens."},
    Alias{"weft_prefix_cache_hits_total", "vllm:prefix_cache_hits_total",
          "Prefix cache hits, in terms of number of cached tokens."},
    Alias{"weft_engine_preemptions_total", "vllm:num_preemptions_total",
          "Cumulative number of preemption from the engine."},
    Alias{"weft_prompt_tokens_total", "vllm:prompt_tokens_total",
          "Number of prefill tokens processed."},
    Alias{"weft_completion_tokens_total", "vllm:generation_tokens_total",
          "Number of generation tokens processed."},
    Alias{"weft_choices_finished_total", "vllm:request_success_total",
          "Count of successfully processed requests."},
    Alias{"weft_request_prompt_tokens", "vllm:request_prompt_tokens",
          "Number of prefill tokens processed.", Buckets::kLength},
    Alias{"weft_request_completion_tokens", "vllm:request_generation_tokens",
          "Number of generation tokens processed.", Buckets::kLength},
    Alias{"weft_engine_step_rows", "vllm:iteration_tokens_total",
          "Histogram of number of tokens per engine_step.", Buckets::kIteration},
    Alias{"weft_request_choices", "vllm:request_params_n", "Histogram of the n request parameter.",
          Buckets::kChoices},
    Alias{"weft_request_max_tokens", "vllm:request_params_max_tokens",
          "Histogram of the max_tokens request parameter.", Buckets::kLength},
    Alias{"weft_time_to_first_token_seconds", "vllm:time_to_first_token_seconds",
          "Histogram of time to first token in seconds.", Buckets::kFirstToken},
    Alias{"weft_inter_token_latency_seconds", "vllm:inter_token_latency_seconds",
          "Histogram of inter-token latency in seconds.", Buckets::kToken},
    Alias{"weft_inter_token_latency_seconds", "vllm:time_per_output_token_seconds",
          "Histogram of time per output token in seconds. Older name of "
          "vllm:inter_token_latency_seconds.",
          Buckets::kToken},
    Alias{"weft_time_per_output_token_seconds", "vllm:request_time_per_output_token_seconds",
          "Histogram of time_per_output_token_seconds per request.", Buckets::kToken},
    Alias{"weft_request_duration_seconds", "vllm:e2e_request_latency_seconds",
          "Histogram of e2e request latency in seconds.", Buckets::kRequest},
    Alias{"weft_request_queue_seconds", "vllm:request_queue_time_seconds",
          "Histogram of time spent in WAITING phase for request.", Buckets::kRequest},
    Alias{"weft_request_inference_seconds", "vllm:request_inference_time_seconds",
          "Histogram of time spent in RUNNING phase for request.", Buckets::kRequest},
    Alias{"weft_request_prefill_seconds", "vllm:request_prefill_time_seconds",
          "Histogram of time spent in PREFILL phase for request.", Buckets::kRequest},
    Alias{"weft_request_decode_seconds", "vllm:request_decode_time_seconds",
          "Histogram of time spent in DECODE phase for request.", Buckets::kRequest},
};

// 1, 2, 5, 10, 20, 50, ... up to the model's context.
std::vector<double> LengthBounds(double context) {
  std::vector<double> bounds;
  for (double power = 1;; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power > context) return bounds;
      bounds.push_back(factor * power);
    }
  }
}

std::vector<double> BoundsOf(Buckets buckets, int32_t context) {
  const auto list = [](const auto& bounds) {
    return std::vector<double>(bounds.begin(), bounds.end());
  };
  switch (buckets) {
    case Buckets::kFirstToken:
      return list(kFirstTokenBounds);
    case Buckets::kToken:
      return list(kTokenBounds);
    case Buckets::kRequest:
      return list(kRequestBounds);
    case Buckets::kIteration:
      return list(kIterationBounds);
    case Buckets::kChoices:
      return list(kChoicesBounds);
    case Buckets::kLength:
      return LengthBounds(context);
    case Buckets::kNone:
      break;
  }
  return {};
}

// vLLM's buckets of Weft's, which are finer; the last one has all.
void KeepBuckets(const std::vector<double>& bounds, std::vector<ClientMetric::Bucket>& buckets) {
  std::erase_if(buckets, [&](const ClientMetric::Bucket& bucket) {
    return bucket.upper_bound != std::numeric_limits<double>::infinity() &&
           !std::ranges::binary_search(bounds, bucket.upper_bound);
  });
}

std::string ReasonOf(const std::string& own) {
  if (own == "aborted") return "abort";
  if (own == "failed") return "error";
  return own;
}

// The series under vLLM's labels.
ClientMetric Renamed(const ClientMetric& own, const Alias& alias,
                     std::span<const EngineFacts> engines) {
  ClientMetric metric = own;
  int32_t context = 0;
  std::ptrdiff_t index = 0;
  for (ClientMetric::Label& label : metric.label) {
    if (label.name == "model") {
      const auto found = std::ranges::find(engines, label.value, &EngineFacts::model);
      if (found != engines.end()) {
        context = found->context;
        index = found - engines.begin();
      }
      label.name = "model_name";
    } else if (label.name == "reason") {
      label = {.name = "finished_reason", .value = ReasonOf(label.value)};
    }
  }
  metric.label.push_back({.name = "engine", .value = std::to_string(index)});
  KeepBuckets(BoundsOf(alias.buckets, context), metric.histogram.bucket);
  return metric;
}

void AddCacheConfig(const EngineFacts& facts, size_t index, MetricFamilies& families) {
  families.AddGauge("vllm:cache_config_info", "Information of the LLMEngine CacheConfig",
                    {{"block_size", std::to_string(facts.block_size)},
                     {"cache_dtype", facts.kv_type},
                     {"enable_prefix_caching", facts.prefix_cache ? "True" : "False"},
                     {"engine", std::to_string(index)},
                     {"kv_cache_memory_bytes", std::to_string(facts.memory.kv_bytes())},
                     {"num_gpu_blocks", std::to_string(facts.memory.block_count())},
                     {"sliding_window", "None"}},
                    1);
}

}  // namespace

void AddVllmAliases(std::span<const EngineFacts> engines, MetricFamilies& families) {
  for (const Alias& alias : kAliases) {
    const MetricFamily* own = families.Find(alias.own);
    if (own == nullptr) continue;
    MetricFamily family{.name = std::string(alias.vllm),
                        .help = std::string(alias.help),
                        .type = own->type,
                        .metric = {}};
    for (const ClientMetric& metric : own->metric) {
      family.metric.push_back(Renamed(metric, alias, engines));
    }
    families.families().push_back(std::move(family));
  }
  for (size_t i = 0; i < engines.size(); ++i) AddCacheConfig(engines[i], i, families);
}

}  // namespace weft
