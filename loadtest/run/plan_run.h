// The requests of a plan, each at its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "loadtest/plan/load_plan.h"
#include "loadtest/run/answer_reader.h"
#include "loadtest/run/client_health.h"
#include "loadtest/run/load_run.h"
#include "loadtest/run/sender.h"

namespace weft {

struct PlanRunOptions {
  bool keep_answers = false;  // of all requests, not only those that later turns need
  // Not zero: begins again at the plan's end, and sends nothing new after this time.
  std::chrono::steady_clock::duration repeat_for{0};
};

// A plan on its way. All that it is made of outlives it. On the context's thread.
class PlanRun {
 public:
  PlanRun(boost::asio::io_context& context, Sender& sender, HealthMonitor& monitor,
          const LoadPlan& plan, const PlanRunOptions& options);

  // Ends when every request has.
  boost::asio::awaitable<void> Main();
  // Nothing is sent from now on.
  void StopSending() { sending_ = false; }

  std::vector<RequestRecord>& records() { return records_; }
  std::vector<Answer>& answers() { return answers_; }

  // Told when a request has ended: how long after it was sent the first token came. May be unset.
  std::function<void(std::chrono::steady_clock::time_point now,
                     std::chrono::steady_clock::duration time)>
      on_first_token;

 private:
  using Clock = std::chrono::steady_clock;

  boost::asio::awaitable<void> User(int32_t index);
  boost::asio::awaitable<void> SendAtTheirTimes();
  // The request and the turns that follow it. `has_time`: `planned` is a time, not just now.
  boost::asio::awaitable<void> Conversation(int32_t first, Clock::time_point planned,
                                            bool has_time);
  boost::asio::awaitable<void> SleepUntil(Clock::time_point time);

  void Spawn(boost::asio::awaitable<void> coroutine);
  bool MaySend() const;
  int32_t NextConversation();  // -1: there is none
  void Record(RequestRecord record);
  void FailTurnsAfter(int32_t request);

  boost::asio::io_context& context_;
  Sender& sender_;
  HealthMonitor& monitor_;
  const LoadPlan& plan_;
  PlanRunOptions options_;
  std::vector<int32_t> first_turns_;
  std::vector<int32_t> next_turns_;  // of each request: the one that continues it, or -1
  std::vector<Answer> answers_;      // empty if nobody needs one
  std::vector<RequestRecord> records_;
  Clock::time_point begin_;
  size_t next_first_turn_ = 0;
  int64_t running_ = 0;  // coroutines spawned
  boost::asio::steady_timer all_ended_;
  bool sending_ = true;
};

}  // namespace weft
