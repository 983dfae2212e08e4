// Accepts connections and gives each a strand and a session.
#pragma once

#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "server/server_context.h"

namespace weft {

// Errors name host and port.
Result<boost::asio::ip::tcp::acceptor> OpenListener(boost::asio::io_context& io,
                                                    const ServerOptions& options);

// Until the acceptor is closed. Context and acceptor outlive it.
boost::asio::awaitable<void> AcceptConnections(boost::asio::io_context& io,
                                               boost::asio::ip::tcp::acceptor& acceptor,
                                               ServerContext& context);

}  // namespace weft
