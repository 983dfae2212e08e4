#include "server/tracing/tracer.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "proto/trace_context.h"

namespace weft {

std::string Tracer::NewSpanId() {
  while (true) {
    const uint64_t id = random_.Next();
    if (id != 0) return fmt::format("{:016x}", id);
  }
}

RequestTrace Tracer::Begin(std::span<const std::string_view> parents,
                           std::span<const std::string_view> states) {
  RequestTrace trace;
  if (std::optional<TraceParent> parent = ParseTraceParent(parents)) {
    trace.trace_id = std::move(parent->trace_id);
    trace.parent_id = std::move(parent->span_id);
    trace.state = ParseTraceState(states);
  } else {
    trace.trace_id = NewSpanId() + NewSpanId();
  }
  trace.span_id = NewSpanId();
  return trace;
}

}  // namespace weft
