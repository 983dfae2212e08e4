#include "loadtest/report/json_report.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "loadtest/report/format.h"
#include "proto/json_dump.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Distribution& d) {
  return {{"samples", d.sample_count},
          {"mean", d.mean},
          {"stddev", d.stddev},
          {"p50", d.p50},
          {"p90", d.p90},
          {"p95", d.p95},
          {"p99", d.p99},
          {"p999", d.p999},
          {"max", d.max}};
}

// The throughput, and of what, of the whole or of a part.
template <typename T>
void AddOutput(const T& figures, bool generates, Json& json) {
  json[generates ? "output_tokens_per_s" : "texts_per_s"] = OutputPerSecond(figures, generates);
}

Json ToJson(const GroupSummary& group, bool generates) {
  Json failures = Json::object();
  for (const auto& [kind, failure] : group.failures) {
    failures[kind]["count"] = failure.count;
    if (!failure.example.empty()) failures[kind]["example"] = failure.example;
  }
  Json latency = Json::object();
  for (const MetricInfo& info : kMetrics) {
    const Distribution& d = group.latencies[info.metric];
    if (d.sample_count > 0) latency[std::string(info.key)] = ToJson(d);
  }
  Json json = {
      {"succeeded", group.succeeded}, {"failed", group.failed}, {"hostile", group.hostile}};
  if (group.succeeded + group.failed > 0) json["error_rate"] = group.error_rate();
  json["failures"] = std::move(failures);
  json["finish_reasons"] = group.finish_reasons;
  if (group.prompt_tokens) json["prompt_tokens"] = *group.prompt_tokens;
  if (group.cached_tokens) json["cached_tokens"] = *group.cached_tokens;
  json[generates ? "output_tokens" : "texts"] = generates ? group.output_tokens : group.texts;
  json["requests_per_s"] = group.requests_per_s;
  if (group.prompt_tokens_per_s) json["prompt_tokens_per_s"] = *group.prompt_tokens_per_s;
  AddOutput(group, generates, json);
  json["latency_ms"] = std::move(latency);
  return json;
}

Json ToJson(const ClientHealth& client) {
  Json json = {
      {"valid", client.invalid.empty()}, {"cpu_s", client.cpu_s}, {"cpu_share", client.cpu_share}};
  if (client.cpu_us_per_request > 0) json["cpu_us_per_request"] = client.cpu_us_per_request;
  if (client.cpu_us_per_token > 0) json["cpu_us_per_token"] = client.cpu_us_per_token;
  const auto add = [&json](const std::string& name, const ClientLag& lag) {
    if (lag.sample_count == 0) return;
    json[name + "_lag_ms"] = {{"samples", lag.sample_count},
                              {"p50", lag.p50_ms},
                              {"p99", lag.p99_ms},
                              {"max", lag.max_ms}};
    json[name + "_late_share"] = lag.late_share();
  };
  add("timer", client.timer);
  add("sending", client.sending);
  json["waiting_share"] = client.waiting_share;
  if (!client.invalid.empty()) {
    json["invalid"] = client.invalid;
    json["was_bottleneck"] = client.was_bottleneck;
  }
  return json;
}

Json ToJson(const ObjectiveResult& result) {
  Json json = {{"name", result.objective.name}, {"met", result.met}};
  const char* unit = result.objective.metric ? "_ms" : "";
  json[std::string("limit") + unit] = result.objective.limit;
  if (result.measured) json[std::string("measured") + unit] = *result.measured;
  return json;
}

Json ToJson(const Goodput& goodput) {
  Json limits = Json::object();
  for (const RequestLimit& limit : goodput.limits) {
    limits[std::string(kMetrics.at(static_cast<size_t>(limit.metric)).key)] = limit.limit_ms;
  }
  return {{"limits_ms", limits},
          {"met", goodput.met_count},
          {"share", goodput.share},
          {"requests_per_s", goodput.requests_per_s}};
}

}  // namespace

std::string JsonReport(const LoadReport& report) {
  const LoadSummary& summary = report.summary;
  Json objectives = Json::array();
  for (const ObjectiveResult& result : report.objectives) objectives.push_back(ToJson(result));
  Json profiles = Json::object();
  for (const ProfileSummary& profile : summary.profiles) {
    profiles[profile.name] = ToJson(profile.figures, summary.generates);
  }
  Json faults = Json::array();
  for (const Fault& fault : report.faults) faults.push_back(fault.text);
  Json json = {{"schema_version", kReportSchemaVersion},
               {"kind", "run"},
               {"url", report.url},
               {"model", report.model},
               {"date", FormatDate(report.date)},
               {"plan", report.plan},
               {"faults", faults},
               {"interrupted", summary.interrupted},
               {"duration_s", summary.duration_s}};
  if (!report.server.empty()) json["server"] = report.server;
  json.update(ToJson(summary.all, summary.generates));
  if (summary.steady.exists()) {
    json["steady"] = {{"begin_s", summary.steady.begin_s},
                      {"end_s", summary.steady.end_s},
                      {"requests_per_s", summary.steady.requests_per_s}};
    AddOutput(summary.steady, summary.generates, json["steady"]);
  }
  json["in_flight"] = {{"mean", summary.mean_in_flight}, {"peak", summary.peak_in_flight}};
  json["objectives"] = objectives;
  if (report.goodput) json["goodput"] = ToJson(*report.goodput);
  json["profiles"] = profiles;
  json["hostile_outcomes"] = summary.hostile;
  json["correctness"] = {{"verified", summary.verified_count},
                         {"mismatched", summary.mismatch_count}};
  json["client"] = ToJson(summary.client);
  return DumpJson(json) + "\n";
}

}  // namespace weft
