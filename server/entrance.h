// A way into the server: one of the sockets that it listens on.
#pragma once

namespace weft {

struct Entrance {
  bool uses_tls = false;     // with what Access::tls gives, if it gives something
  bool is_loopback = false;  // this machine's programs alone reach it, and so do pages in browsers
};

}  // namespace weft
