// Who may use the server, and how it shows who it is: what the files of --api-key-file,
// --operator-key-file, --metrics-key-file, --tls-cert and --tls-key say, read again on demand.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "server/access/api_keys.h"
#include "server/http/server_options.h"
#include "server/http/tls_context.h"

namespace weft {

// Thread-safe.
class Access {
 public:
  // Reads the files that the options name. Errors name file and place.
  static Result<std::shared_ptr<Access>> Load(const ServerOptions& options);

  // Whether there is a file that Reload would read.
  bool is_reloadable() const {
    return !api_key_path_.empty() || !operator_key_path_.empty() || !metrics_key_path_.empty() ||
           !tls_certificate_path_.empty();
  }
  // Reads the files again and says on the log what came of it. One that is wrong changes nothing.
  void Reload();

  // nullptr: everybody may.
  std::shared_ptr<const ApiKeys> keys() const;
  // Of those who watch the server: for /metrics and /watch alone, where they see all. nullptr:
  // there are none.
  std::shared_ptr<const ApiKeys> metrics_keys() const;
  // Of those who run it: good for all that the others are for, and for loading and unloading
  // models. nullptr: there are none.
  std::shared_ptr<const ApiKeys> operator_keys() const;
  // nullptr: no TLS.
  std::shared_ptr<const TlsContext> tls() const;

 private:
  // Each nullptr: there is no such file.
  struct Keys {
    std::shared_ptr<const ApiKeys> api;
    std::shared_ptr<const ApiKeys> metrics;
    std::shared_ptr<const ApiKeys> operators;
  };

  explicit Access(const ServerOptions& options);
  // They count from now on, if no name and no key is in two files.
  Result<void> SetKeys(Keys keys);
  Result<void> LoadTls();

  const std::string api_key_path_;          // empty: none
  const std::string metrics_key_path_;      // empty: none
  const std::string operator_key_path_;     // empty: none
  const std::string tls_certificate_path_;  // empty: none
  const std::string tls_key_path_;
  mutable std::mutex mutex_;
  Keys keys_;
  std::shared_ptr<const TlsContext> tls_;
};

}  // namespace weft
