// `weft pull`
#pragma once

namespace weft {

// Fetches a model from the Hugging Face Hub, and prints its path alone on stdout; returns the
// process's exit status. `argv[0]` is the command's name.
int PullCommand(int argc, const char* const* argv);

}  // namespace weft
