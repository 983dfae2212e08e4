// `weft rerank`
#pragma once

namespace weft {

// Documents of files or of standard input, the most relevant to a query first, as JSON lines;
// returns the process's exit status. `argv[0]` is the command's name.
int RerankCommand(int argc, const char* const* argv);

}  // namespace weft
