// `weft models`
#pragma once

namespace weft {

// Lists the models of the Hub's cache on stdout; returns the
// process's exit status. `argv[0]` is the command's name.
int ModelsCommand(int argc, const char* const* argv);

}  // namespace weft
