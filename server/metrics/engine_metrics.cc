#include "server/metrics/engine_metrics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "server/version.h"

namespace weft {
namespace {

// Adds the metrics of one engine, each with the model's name among its labels.
class EngineMetricsWriter {
 public:
  EngineMetricsWriter(const EngineFacts& facts, const EngineTotals& totals,
                      MetricFamilies& families)
      : facts_(facts), totals_(totals), families_(families) {}

  void AddState(int32_t queued_count);
  void AddRequests();
  void AddSteps();
  void AddWork();
  void AddExperts();
  void AddMemory();
  void AddInfo();

 private:
  template <typename Value>
  void Counter(std::string_view name, std::string_view help, Value value,
               MetricLabels labels = {}) {
    families_.AddCounter(name, help, Labels(std::move(labels)), static_cast<double>(value));
  }
  template <typename Value>
  void Gauge(std::string_view name, std::string_view help, Value value, MetricLabels labels = {}) {
    families_.AddGauge(name, help, Labels(std::move(labels)), static_cast<double>(value));
  }
  void Histogram(std::string_view name, std::string_view help, const BucketCounts& counts) {
    families_.AddHistogram(name, help, Labels({}), counts);
  }
  MetricLabels Labels(MetricLabels labels) const {
    labels.emplace(labels.begin(), "model", facts_.model);
    return labels;
  }

  const EngineFacts& facts_;
  const EngineTotals& totals_;
  MetricFamilies& families_;
};

constexpr std::string_view kSetAside = "weft_memory_bytes";
constexpr std::string_view kSetAsideHelp = "Memory set aside at the start.";

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void EngineMetricsWriter::AddState(int32_t queued_count) {
  const EngineState& state = totals_.state;
  Gauge("weft_sequences_running", "Sequences being computed.", state.running);
  // What has come since the last step is not in its state yet.
  Gauge("weft_requests_waiting", "Sequences queued, preempted ones included.",
        std::max(state.waiting, queued_count));
  Gauge("weft_kv_blocks", "KV blocks there are.", facts_.memory.block_count());
  Gauge("weft_kv_blocks_used", "KV blocks in use.", state.used_blocks);
  Gauge("weft_kv_usage_ratio",
        "Share of the KV blocks in use, of the group of layers in which it is the largest.",
        state.block_usage);
}

void EngineMetricsWriter::AddRequests() {
  // In the order of FinishReason.
  constexpr std::array<const char*, 4> kReasons = {"stop", "length", "aborted", "failed"};
  for (size_t i = 0; i < kReasons.size(); ++i) {
    Counter("weft_choices_finished_total", "Continuations that reached their end.",
            totals_.finished_choices[i], {{"reason", kReasons[i]}});
  }
  Counter("weft_prompt_tokens_total", "Tokens of prompts, once each prompt is computed.",
          totals_.prompt_tokens);
  Counter("weft_completion_tokens_total", "Tokens generated, end tokens included.",
          totals_.completion_tokens);
  Counter("weft_prefix_cache_queries_total", "Tokens of prompts looked up in the prefix cache.",
          totals_.cache_queries);
  Counter("weft_prefix_cache_hits_total", "Tokens of prompts found in the prefix cache.",
          totals_.cache_hits);
  Counter("weft_prefix_cache_stateless_total",
          "Tokens of prompts found in the prefix cache, but computed again for want of a recurrent "
          "state from which to go on.",
          totals_.cache_stateless);
  Histogram("weft_time_to_first_token_seconds",
            "From a whole HTTP request to the first token of a choice.",
            totals_.first_token_seconds);
  Histogram("weft_inter_token_latency_seconds", "Between two tokens of a choice.",
            totals_.token_gap_seconds);
  Histogram("weft_time_per_output_token_seconds", "Mean time between a choice's tokens.",
            totals_.mean_gap_seconds);
  Histogram("weft_request_duration_seconds",
            "From a whole HTTP request to the last token of a choice.", totals_.request_seconds);
  Histogram("weft_request_queue_seconds", "From the engine's queue to the first step.",
            totals_.queue_seconds);
  Histogram("weft_request_prefill_seconds", "From the first step to the first token.",
            totals_.prefill_seconds);
  Histogram("weft_request_decode_seconds", "From the first token to the last.",
            totals_.decode_seconds);
  Histogram("weft_request_inference_seconds", "From the first step to the last token.",
            totals_.inference_seconds);
  Histogram("weft_request_prompt_tokens", "Tokens of a choice's prompt.", totals_.prompt_lengths);
  Histogram("weft_request_completion_tokens", "Tokens of a choice.", totals_.completion_lengths);
  Histogram("weft_request_max_tokens", "The most tokens that a choice might have had.",
            totals_.max_tokens);
  Histogram("weft_request_choices", "Choices of a prompt.", totals_.choice_counts);
}

void EngineMetricsWriter::AddSteps() {
  Counter("weft_engine_steps_total", "Forward passes.", totals_.steps);
  Histogram("weft_engine_step_duration_seconds", "Duration of a forward pass.",
            totals_.step_seconds);
  Histogram("weft_engine_step_rows", "Tokens that a step computed.", totals_.step_rows);
  Histogram("weft_engine_step_sequences", "Sequences in a step.", totals_.step_sequences);
  Histogram("weft_engine_mixed_step_duration_seconds",
            "Duration of a step that carried running streams and prompts.",
            totals_.mixed_step_seconds);
  Histogram("weft_engine_mixed_step_predicted_seconds",
            "What that duration was predicted to be when the prompts' chunks were cut.",
            totals_.mixed_step_predicted_seconds);
  constexpr std::string_view kComputed = "weft_engine_computed_tokens_total";
  constexpr std::string_view kComputedHelp = "Tokens computed, recomputation included.";
  Counter(kComputed, kComputedHelp, totals_.prompt_rows, {{"phase", "prompt"}});
  Counter(kComputed, kComputedHelp, totals_.generated_rows, {{"phase", "generated"}});
  Counter("weft_engine_preemptions_total", "Sequences that gave up their KV blocks.",
          totals_.preemptions);
  Counter("weft_constraint_masks_total", "Masks of the tokens that constrained texts allow.",
          totals_.masks);
  Counter("weft_constraint_mask_seconds_total", "Time that those took, beside steps.",
          totals_.mask_seconds);
  Counter("weft_constraint_parked_total",
          "How often a sequence waited, its step being done, for its mask.",
          totals_.parked_sequences);
}

void EngineMetricsWriter::AddWork() {
  const StepWork& work = totals_.work;
  const MachineLimits& limits = facts_.limits;
  Counter("weft_engine_read_bytes_total",
          "Bytes of weights and KV that the steps had to read at least.", work.bytes);
  Gauge("weft_machine_read_bytes_per_second", "How fast this machine reads memory at most.",
        limits.read_bytes_per_s);
  const auto add = [this](const char* arithmetic, double operations, const PeakRate& peak) {
    const MetricLabels labels = {{"arithmetic", arithmetic}};
    Counter("weft_engine_operations_total", "Additions and multiplications that the steps needed.",
            operations, labels);
    Gauge("weft_machine_operations_per_second", "How fast this machine computes at most.",
          peak.operations_per_s, labels);
  };
  add("int8", work.int8_operations, limits.int8);
  add("bf16", work.bf16_operations, limits.bf16);
  add("float32", work.float_operations, limits.float32);
  constexpr std::string_view kNeeded = "weft_engine_needed_seconds_total";
  constexpr std::string_view kNeededHelp =
      "What the steps' reads and operations would take at the machine's limits.";
  Counter(kNeeded, kNeededHelp, totals_.work_time.memory, {{"resource", "memory"}});
  Counter(kNeeded, kNeededHelp, totals_.work_time.arithmetic, {{"resource", "arithmetic"}});
  const WorkTime& recent = totals_.recent_work;
  Gauge("weft_engine_bandwidth_ratio", "Share of the memory bandwidth that recent steps needed.",
        Ratio(recent.memory, recent.busy));
  Gauge("weft_engine_arithmetic_ratio", "Share of the arithmetic that recent steps needed.",
        Ratio(recent.arithmetic, recent.busy));
}

void EngineMetricsWriter::AddExperts() {
  for (size_t expert = 0; expert < totals_.expert_tokens.size(); ++expert) {
    Counter("weft_expert_tokens_total", "Tokens that chose this expert, all layers together.",
            totals_.expert_tokens[expert], {{"expert", std::to_string(expert)}});
  }
  for (size_t layer = 0; layer < totals_.layer_imbalance.size(); ++layer) {
    Gauge("weft_expert_imbalance_ratio",
          "Tokens of the layer's busiest expert over the mean of all, recently.",
          totals_.layer_imbalance[layer], {{"layer", std::to_string(layer)}});
  }
}

void EngineMetricsWriter::AddMemory() {
  const MemoryPlan& memory = facts_.memory;
  const auto add = [this](const char* use, uint64_t bytes) {
    Gauge(kSetAside, kSetAsideHelp, bytes, {{"use", use}});
  };
  add("weights", memory.weight_bytes);
  add("kv_cache", memory.kv_bytes());
  add("workspaces", memory.workspace_bytes);
}

void EngineMetricsWriter::AddInfo() {
  Gauge("weft_model_info", "What is served, and how.", 1,
        {{"architecture", facts_.architecture},
         {"kernels", facts_.kernels},
         {"kv_type", facts_.kv_type},
         {"threads", std::to_string(facts_.thread_count)},
         {"context", std::to_string(facts_.context)},
         {"version", std::string(Version())}});
  Gauge("weft_kv_cache_info", "The KV cache.", 1,
        {{"block_size", std::to_string(facts_.block_size)},
         {"block_count", std::to_string(facts_.memory.block_count())},
         {"kv_type", facts_.kv_type}});
}

}  // namespace

void AddEngineMetrics(const EngineFacts& facts, const EngineTotals& totals, int32_t queued_count,
                      MetricFamilies& families) {
  EngineMetricsWriter writer(facts, totals, families);
  writer.AddState(queued_count);
  writer.AddRequests();
  writer.AddSteps();
  writer.AddWork();
  writer.AddExperts();
  writer.AddMemory();
  writer.AddInfo();
}

void AddReserve(uint64_t bytes, MetricFamilies& families) {
  families.AddGauge(kSetAside, kSetAsideHelp, {{"use", "other"}}, static_cast<double>(bytes));
}

}  // namespace weft
