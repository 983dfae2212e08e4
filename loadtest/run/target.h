// Where requests go, found once for a run.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "base/result.h"
#include "loadtest/run/run_options.h"
#include "loadtest/run/url.h"

namespace weft {

struct Target {
  Url url;
  std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints;  // tried in turn
  std::unique_ptr<boost::asio::ssl::context> tls;                          // of https
  bool verify_certificate = true;
  std::string
      header_lines;  // of every request, with their ends: Host, authorization, what was asked
  std::chrono::steady_clock::duration timeout{};  // of one request
};

// Resolves the host's name and reads the certificates.
Result<Target> FindTarget(boost::asio::io_context& context, const RunOptions& options);

}  // namespace weft
