// `weft doctor`
#pragma once

namespace weft {

// Says what this machine offers and what would make it faster, and measures it; returns the
// process's exit status. `argv[0]` is the command's name.
int DoctorCommand(int argc, const char* const* argv);

}  // namespace weft
