// A closed loop of users: each sends its next request when the last one has ended.
#pragma once

#include <chrono>
#include <vector>

#include "base/result.h"
#include "loadtest/run/options.h"
#include "loadtest/run/request_result.h"

namespace weft {

struct LoadtestRun {
  std::vector<RequestResult> results;  // in the order in which they ended
  std::chrono::steady_clock::duration wall{0};
  bool interrupted = false;  // by SIGINT: fewer results than asked for
};

// Runs on the calling thread until every request has ended or SIGINT arrives. Fills in
// options.model if it is empty. Progress goes to stderr if that is a terminal. An error means that
// nothing was run: the URL is wrong, or no model was named and the server lists none.
Result<LoadtestRun> RunLoad(LoadtestOptions& options);

}  // namespace weft
