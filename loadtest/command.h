// `weft loadtest`, and weft-loadtest, the same as a program of its own.
#pragma once

namespace weft {

// Parses the arguments, runs the load test and prints its report to stdout. `argv[0]` is the
// command's name. The process's exit status: 0 if every request succeeded; 1 if not, or if nothing
// could be run, with one line on stderr; 2 if the arguments are wrong.
int LoadtestCommand(int argc, const char* const* argv);

}  // namespace weft
