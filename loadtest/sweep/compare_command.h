// `weft loadtest compare`.
#pragma once

namespace weft {

// As LoadtestCommand; argv[0] is "compare". 0: the candidate is not worse; 1: it is; 2: the
// arguments are wrong; 3: nothing can be said, because a run failed.
int CompareCommand(int argc, const char* const* argv);

}  // namespace weft
