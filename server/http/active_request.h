// A count of what is under way.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// Counts, while it lives, an exchange, which a shutdown waits for, or a connection.
class ActiveRequest {
 public:
  explicit ActiveRequest(std::atomic<int32_t>& count) : count_(count) { ++count_; }
  ~ActiveRequest() { --count_; }
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;

 private:
  std::atomic<int32_t>& count_;
};

}  // namespace weft
