// `weft embed`
#pragma once

namespace weft {

// Embeddings of the texts of files or of standard input, as JSON lines or NumPy's array; returns
// the process's exit status. `argv[0]` is the command's name.
int EmbedCommand(int argc, const char* const* argv);

}  // namespace weft
