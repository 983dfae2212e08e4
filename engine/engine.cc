#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "base/float_env.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "engine/drain_rate.h"
#include "engine/engine_core.h"

namespace weft {

namespace {

using Clock = std::chrono::steady_clock;

struct AbortMessage {
  RequestId id = 0;
};
struct ShutdownMessage {
  Clock::time_point deadline;
};
struct WakeMessage {};  // what stalled the engine has ended
using Message = std::variant<Request, AbortMessage, ShutdownMessage, WakeMessage>;

}  // namespace

// Everything behind the public face. The engine thread owns core_ and the fields below it; callers
// touch the mailbox, the counter of queued requests and the published report.
class Engine::Loop {
 public:
  Loop(EngineOptions options, std::unique_ptr<ModelRunner> runner)
      : options_(std::move(options)),
        runner_(std::move(runner)),
        core_(options_, *runner_, Clock::now,
              [mailbox = mailbox_] { mailbox->PushUrgent(WakeMessage()); }),
        published_(core_.TakeReport()),
        thread_([this] { Run(); }) {}

  ~Loop() {
    Shutdown(Clock::now());
    thread_.join();
  }

  Result<void> Submit(Request request) {
    WEFT_RETURN_IF_ERROR(core_.Validate(request));
    request.submitted = Clock::now();
    if (queued_count_.fetch_add(1, std::memory_order_relaxed) < options_.max_waiting) {
      Message message(std::move(request));
      if (mailbox_->TryPush(std::move(message))) return {};
    }
    queued_count_.fetch_sub(1, std::memory_order_relaxed);
    if (mailbox_->closed()) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    return Fail(ErrorCode::kResourceExhausted, "{} requests are waiting already, the most allowed",
                options_.max_waiting);
  }

  void Abort(RequestId id) { mailbox_->PushUrgent(AbortMessage{id}); }

  void Shutdown(Clock::time_point deadline) {
    // Whatever Submit accepted is in the mailbox ahead of this message.
    mailbox_->Close();
    mailbox_->PushUrgent(ShutdownMessage{deadline});
    ended_future_.wait();
  }

  const EngineOptions& options() const { return options_; }

  EngineState Stats() const {
    const std::lock_guard lock(published_mutex_);
    return published_;
  }

  int32_t queued_count() const { return queued_count_.load(std::memory_order_relaxed); }

  std::optional<std::chrono::milliseconds> TimeToDrain() const {
    constexpr double kMsPerSecond = 1000;
    constexpr double kMostMs = 86'400'000;  // nobody waits for more than a day
    const std::optional<double> per_second = drain_rate_.per_second();
    if (!per_second) return std::nullopt;
    const double ms = kMsPerSecond * queued_count() / *per_second;
    return std::chrono::milliseconds(static_cast<int64_t>(std::min(ms, kMostMs)));
  }

  RequestId NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void Run() {
    const ScopedFlushDenormals flush_denormals;
    while (!shutdown_deadline_ || core_.has_work()) {
      for (Message& message : NextMessages())
        Guard([&] { std::visit([this](auto& content) { Handle(content); }, message); });
      Guard([this] { AbortLate(Clock::now()); });
      const bool stepping = core_.has_work() && !core_.is_stalled();
      if (stepping) Guard([this] { core_.Step(); });
      Publish(stepping);
    }
    ended_.set_value();
  }

  // Waits for some where there is nothing to do but to look at the time.
  std::vector<Message> NextMessages() {
    constexpr std::chrono::milliseconds kLook{20};
    if (!core_.has_work()) return mailbox_->WaitAndDrain();
    return core_.is_stalled() ? mailbox_->WaitAndDrain(kLook) : mailbox_->Drain();
  }

  template <typename Action>
  void Guard(const Action& action) {
    try {
      action();
    } catch (const std::exception& exception) {
      Log(LogLevel::kError, "engine: all requests fail: {}", exception.what());
      FailAll(exception.what());
    }
  }

  // Until everybody has been told: what is missing is memory, most likely, and those who have been
  // give theirs back.
  void FailAll(const char* reason) {
    constexpr std::chrono::milliseconds kPause{1};
    while (true) {
      try {
        return core_.FailAll(reason);
      } catch (const std::bad_alloc&) {
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  void AbortLate(Clock::time_point now) {
    if (shutdown_deadline_ && now >= *shutdown_deadline_) core_.AbortAll();
    core_.AbortExpired(now);
  }

  void Handle(Request& request) { core_.Add(std::move(request)); }
  void Handle(const AbortMessage& message) { core_.Abort(message.id); }
  void Handle(const ShutdownMessage& message) {
    shutdown_deadline_ = std::min(message.deadline, shutdown_deadline_.value_or(message.deadline));
  }

  void Handle(const WakeMessage& /*message*/) {}

  void Publish(bool stepped) {
    const int32_t dequeued_count = core_.TakeDequeuedCount();
    queued_count_.fetch_sub(dequeued_count, std::memory_order_relaxed);
    const StepReport report = core_.TakeReport();
    // Sequences may wait though no request does: preempted ones, and choices without a slot.
    drain_rate_.Add(Clock::now(), dequeued_count, core_.queued_count() > 0);
    {
      const std::lock_guard lock(published_mutex_);
      published_ = static_cast<const EngineState&>(report);
    }
    if (options_.on_step && (stepped || report.finished_requests > 0)) options_.on_step(report);
  }

  const EngineOptions options_;
  const std::unique_ptr<ModelRunner> runner_;
  // queued_count_ bounds the requests in it. Shared with tasks that run beside steps.
  const std::shared_ptr<Mailbox<Message>> mailbox_ = std::make_shared<Mailbox<Message>>();
  std::atomic<int32_t> queued_count_{0};  // accepted, but not yet in a step
  DrainRate drain_rate_;                  // the engine thread alone adds to it
  std::atomic<RequestId> next_id_{1};

  EngineCore core_;
  std::optional<Clock::time_point> shutdown_deadline_;

  mutable std::mutex published_mutex_;  // guards this copy alone
  EngineState published_;

  std::promise<void> ended_;
  std::shared_future<void> ended_future_ = ended_.get_future().share();
  std::thread thread_;  // last: starts when everything else is there
};

Engine::Engine(EngineOptions options, std::unique_ptr<ModelRunner> runner)
    : loop_(std::make_unique<Loop>(std::move(options), std::move(runner))) {}

Engine::~Engine() = default;

RequestId Engine::NextId() { return loop_->NextId(); }
Result<void> Engine::Submit(Request request) { return loop_->Submit(std::move(request)); }
void Engine::Abort(RequestId id) { loop_->Abort(id); }
void Engine::Shutdown(Clock::time_point deadline) { loop_->Shutdown(deadline); }
const EngineOptions& Engine::options() const { return loop_->options(); }
int32_t Engine::queued_count() const { return loop_->queued_count(); }
int32_t Engine::queue_room() const {
  return std::max(loop_->options().max_waiting - loop_->queued_count(), 0);
}
std::optional<std::chrono::milliseconds> Engine::TimeToDrain() const {
  return loop_->TimeToDrain();
}
EngineState Engine::Stats() const { return loop_->Stats(); }

}  // namespace weft
