// What the server's operator has decided about how requests are read.
#pragma once

#include <string>

#include "proto/sampling_fields.h"

namespace weft {

struct RequestRules {
  // More tokens than the context has room for become what there is room for; otherwise they are
  // refused.
  bool clamps_max_tokens = false;
  // Tools that the servers of an API's maker run are left out, and the answer says so; otherwise
  // requests that bring them are refused.
  bool drops_hosted_tools = true;
  // See LeaveOutImages; otherwise images are refused.
  bool drops_images = false;
  // What requests do not say themselves.
  SamplingFields sampling;
  std::string sampling_fields = "{}";     // what of it is no default of Weft's: a JSON object
  std::string template_variables = "{}";  // of chat templates: a JSON object
};

}  // namespace weft
