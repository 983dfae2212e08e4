// What the server's operator has decided about how requests are read.
#pragma once

namespace weft {

struct RequestRules {
  // More tokens than the context has room for become what there is room for; otherwise they are
  // refused.
  bool clamps_max_tokens = false;
};

}  // namespace weft
