#include "server/metrics/metric_families.h"

#include <limits>

#include <prometheus/client_metric.h>

#include "base/check.h"

namespace weft {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void MetricFamilies::AddCounter(std::string_view name, std::string_view help, MetricLabels labels,
                                double value) {
  AddMetric(name, help, MetricType::Counter, std::move(labels)).counter.value = value;
}

void MetricFamilies::AddGauge(std::string_view name, std::string_view help, MetricLabels labels,
                              double value) {
  AddMetric(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
}

void MetricFamilies::AddHistogram(std::string_view name, std::string_view help, MetricLabels labels,
                                  const BucketCounts& counts) {
  ClientMetric::Histogram& histogram =
      AddMetric(name, help, MetricType::Histogram, std::move(labels)).histogram;
  uint64_t sum = 0;
  for (size_t i = 0; i < counts.counts().size(); ++i) {
    sum += static_cast<uint64_t>(counts.counts()[i]);
    const bool above_all = i == counts.bounds().size();
    histogram.bucket.push_back(
        {.cumulative_count = sum,
         .upper_bound = above_all ? std::numeric_limits<double>::infinity() : counts.bounds()[i]});
  }
  histogram.sample_count = sum;
  histogram.sample_sum = counts.sum();
}

const MetricFamily* MetricFamilies::Find(std::string_view name) const {
  const auto found = index_of_name_.find(name);
  return found == index_of_name_.end() ? nullptr : &families_[found->second];
}

ClientMetric& MetricFamilies::AddMetric(std::string_view name, std::string_view help,
                                        MetricType type, MetricLabels labels) {
  const auto [found, is_new] = index_of_name_.try_emplace(std::string(name), families_.size());
  if (is_new) {
    families_.push_back(
        {.name = std::string(name), .help = std::string(help), .type = type, .metric = {}});
  }
  MetricFamily& family = families_[found->second];
  WEFT_CHECK(family.type == type);
  ClientMetric& metric = family.metric.emplace_back();
  for (std::pair<std::string, std::string>& label : labels) {
    metric.label.push_back({.name = std::move(label.first), .value = std::move(label.second)});
  }
  return metric;
}

}  // namespace weft
