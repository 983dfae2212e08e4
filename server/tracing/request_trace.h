// Where an HTTP request stands in a distributed trace.
#pragma once

#include <string>

namespace weft {

struct RequestTrace {
  std::string trace_id;   // 32 lower-case hexadecimal digits: the caller's, or a new one
  std::string span_id;    // 16: the request on this server
  std::string parent_id;  // 16: the caller's span; empty: the trace begins here
  std::string state;      // the caller's tracestate
  bool sampled = false;   // its spans are exported
};

}  // namespace weft
