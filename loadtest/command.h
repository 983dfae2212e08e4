// `weft loadtest`, and weft-loadtest, the same as a program of its own.
#pragma once

namespace weft {

// Parses the arguments, runs a load test, sweep or comparison and prints its report to stdout.
// `argv[0]` is the command's name. The process's exit status: 0 if it succeeded; 1 if requests
// failed, objectives were missed, outputs were wrong, the client was too slow, or nothing could be
// run, with a line on stderr; 2 if the arguments are wrong; 3 if a comparison could not be made.
int LoadtestCommand(int argc, const char* const* argv);

}  // namespace weft
