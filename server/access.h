// Who may use the server: what --api-key-file says, read again on demand.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "server/api_keys.h"
#include "server/server_options.h"

namespace weft {

// Thread-safe.
class Access {
 public:
  // Reads the files that the options name. Errors name file and place.
  static Result<std::shared_ptr<Access>> Load(const ServerOptions& options);

  // Whether there is a file that Reload would read.
  bool is_reloadable() const { return !api_key_path_.empty(); }
  // Reads the files again and says on the log what came of it. One that is wrong changes nothing.
  void Reload();

  // nullptr: everybody may.
  std::shared_ptr<const ApiKeys> keys() const;

 private:
  explicit Access(const ServerOptions& options);
  Result<void> LoadKeys();

  const std::string api_key_path_;  // empty: none
  mutable std::mutex mutex_;
  std::shared_ptr<const ApiKeys> keys_;
};

}  // namespace weft
