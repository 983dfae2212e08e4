// Sends one request of a plan: a connection, a body, an exchange, a record.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "loadtest/plan/load_plan.h"
#include "loadtest/run/answer_reader.h"
#include "loadtest/run/body_writer.h"
#include "loadtest/run/connection_pool.h"
#include "loadtest/run/progress.h"
#include "loadtest/run/request_record.h"
#include "loadtest/run/run_options.h"
#include "loadtest/run/target.h"

namespace weft {

// All that it is made of outlives it. On the context's thread.
class Sender {
 public:
  Sender(ConnectionPool& pool, const Target& target, const LoadPlan& plan, const BodyWriter& bodies,
         const RunOptions& options);

  // `planned` goes into the record. `answers` are those to the plan's requests, as far as later
  // turns need them; `answer`, unless null, gets this one's. `waited` says whether the limit of
  // connections made it wait.
  boost::asio::awaitable<RequestRecord> Send(int32_t request,
                                             std::chrono::steady_clock::time_point planned,
                                             std::span<const Answer> answers, Answer* answer,
                                             bool* waited = nullptr);

  const RunCounters& counters() const { return counters_; }

 private:
  void FillOutgoing(int32_t request, std::span<const Answer> answers, std::string& outgoing);

  ConnectionPool& pool_;
  const Target& target_;
  const LoadPlan& plan_;
  const BodyWriter& bodies_;
  bool stream_;
  int32_t text_count_;  // see Call
  std::string head_;    // of every request, up to its Content-Length
  std::string body_;    // of the request that is being made
  RunCounters counters_;
};

}  // namespace weft
