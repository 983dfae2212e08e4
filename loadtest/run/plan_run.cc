#include "loadtest/run/plan_run.h"

#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weft {

namespace asio = boost::asio;

PlanRun::PlanRun(asio::io_context& context, Sender& sender, HealthMonitor& monitor,
                 const LoadPlan& plan, const PlanRunOptions& options)
    : context_(context),
      sender_(sender),
      monitor_(monitor),
      plan_(plan),
      options_(options),
      next_turns_(plan.requests.size(), -1),
      begin_(Clock::now()),
      all_ended_(context, Clock::time_point::max()) {
  for (size_t i = 0; i < plan.requests.size(); ++i) {
    const int32_t previous = plan.requests[i].previous_turn;
    if (previous < 0) {
      first_turns_.push_back(static_cast<int32_t>(i));
    } else {
      next_turns_[static_cast<size_t>(previous)] = static_cast<int32_t>(i);
    }
  }
  const bool has_conversations = first_turns_.size() < plan.requests.size();
  if (has_conversations || options.keep_answers) answers_.resize(plan.requests.size());
  if (options.repeat_for == Clock::duration::zero()) records_.reserve(plan.requests.size());
}

asio::awaitable<void> PlanRun::Main() {
  begin_ = Clock::now();
  if (plan_.users > 0) {
    for (int32_t i = 0; i < plan_.users; ++i) Spawn(User(i));
  } else {
    Spawn(SendAtTheirTimes());
  }
  while (running_ > 0) co_await all_ended_.async_wait(asio::as_tuple(asio::use_awaitable));
}

void PlanRun::Spawn(asio::awaitable<void> coroutine) {
  ++running_;
  asio::co_spawn(context_, std::move(coroutine), [this](const std::exception_ptr& exception) {
    if (exception) std::rethrow_exception(exception);
    if (--running_ == 0) all_ended_.cancel();
  });
}

asio::awaitable<void> PlanRun::User(int32_t index) {
  if (plan_.ramp.count() > 0 && index > 0)
    co_await SleepUntil(begin_ + plan_.ramp / plan_.users * index);
  while (MaySend()) {
    const int32_t first = NextConversation();
    if (first < 0) co_return;
    co_await Conversation(first, Clock::now(), /*has_time=*/false);
  }
}

asio::awaitable<void> PlanRun::SendAtTheirTimes() {
  for (int32_t first; (first = NextConversation()) >= 0;) {
    const Clock::time_point time = begin_ + plan_.requests[static_cast<size_t>(first)].send_at;
    if (time > Clock::now()) co_await SleepUntil(time);
    if (!MaySend()) co_return;
    Spawn(Conversation(first, time, /*has_time=*/true));
  }
}

asio::awaitable<void> PlanRun::Conversation(int32_t first, Clock::time_point planned,
                                            bool has_time) {
  for (int32_t turn = first; turn >= 0; turn = next_turns_[static_cast<size_t>(turn)]) {
    if (turn != first) {
      planned = Clock::now() + plan_.requests[static_cast<size_t>(turn)].pause;
      has_time = planned > Clock::now();
      if (has_time) co_await SleepUntil(planned);
      if (!MaySend()) co_return;
    }
    const bool is_continued = next_turns_[static_cast<size_t>(turn)] >= 0;
    Answer* answer =
        is_continued || options_.keep_answers ? &answers_[static_cast<size_t>(turn)] : nullptr;
    bool waited = false;
    RequestRecord record = co_await sender_.Send(turn, planned, answers_, answer, &waited);
    if (has_time && !waited) monitor_.AddSendLag(record.sent - planned);
    const bool failed = !record.failure.empty();
    Record(std::move(record));
    if (failed) {
      FailTurnsAfter(turn);
      break;
    }
  }
  if (options_.keep_answers || answers_.empty()) co_return;
  for (int32_t turn = first; turn >= 0; turn = next_turns_[static_cast<size_t>(turn)]) {
    answers_[static_cast<size_t>(turn)] = {};
  }
}

asio::awaitable<void> PlanRun::SleepUntil(Clock::time_point time) {
  asio::steady_timer timer(context_, time);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

bool PlanRun::MaySend() const {
  if (!sending_) return false;
  const Clock::duration limit =
      options_.repeat_for != Clock::duration::zero() ? options_.repeat_for : plan_.duration;
  return limit == Clock::duration::zero() || Clock::now() < begin_ + limit;
}

int32_t PlanRun::NextConversation() {
  if (next_first_turn_ == first_turns_.size()) {
    if (options_.repeat_for == Clock::duration::zero()) return -1;
    next_first_turn_ = 0;
  }
  return first_turns_[next_first_turn_++];
}

void PlanRun::Record(RequestRecord record) {
  if (on_first_token && !record.arrivals.empty()) {
    on_first_token(record.end, record.arrivals.front().time - record.sent);
  }
  records_.push_back(std::move(record));
}

// They cannot be sent; nor may they be missing.
void PlanRun::FailTurnsAfter(int32_t request) {
  const Clock::time_point now = Clock::now();
  for (int32_t turn = next_turns_[static_cast<size_t>(request)]; turn >= 0;
       turn = next_turns_[static_cast<size_t>(turn)]) {
    RequestRecord record;
    record.request = turn;
    record.profile = plan_.requests[static_cast<size_t>(turn)].profile;
    record.planned = record.sent = record.end = now;
    record.Fail("earlier turn failed", "not sent: there is no answer to continue");
    records_.push_back(std::move(record));
  }
}

}  // namespace weft
