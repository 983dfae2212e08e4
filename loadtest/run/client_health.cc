#include "loadtest/run/client_health.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <sys/resource.h>

#include "loadtest/run/nearest_rank.h"

namespace weft {
namespace {

// Of all that the client did: beyond, the 99th percentiles are its own.
constexpr double kMostLateShare = 0.01;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double ThreadCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

float MillisecondsOf(HealthMonitor::Clock::duration duration) {
  return std::chrono::duration<float, std::milli>(duration).count();
}

// Sorts the samples.
ClientLag LagOf(std::vector<float>& samples_ms, double max_lag_ms) {
  ClientLag lag;
  lag.sample_count = std::ssize(samples_ms);
  if (samples_ms.empty()) return lag;
  std::sort(samples_ms.begin(), samples_ms.end());
  lag.p50_ms = NearestRank(samples_ms, 500);
  lag.p99_ms = NearestRank(samples_ms, 990);
  lag.max_ms = samples_ms.back();
  lag.late_count =
      samples_ms.end() - std::upper_bound(samples_ms.begin(), samples_ms.end(), max_lag_ms);
  return lag;
}

// How long the calling thread has been ready to run without a core: the second number of
// schedstat, in nanoseconds.
double ThreadWaitedSeconds() {
  std::ifstream file("/proc/thread-self/schedstat");
  int64_t ran_ns = 0;
  int64_t waited_ns = 0;
  return file >> ran_ns >> waited_ns ? static_cast<double>(waited_ns) * 1e-9 : 0;
}

bool IsLate(const ClientLag& lag) {
  return LeastShare(lag.late_count, lag.sample_count) > kMostLateShare;
}

}  // namespace

HealthMonitor::HealthMonitor()
    : begin_(Clock::now()),
      cpu_begin_s_(ThreadCpuSeconds()),
      waited_begin_s_(ThreadWaitedSeconds()) {}

void HealthMonitor::AddSendLag(Clock::duration lag) {
  send_lags_ms_.push_back(MillisecondsOf(lag));
}

void HealthMonitor::AddTimerLag(Clock::duration lag, Clock::duration interval) {
  for (Clock::duration missed = lag; missed > Clock::duration::zero(); missed -= interval) {
    timer_lags_ms_.push_back(MillisecondsOf(missed));
  }
}

ClientHealth HealthMonitor::Summarize(const std::vector<RequestRecord>& records,
                                      const RunOptions& options) {
  ClientHealth health;
  health.cpu_s = ThreadCpuSeconds() - cpu_begin_s_;
  const double wall_s = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (wall_s > 0) {
    health.cpu_share = health.cpu_s / wall_s;
    health.waiting_share = (ThreadWaitedSeconds() - waited_begin_s_) / wall_s;
  }
  health.timer = LagOf(timer_lags_ms_, options.max_lag_ms);
  health.sending = LagOf(send_lags_ms_, options.max_lag_ms);
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
  JudgeClient(without_descriptor, options, health);
  return health;
}

void JudgeClient(int64_t without_descriptor, const RunOptions& options, ClientHealth& health) {
  health.invalid.clear();
  const auto add = [&health](const std::string& reason) {
    if (!health.invalid.empty()) health.invalid += "; ";
    health.invalid += reason;
  };
  double late_share = 0;
  const auto judge = [&](const ClientLag& lag, const char* whose) {
    if (!IsLate(lag)) return;
    late_share = std::max(late_share, lag.late_share());
    add(
        fmt::format("the client was more than {:.1f} ms late (--max-lag) for {:.1f}% of {}, "
                    "{:.1f} ms at the 99th percentile",
                    options.max_lag_ms, lag.late_share() * 100, whose, lag.p99_ms));
  };
  judge(health.timer, "its timer");
  judge(health.sending, "its requests");
  const bool waited = late_share > 0 && health.waiting_share >= late_share;
  if (waited) {
    add(fmt::format("it waited for a core for {:.1f}% of the run, and had one for {:.1f}%",
                    health.waiting_share * 100, health.cpu_share * 100));
  }
  const bool is_busy = health.cpu_share > options.max_cpu_share;
  if (is_busy) {
    add(fmt::format("the client's thread used {:.0f}% of its core, more than {:.0f}% (--max-cpu)",
                    health.cpu_share * 100, options.max_cpu_share * 100));
  }
  if (without_descriptor > 0) {
    add(fmt::format("{} requests found no file descriptor (raise ulimit -n)", without_descriptor));
  }
  health.was_bottleneck = is_busy || without_descriptor > 0 || (late_share > 0 && !waited);
}

double LeastShare(int64_t count, int64_t sample_count) {
  if (sample_count <= 0) return 0;
  constexpr double kZ = 1.645;  // 95%, one-sided
  const auto n = static_cast<double>(sample_count);
  const double share = static_cast<double>(count) / n;
  const double middle = share + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return std::max(middle - half, 0.0) / (1 + kZ * kZ / n);
}

}  // namespace weft
