// A bar a request from its planned time to its end, as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loadtest/run/load_run.h"

namespace weft {

// Of n requests the indices of about `max_rows` to show, in the order of their planned times:
// every k-th, and up to a quarter of the rows for failures, so that none hides between.
std::vector<size_t> ChooseRows(const std::vector<RequestRecord>& records, size_t max_rows);

// A <figure>; bounded in size whatever the number of requests.
std::string RenderTimeline(const LoadRun& run);

}  // namespace weft
