// `weft completions`
#pragma once

namespace weft {

// Prints what makes a shell complete weft's commands and options; returns the process's exit
// status. `argv[0]` is the command's name.
int CompletionsCommand(int argc, const char* const* argv);

}  // namespace weft
