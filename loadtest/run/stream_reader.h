// The tokens of an answer that is a stream, as they come.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include <boost/system/error_code.hpp>

#include "loadtest/run/answer_reader.h"
#include "loadtest/run/body_framing.h"
#include "loadtest/run/read_poller.h"

namespace weft {

// Thousands of them take turns, a token each: what a token usually touches is in here, so that
// ReadPoller can fetch it ahead.
class StreamReader final : public ReadSink {
 public:
  using Clock = RequestRecord::Clock;

  // All outlive it. `live_token_count` grows as tokens arrive.
  StreamReader(BodyFraming framing, AnswerReader reader, int64_t& live_token_count)
      : framing_(framing), reader_(std::move(reader)), live_token_count_(live_token_count) {}

  // Wants no more once so many tokens have come.
  void PauseAt(int64_t token_count) { pause_at_ = token_count; }
  void GoOn() { pause_at_ = kNever; }
  bool is_paused() const { return reader_.token_count() >= pause_at_; }

  bool OnRead(const boost::system::error_code& error, std::string_view bytes) override;
  // Bytes that came at `now`.
  void Take(std::string_view bytes, Clock::time_point now);

  // Neither ended nor failed.
  bool goes_on() const { return !error_ && !framing_.is_done() && !reader_.failed(); }
  // The body has ended, and nothing came behind it.
  bool is_whole() const { return framing_.is_done() && !has_rest_; }
  // Why reading ended, if not for what was read.
  const boost::system::error_code& error() const { return error_; }
  AnswerReader& reader() { return reader_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  BodyFraming framing_;
  AnswerReader reader_;
  int64_t& live_token_count_;
  int64_t pause_at_ = kNever;
  boost::system::error_code error_;
  bool has_rest_ = false;
};
static_assert(sizeof(StreamReader) <= ReadPoller::kFetchedBytes);

}  // namespace weft
