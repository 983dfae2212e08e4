// `weft chat`
#pragma once

namespace weft {

// Holds a conversation on the terminal, with a server or with a model of its own; returns the
// process's exit status. `argv[0]` is the command's name.
int ChatCommand(int argc, const char* const* argv);

}  // namespace weft
