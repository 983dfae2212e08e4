// SIGTERM and SIGINT: the first asks for a shutdown in good order, the second ends the process at
// once.
#pragma once

namespace weft {

// From now on either signal ends the process at once, even while a model loads; SIGPIPE is ignored
// (a closed socket is an error code, never a death).
void InstallShutdownSignals();

// From now on the first signal only makes WaitForShutdownSignal return. Call it once.
void DeferFirstShutdownSignal();
void WaitForShutdownSignal();

}  // namespace weft
