// Who answers at the other end, before the run: what it is asked for beyond OpenAI's API depends on
// that.
#pragma once

#include <string>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "loadtest/run/target.h"

namespace weft {

enum class ServerKind { kUnknown, kWeft, kLlamaCpp, kVllm };

struct ServerInfo {
  ServerKind kind = ServerKind::kUnknown;
  std::string model;   // the first one listed, unless one was named
  std::string server;  // its Server header
};

// Asks for /v1/models, which also shows that somebody is there. Runs the context. That no model is
// listed is an error only if `named_model` is empty.
Result<ServerInfo> ProbeServer(boost::asio::io_context& context, const Target& target,
                               const std::string& named_model);

}  // namespace weft
