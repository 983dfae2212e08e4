// `weft loadtest`, and weft-loadtest, the same as a program of its own.
#pragma once

#include "loadtest/options.h"

namespace CLI {
class App;
}

namespace weft {

// Declares the options on `app`; parsing fills `options`, which outlives it.
void AddLoadtestOptions(CLI::App& app, LoadtestOptions& options);

// Prints the report to stdout. The process's exit status: 0 if every request succeeded, otherwise
// 1, with one line on stderr if nothing could be run.
int RunLoadtest(LoadtestOptions options);

}  // namespace weft
