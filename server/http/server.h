// The HTTP server: listens, serves, and ends in good order.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "server/access/access.h"
#include "server/http/server_options.h"
#include "server/metrics/metrics.h"
#include "server/models/model_registry.h"
#include "server/tracing/tracer.h"

namespace weft {

class Server {
 public:
  // Opens the port, the Unix socket or both, and starts the io threads: from now on requests are
  // answered. The engines of the models outlive the server. `access` is made from the same
  // options. Errors name the address.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options,
                                               std::shared_ptr<ModelRegistry> models,
                                               std::shared_ptr<Metrics> metrics,
                                               std::shared_ptr<const Access> access,
                                               std::shared_ptr<Tracer> tracer);
  // As Stop with a deadline of now.
  ~Server();

  uint16_t port() const;          // 0: not on TCP
  uint16_t metrics_port() const;  // 0: no address of its own

  // New work is refused (503; /ready says so too), what runs goes on until `deadline`, then is
  // aborted. Shuts the models' engines down. Returns when every answer is out, or could not be
  // written within a short grace, and the port is closed. Requests whose bodies have not come whole
  // are not waited for. Once it has been called, does nothing.
  void Stop(std::chrono::steady_clock::time_point deadline);

 private:
  class Implementation;
  explicit Server(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace weft
