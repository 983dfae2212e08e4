// A server for one conversation: `weft serve` as a child of this process, on a socket in a folder
// that nobody else may enter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace weft {

class OwnServer {
 public:
  // Starts `weft serve` with these arguments besides the socket's, and waits until it takes
  // requests; `is_stopped` is asked now and then, and `waiting` called each time with the seconds
  // so far. Its log goes to this process's stderr. Errors: it could not be started, has ended (and
  // said why), or is_stopped. Before there are threads.
  static Result<std::unique_ptr<OwnServer>> Start(const std::vector<std::string>& arguments,
                                                  const std::function<bool()>& is_stopped,
                                                  const std::function<void(int)>& waiting);
  // It ends, at once, also when this process does; the folder goes.
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  const std::string& socket_path() const { return socket_path_; }

 private:
  OwnServer() = default;

  std::string folder_;
  std::string socket_path_;
  pid_t process_ = -1;
};

}  // namespace weft
