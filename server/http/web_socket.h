// One client's WebSocket: messages over a connection that has changed its protocol.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "server/http/byte_budget.h"
#include "server/http/connection.h"
#include "server/http/request_framing.h"
#include "server/http/web_socket_frame.h"

namespace weft {

// What answers a handshake's key; nullopt: the head is none.
std::optional<std::string> AcceptWebSocket(const RequestHead& head);

enum class MessageStatus {
  kOk,
  kClosed,       // there is nobody any more, or nothing is to be said
  kIdle,         // none came in time
  kTooLarge,     // more than max_body_bytes
  kBudgetSpent,  // there is no memory for it
  kInvalid,      // it broke the protocol, or was no text; see WebSocket::error
};

// Used on the connection's strand; the connection outlives it.
class WebSocket {
 public:
  WebSocket(Connection& connection, const ServerOptions& options)
      : connection_(connection), options_(options) {}

  // The next message, which begins within `patience` and has as long as a body; `held` grows with
  // it. Pings are answered meanwhile. After anything but kOk nothing more can be read.
  boost::asio::awaitable<MessageStatus> Read(std::string& text, ByteBudget::Hold& held,
                                             std::chrono::milliseconds patience);
  const std::string& error() const { return error_; }
  // Between messages: answers the pings that have come, without waiting for more. False: the client
  // has gone, or says that it goes.
  boost::asio::awaitable<bool> AnswerPings();
  // False: the client has gone.
  boost::asio::awaitable<bool> WriteText(std::string_view text);
  // The data of each event of a stream of server-sent events as a message. What ends such a stream
  // is left out, and `error` before `response.failed`, which says the same.
  boost::asio::awaitable<bool> WriteEvents(std::string_view events);
  // Says why; the connection is then to be closed.
  boost::asio::awaitable<void> Close(CloseCode code, std::string_view reason);

 private:
  using Clock = std::chrono::steady_clock;

  // Until `end`.
  boost::asio::awaitable<MessageStatus> ReadHead(FrameHead& head, Clock::time_point end);
  // Behind `payload`; `held` is nullptr for what is short.
  boost::asio::awaitable<MessageStatus> ReadPayload(const FrameHead& head, Clock::time_point end,
                                                    std::string& payload, ByteBudget::Hold* held);
  boost::asio::awaitable<MessageStatus> AnswerControl(const FrameHead& head);
  boost::asio::awaitable<ReadStatus> ReadMoreUntil(Clock::time_point end);
  MessageStatus Invalid(std::string error);

  Connection& connection_;
  const ServerOptions& options_;
  std::string error_;
};

}  // namespace weft
