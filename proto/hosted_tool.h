// Tools that run on the servers of those who have made up an API, and nowhere else.
#pragma once

#include <string>

namespace weft {

struct HostedTool {
  std::string type;  // as the API calls it: one of a fixed list
  std::string path;  // where it stands in the request: "tools[2]"
};

}  // namespace weft
