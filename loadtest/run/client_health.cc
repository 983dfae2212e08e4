#include "loadtest/run/client_health.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sys/resource.h>

namespace weft {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double ThreadCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// By nearest rank, of sorted samples.
double Percentile(const std::vector<float>& samples, double percent) {
  if (samples.empty()) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(samples.size()));
  return samples[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

std::string WhyInvalid(const ClientHealth& health, int64_t without_descriptor,
                       const RunOptions& options) {
  std::string why;
  const auto add = [&why](const std::string& reason) {
    if (!why.empty()) why += "; ";
    why += reason;
  };
  if (health.lag_p99_ms > options.max_lag_ms) {
    add(
        fmt::format("the client was {:.1f} ms late at the 99th percentile, more than {:.1f} "
                    "(--max-lag)",
                    health.lag_p99_ms, options.max_lag_ms));
  }
  if (health.cpu_share > options.max_cpu_share) {
    add(fmt::format("the client's thread used {:.0f}% of its core, more than {:.0f}% (--max-cpu)",
                    health.cpu_share * 100, options.max_cpu_share * 100));
  }
  if (without_descriptor > 0) {
    add(fmt::format("{} requests found no file descriptor (raise ulimit -n)", without_descriptor));
  }
  return why;
}

}  // namespace

HealthMonitor::HealthMonitor() : begin_(Clock::now()), cpu_begin_s_(ThreadCpuSeconds()) {}

void HealthMonitor::AddLag(Clock::duration lag) {
  lags_ms_.push_back(std::chrono::duration<float, std::milli>(lag).count());
}

ClientHealth HealthMonitor::Summarize(const std::vector<RequestRecord>& records,
                                      const RunOptions& options) {
  ClientHealth health;
  health.cpu_s = ThreadCpuSeconds() - cpu_begin_s_;
  const double wall_s = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (wall_s > 0) health.cpu_share = health.cpu_s / wall_s;
  std::sort(lags_ms_.begin(), lags_ms_.end());
  health.lag_p50_ms = Percentile(lags_ms_, 50);
  health.lag_p99_ms = Percentile(lags_ms_, 99);
  health.lag_max_ms = Percentile(lags_ms_, 100);
  int64_t token_count = 0;
  int64_t without_descriptor = 0;
  for (const RequestRecord& record : records) {
    token_count += record.output_tokens;
    if (record.failure == "out of file descriptors") ++without_descriptor;
  }
  if (!records.empty()) {
    health.cpu_us_per_request = health.cpu_s * 1e6 / static_cast<double>(records.size());
  }
  if (token_count > 0) {
    health.cpu_us_per_token = health.cpu_s * 1e6 / static_cast<double>(token_count);
  }
  health.invalid = WhyInvalid(health, without_descriptor, options);
  return health;
}

}  // namespace weft
