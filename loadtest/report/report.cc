#include "loadtest/report/report.h"

#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loadtest/report/latency.h"

namespace weft {
namespace {

void AppendRow(std::string& text, std::string_view name, const Distribution& d) {
  if (d.sample_count == 0) {
    fmt::format_to(std::back_inserter(text), "{:<24}{:>10}\n", name, "no sample");
    return;
  }
  fmt::format_to(std::back_inserter(text),
                 "{:<24}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}\n", name, d.mean,
                 d.p50, d.p90, d.p95, d.p99, d.max);
}

nlohmann::ordered_json ToJson(const Distribution& d) {
  return {{"samples", d.sample_count},
          {"mean", d.mean},
          {"p50", d.p50},
          {"p90", d.p90},
          {"p95", d.p95},
          {"p99", d.p99},
          {"max", d.max}};
}

}  // namespace

LoadtestSummary SummarizeLoadtest(std::span<const RequestResult> results,
                                  std::chrono::steady_clock::duration wall) {
  LoadtestSummary summary;
  std::vector<double> first_token, per_token, chunk_gap, whole;
  for (const RequestResult& result : results) {
    if (!result.ok()) {
      ++summary.failed;
      FailureCount& failure = summary.failures[result.failure];
      if (failure.count++ == 0) failure.example = result.failure_detail;
      continue;
    }
    ++summary.succeeded;
    summary.prompt_tokens += result.prompt_tokens;
    summary.output_tokens += result.output_tokens;
    whole.push_back(Milliseconds(result.end - result.begin));
    const auto& arrivals = result.text_arrivals;
    if (arrivals.empty()) continue;
    first_token.push_back(Milliseconds(arrivals.front() - result.begin));
    for (size_t i = 1; i < arrivals.size(); ++i) {
      chunk_gap.push_back(Milliseconds(arrivals[i] - arrivals[i - 1]));
    }
    if (arrivals.size() > 1 && result.output_tokens > 1) {
      per_token.push_back(Milliseconds(arrivals.back() - arrivals.front()) /
                          static_cast<double>(result.output_tokens - 1));
    }
  }
  summary.wall_s = std::chrono::duration<double>(wall).count();
  if (summary.wall_s > 0) {
    summary.requests_per_s = static_cast<double>(summary.succeeded) / summary.wall_s;
    summary.output_tokens_per_s = static_cast<double>(summary.output_tokens) / summary.wall_s;
  }
  summary.first_token = Summarize(std::move(first_token));
  summary.per_token = Summarize(std::move(per_token));
  summary.chunk_gap = Summarize(std::move(chunk_gap));
  summary.whole = Summarize(std::move(whole));
  return summary;
}

std::string TextReport(const LoadtestOptions& options, const LoadtestSummary& summary) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "requests    {} succeeded, {} failed in {:.2f} s, {} at a time\n",
                 summary.succeeded, summary.failed, summary.wall_s, options.concurrency);
  fmt::format_to(out, "throughput  {:.2f} requests/s, {:.1f} output tokens/s\n",
                 summary.requests_per_s, summary.output_tokens_per_s);
  fmt::format_to(out, "tokens      {} prompt, {} output\n\n", summary.prompt_tokens,
                 summary.output_tokens);
  fmt::format_to(out, "{:<24}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "milliseconds", "mean", "p50",
                 "p90", "p95", "p99", "max");
  if (options.stream) {
    AppendRow(text, "time to first token", summary.first_token);
    AppendRow(text, "time per output token", summary.per_token);
    AppendRow(text, "gap between chunks", summary.chunk_gap);
  }
  AppendRow(text, "whole request", summary.whole);
  for (const auto& [kind, failure] : summary.failures) {
    fmt::format_to(out, "failed      {} x {}: {}\n", failure.count, kind, failure.example);
  }
  return text;
}

std::string JsonReport(const LoadtestOptions& options, const LoadtestSummary& summary) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::object();
  for (const auto& [kind, failure] : summary.failures) {
    failures[kind] = {{"count", failure.count}, {"example", failure.example}};
  }
  const nlohmann::ordered_json report = {
      {"url", options.url},
      {"model", options.model},
      {"concurrency", options.concurrency},
      {"stream", options.stream},
      {"max_tokens", options.max_tokens},
      {"wall_s", summary.wall_s},
      {"succeeded", summary.succeeded},
      {"failed", summary.failed},
      {"failures", failures},
      {"prompt_tokens", summary.prompt_tokens},
      {"output_tokens", summary.output_tokens},
      {"requests_per_s", summary.requests_per_s},
      {"output_tokens_per_s", summary.output_tokens_per_s},
      {"first_token_ms", ToJson(summary.first_token)},
      {"per_token_ms", ToJson(summary.per_token)},
      {"chunk_gap_ms", ToJson(summary.chunk_gap)},
      {"whole_ms", ToJson(summary.whole)},
  };
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace weft
