// Metrics on their way to Prometheus's text: families by name, put together anew for every scrape.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

#include "server/metrics/histogram.h"

namespace weft {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// One thread. Series of one name follow each other, in the order of their first one.
class MetricFamilies {
 public:
  void AddCounter(std::string_view name, std::string_view help, MetricLabels labels, double value);
  void AddGauge(std::string_view name, std::string_view help, MetricLabels labels, double value);
  void AddHistogram(std::string_view name, std::string_view help, MetricLabels labels,
                    const BucketCounts& counts);

  // nullptr: there is none.
  const prometheus::MetricFamily* Find(std::string_view name) const;
  std::vector<prometheus::MetricFamily>& families() { return families_; }

 private:
  prometheus::ClientMetric& AddMetric(std::string_view name, std::string_view help,
                                      prometheus::MetricType type, MetricLabels labels);

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t, std::less<>> index_of_name_;
};

}  // namespace weft
