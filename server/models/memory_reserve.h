// What of a process's memory is not for models: part of the memory plan, and known before there is
// a model.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

// What is set aside for requests: three quarters for all that they and their connections hold, one
// for the threads that work for them.
struct RequestMemory {
  uint64_t held_bytes = 0;
  uint64_t render_bytes = 0;  // of all conversations that templates render at a time
};

struct MemoryReserve {
  uint64_t program_bytes = 18ULL << 20;  // with its libraries, as measured
  uint64_t request_bytes = 0;            // requests and connections
  uint64_t constraint_bytes = 0;         // what is known about texts that requests constrain
  uint64_t stored_bytes = 0;             // responses that the server keeps

  RequestMemory request_memory() const {
    return {.held_bytes = request_bytes - request_bytes / 4, .render_bytes = request_bytes / 4};
  }
  uint64_t bytes() const { return program_bytes + request_bytes + constraint_bytes + stored_bytes; }
};

// `limit_bytes`: the process's.
inline MemoryReserve ReserveOf(uint64_t limit_bytes, uint64_t stored_bytes) {
  constexpr uint64_t kMaxRequestBytes = 512ULL << 20;
  constexpr uint64_t kMaxConstraintBytes = 256ULL << 20;
  return {.request_bytes = std::min(kMaxRequestBytes, limit_bytes / 8),
          .constraint_bytes = std::min(kMaxConstraintBytes, limit_bytes / 16),
          .stored_bytes = stored_bytes};
}

}  // namespace weft
