// `weft loadtest sweep`.
#pragma once

namespace weft {

// As LoadtestCommand; argv[0] is "sweep". 1 also if no load keeps the objectives.
int SweepCommand(int argc, const char* const* argv);

}  // namespace weft
