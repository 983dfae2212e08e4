// `weft rm`
#pragma once

namespace weft {

// Removes models from the Hub's cache, and says on stderr how much that freed; returns the
// process's exit status. `argv[0]` is the command's name.
int RmCommand(int argc, const char* const* argv);

}  // namespace weft
