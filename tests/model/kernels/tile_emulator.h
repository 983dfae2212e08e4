// AMX's instructions on processors without them: while it lives, the exception that each of them
// raises is answered by doing what it says. So amx.cc's own machine code runs anywhere; one thread
// at a time.
#pragma once

#include <csignal>

namespace weft::software_amx {

class ScopedTileEmulator {
 public:
  ScopedTileEmulator();
  ~ScopedTileEmulator();
  ScopedTileEmulator(const ScopedTileEmulator&) = delete;
  ScopedTileEmulator& operator=(const ScopedTileEmulator&) = delete;

 private:
  struct sigaction saved_ = {};
};

}  // namespace weft::software_amx
