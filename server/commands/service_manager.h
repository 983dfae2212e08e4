// What systemd is told of a service of Type=notify.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// Speaks sd_notify's protocol (sd_notify(3)): a datagram a message, over the socket that is named
// in NOTIFY_SOCKET; a library for that would be another dependency of every package. Without the
// socket nothing happens. Any thread.
class ServiceManager {
 public:
  // `socket`: NOTIFY_SOCKET's value, a path, or '@' and an abstract name; empty: nobody listens.
  explicit ServiceManager(std::string socket) : socket_(std::move(socket)) {}

  // A line for whoever asks. A start that goes on may take so long again, whatever
  // TimeoutStartSec says.
  Result<void> Starting(std::string_view status) const;
  // The port is open, and requests are answered.
  Result<void> Ready(std::string_view status) const;
  // It ends, in so much time at most, whatever TimeoutStopSec says.
  Result<void> Stopping(std::chrono::milliseconds time) const;

 private:
  Result<void> Send(const std::string& message) const;

  const std::string socket_;
};

}  // namespace weft
