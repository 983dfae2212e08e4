// `weft batch`: a file of requests answered without a server.
#pragma once

namespace weft {

// The exit status.
int BatchCommand(int argc, const char* const* argv);

}  // namespace weft
