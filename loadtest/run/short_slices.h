// A client that shares its cores with the server it measures.
#pragma once

namespace weft {

// Asks the kernel to let the calling thread run soon after it becomes ready, at no greater share of
// the processor: by short time slices (Linux 6.12 and later; needs no rights). Otherwise it waits
// for what is running, a server's computation, to use up its own, some milliseconds, and the client
// is so late. Without effect where the kernel does not know it.
void AskForShortSlices();

}  // namespace weft
