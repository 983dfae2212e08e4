// Correctness under load: the same requests again, one at a time.
#pragma once

#include <cstdint>
#include <span>

#include <boost/asio/awaitable.hpp>

#include "loadtest/run/answer_reader.h"
#include "loadtest/run/load_run.h"
#include "loadtest/run/sender.h"

namespace weft {

// Sends the first `count` requests of the plan (-1: all) that are normal and have succeeded in
// `run` again, one after the other, and compares the answers with `answers`, which are the loaded
// run's to the plan's requests. A later turn of a conversation continues what was said then.
// Records whose output differs fail. Ends early where `goes_on` has become false.
boost::asio::awaitable<void> VerifyOutputs(Sender& sender, const LoadPlan& plan, int64_t count,
                                           std::span<const Answer> answers, const bool& goes_on,
                                           LoadRun& run);

}  // namespace weft
