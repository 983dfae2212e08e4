// Clients that misbehave: a share of the requests does to the server what real crowds do.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/plan/random.h"

namespace weft {

// Shares of all requests, each from 0 to 1, together at most 1.
struct HostileMix {
  double cancel = 0;
  double stall = 0;
  double malformed = 0;
  int32_t cancel_after = 0;  // tokens; 0: drawn for each request, from 1 to half its max_tokens
  int32_t stall_after = 0;
  std::chrono::nanoseconds stall_time = std::chrono::seconds(5);
};

// "cancel=5%,stall=2%,malformed=1%,cancel-after=10,stall-after=1,stall-time=30s", any of them; a
// share may be 0.05 as well as 5%.
Result<HostileMix> ParseHostileMix(std::string_view text);

// Makes the request hostile if the draw says so; its max_tokens are known.
void DrawBehaviour(const HostileMix& mix, Random& random, PlannedRequest& request);

}  // namespace weft
