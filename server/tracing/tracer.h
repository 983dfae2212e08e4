// Finds or begins the trace of each request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/random_sequence.h"
#include "server/tracing/request_trace.h"

namespace weft {

// Any thread.
class Tracer {
 public:
  // Of a request with these fields `traceparent` and `tracestate`, none, one or more of each.
  RequestTrace Begin(std::span<const std::string_view> parents,
                     std::span<const std::string_view> states);

  std::string NewSpanId();

 private:
  RandomSequence random_;
};

}  // namespace weft
