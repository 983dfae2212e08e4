#include "loadtest/run/load_runner.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <sys/resource.h>

#include "loadtest/run/drive.h"
#include "loadtest/run/plan_run.h"
#include "loadtest/run/short_slices.h"
#include "loadtest/run/verify.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kOtherDescriptors = 32;          // than the connections of users
constexpr int32_t kWarmupUsers = 8;                // of an open loop
constexpr uint64_t kWarmupSeed = 0x5741524D5550u;  // makes prompts that the run does not have

Result<void> CheckOptions(const LoadPlan& plan, const RunOptions& options) {
  if (options.verify_count != 0 && options.temperature != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "--verify compares greedy outputs: it needs --temperature 0, not {}",
                options.temperature);
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // may always be raised so far
  const int64_t limit = files.rlim_max == RLIM_INFINITY ? std::numeric_limits<int64_t>::max()
                                                        : static_cast<int64_t>(files.rlim_max);
  // An open loop's are not known; where it finds none left, the run is invalid.
  const int32_t connections =
      options.max_connections > 0 ? std::min(plan.users, options.max_connections) : plan.users;
  if (connections + kOtherDescriptors <= limit) return {};
  return Fail(ErrorCode::kResourceExhausted,
              "{} connections need {} file descriptors, and this process may have {}: raise "
              "`ulimit -Hn`",
              connections, connections + kOtherDescriptors, limit);
}

// What the plan's generated prompts are like, but not the same: what warms the server up must not
// fill its prefix cache with what is measured. There are no others of given ones: the plan says so.
LoadPlan WarmupPlan(const LoadPlan& plan, const RunOptions& options) {
  LoadPlan warmup;
  warmup.users = plan.users > 0 ? plan.users : kWarmupUsers;
  warmup.profiles = plan.profiles;
  warmup.given_prompts = plan.given_prompts;
  warmup.vocabulary_size = plan.vocabulary_size;
  std::vector<PlannedRequest> firsts;
  for (const PlannedRequest& request : plan.requests) {
    if (request.previous_turn < 0 && request.behaviour == Behaviour::kNormal) {
      firsts.push_back(request);
    }
    if (std::cmp_equal(firsts.size(), options.warmup_requests) && options.warmup_s == 0) break;
  }
  const size_t count =
      options.warmup_s > 0 ? firsts.size() : static_cast<size_t>(options.warmup_requests);
  for (size_t i = 0; i < count && !firsts.empty(); ++i) {
    PlannedRequest request = firsts[i % firsts.size()];
    for (PromptSegment& segment : request.segments) segment.seed ^= kWarmupSeed;
    warmup.requests.push_back(std::move(request));
  }
  return warmup;
}

// The phases of a run, which share its connections.
class LoadRunner {
 public:
  LoadRunner(boost::asio::io_context& context, const Target& target, const LoadPlan& plan,
             const BodyWriter& bodies, const RunOptions& options)
      : context_(context),
        target_(target),
        plan_(plan),
        bodies_(bodies),
        options_(options),
        pool_(context, target, options.max_connections) {}

  // None may follow once the run is interrupted.
  void WarmUp();
  void Send();
  void Verify();

  LoadRun run;

 private:
  void DrivePlan(PlanRun& plan_run, const Sender& sender, HealthMonitor& monitor, const char* phase,
                 bool is_counted);
  std::string Label(const char* phase) const;

  boost::asio::io_context& context_;
  const Target& target_;
  const LoadPlan& plan_;
  const BodyWriter& bodies_;
  const RunOptions& options_;
  ConnectionPool pool_;
  std::vector<Answer> answers_;  // to the plan's requests, if outputs are verified
};

std::string LoadRunner::Label(const char* phase) const {
  if (*phase == '\0' || options_.progress_label.empty()) return options_.progress_label + phase;
  return options_.progress_label + ", " + phase;
}

void LoadRunner::DrivePlan(PlanRun& plan_run, const Sender& sender, HealthMonitor& monitor,
                           const char* phase, bool is_counted) {
  Progress progress(Label(phase));
  const int64_t planned = is_counted ? static_cast<int64_t>(plan_.requests.size()) : 0;
  plan_run.on_first_token = [&progress](Clock::time_point now, Clock::duration time) {
    progress.AddFirstToken(now, time);
  };
  DriveHooks hooks;
  hooks.on_interrupt = [&] {
    run.interrupted = true;
    plan_run.StopSending();
  };
  hooks.on_tick = [&monitor](Clock::duration lateness, Clock::duration interval) {
    monitor.AddTimerLag(lateness, interval);
  };
  if (options_.progress) {
    hooks.progress_line = [&] { return progress.Line(Clock::now(), planned, sender.counters()); };
  }
  Drive(context_, pool_, target_.timeout, hooks, plan_run.Main());
  plan_run.on_first_token = nullptr;
}

void LoadRunner::WarmUp() {
  const LoadPlan warmup = WarmupPlan(plan_, options_);
  if (warmup.requests.empty()) return;
  Sender sender(pool_, target_, warmup, bodies_, options_);
  HealthMonitor ignored;
  const auto repeat_for =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.warmup_s));
  PlanRun plan_run(context_, sender, ignored, warmup, {.repeat_for = repeat_for});
  DrivePlan(plan_run, sender, ignored, "warming up", /*is_counted=*/false);
}

void LoadRunner::Send() {
  Sender sender(pool_, target_, plan_, bodies_, options_);
  HealthMonitor monitor;
  PlanRun plan_run(context_, sender, monitor, plan_, {.keep_answers = options_.verify_count != 0});
  run.date = std::chrono::system_clock::now();
  run.begin = Clock::now();
  const bool is_limited_by_time = plan_.users > 0 && plan_.duration.count() > 0;
  DrivePlan(plan_run, sender, monitor, "", !is_limited_by_time);
  run.end = Clock::now();
  run.records = std::move(plan_run.records());
  run.client = monitor.Summarize(run.records, options_);
  answers_ = std::move(plan_run.answers());
}

void LoadRunner::Verify() {
  Sender sender(pool_, target_, plan_, bodies_, options_);
  bool goes_on = true;
  Progress progress(Label("verifying"));
  DriveHooks hooks;
  hooks.on_interrupt = [&] {
    run.interrupted = true;
    goes_on = false;
  };
  hooks.on_tick = [](Clock::duration, Clock::duration) {};
  if (options_.progress) {
    hooks.progress_line = [&] {
      return progress.Line(Clock::now(), std::max<int64_t>(options_.verify_count, 0),
                           sender.counters());
    };
  }
  Drive(context_, pool_, target_.timeout, hooks,
        VerifyOutputs(sender, plan_, options_.verify_count, answers_, goes_on, run));
}

}  // namespace

Result<LoadRun> RunPlan(const LoadPlan& plan, const RunOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckOptions(plan, options));
  boost::asio::io_context context(1);
  WEFT_ASSIGN_OR_RETURN(const Target target, FindTarget(context, options));
  WEFT_ASSIGN_OR_RETURN(const ServerInfo server, ProbeServer(context, target, options.model));
  WEFT_ASSIGN_OR_RETURN(const BodyWriter bodies, BodyWriter::Make(plan, options, server));

  AskForShortSlices();
  LoadRunner runner(context, target, plan, bodies, options);
  runner.run.url = options.url;
  runner.run.model = server.model;
  runner.run.server = server.server;
  runner.run.generates = Generates(options.endpoint);
  const bool warms_up = options.warmup_requests > 0 || options.warmup_s > 0;
  if (warms_up) runner.WarmUp();
  if (!runner.run.interrupted) runner.Send();
  if (!runner.run.interrupted && options.verify_count != 0) runner.Verify();
  return std::move(runner.run);
}

}  // namespace weft
