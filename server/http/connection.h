// One client's socket, with or without TLS: reading, writing and waiting with timeouts, and
// noticing that the client has gone while its answer is being computed.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>

#include "server/http/byte_budget.h"
#include "server/http/held_body.h"
#include "server/http/request_budget.h"
#include "server/http/server_options.h"
#include "server/http/stream_socket.h"
#include "server/http/tls_context.h"
#include "server/http/tls_stream.h"

namespace weft {

using RequestParser = boost::beast::http::request_parser<HeldBody>;

enum class ReadStatus {
  kOk,
  kClosed,          // nothing to answer: the client has gone
  kTimedOut,        // in the middle of a message
  kTruncated,       // end of file in the middle of a message
  kMalformed,       // not HTTP; see Connection::read_error
  kHeaderTooLarge,  // more than max_header_bytes or kMaxHeaderFields
  kBodyTooLarge,    // more than max_body_bytes
  kBudgetSpent,     // there is no memory for it
  kShuttingDown,    // GiveUpBody
};

enum class HandshakeStatus {
  kDone,
  kPlainHttp,  // the client speaks HTTP without TLS
  kFailed,
};

// Used on the socket's strand only. Shared, because handlers of its timers may outlive the session.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `tls`: nullptr without TLS. What the connection takes is held of `budget`, which outlives it.
  Connection(StreamSocket socket, const ServerOptions& options,
             std::shared_ptr<const TlsContext> tls, RequestBudget& budget);

  // What one takes at least.
  static uint64_t LeastBytes(bool uses_tls);
  // Before a session: as much memory; false: there is none.
  [[nodiscard]] bool HoldMemory();

  const std::string& remote() const { return remote_; }  // "127.0.0.1:4711", or "unix"
  boost::asio::any_io_executor executor() { return socket_.get_executor(); }

  // Before anything else, where there is TLS.
  bool needs_handshake() const { return tls_context_ != nullptr; }
  bool uses_tls() const { return tls_ != nullptr; }  // once the handshake is done
  // After kPlainHttp one answer can be written, without TLS.
  boost::asio::awaitable<HandshakeStatus> Handshake();

  // Waits for the first byte of the next request; false: there will be none.
  boost::asio::awaitable<bool> WaitForRequest();
  boost::asio::awaitable<ReadStatus> ReadHead(RequestParser& parser);
  // `held` grows with the body, of which a large one must bring min_body_bytes in each body_window.
  // kBudgetSpent comes as soon as there is no room for it, whatever is still to come of it.
  boost::asio::awaitable<ReadStatus> ReadBody(RequestParser& parser, ByteBudget::Hold& held);
  // The same until the body holds so many bytes or is whole: called again, it goes on.
  boost::asio::awaitable<ReadStatus> ReadBodyPart(RequestParser& parser, ByteBudget::Hold& held,
                                                  size_t part_bytes);
  // Reads the rest of a body and drops it; false: it did not come.
  boost::asio::awaitable<bool> SkipBody(RequestParser& parser);
  // Makes a ReadBody under way end with kShuttingDown; otherwise does nothing.
  void GiveUpBody();
  const std::string& read_error() const { return read_error_; }

  // Where it no longer speaks HTTP. What has come and was not taken yet:
  std::string_view unread() const {
    return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
  }
  void Take(size_t byte_count) { buffer_.consume(byte_count); }
  // Takes in what is there, without waiting. False: the client has gone.
  bool FillNow();
  // Waits until there is more of it. Errors: kTimedOut, kClosed.
  boost::asio::awaitable<ReadStatus> ReadMore(std::chrono::milliseconds patience);

  // Writes all of it; false: the client has gone, or has not read for write_timeout.
  boost::asio::awaitable<bool> Write(std::string_view data);
  // The first write of a response; `head` begins with kHeadPrefix.
  boost::asio::awaitable<bool> WriteHead(std::string head);

  // A whole response to the request that was begun last, unless there is one: as much of it as the
  // socket takes now, without allocating anything.
  void TryAnswer(std::string_view response);

  // Calls `on_gone`, at most once, as soon as the client is known to have gone: a reset, or both
  // directions closed. End of file alone may be a client that still reads. Until WriteHead, the
  // only way to tell is to send something, and what every response begins with is always right: the
  // bytes of kHeadPrefix go out one by one, at growing intervals. Where the connection does not
  // speak HTTP there is `on_readable`, called now and then once something has come, and end of file
  // is enough.
  void Watch(std::function<void()> on_gone, std::function<void()> on_readable = nullptr);
  void Unwatch();

  // Ends whatever is going on; later calls fail.
  void Abort();
  // Says that no more will come, and reads away for a moment what the client still sends: closing
  // with unread bytes would destroy the answer on its way.
  boost::asio::awaitable<void> CloseGently();

 private:
  enum class OnTimeout { kStopReading, kClose };
  void ArmTimeout(std::chrono::milliseconds duration, OnTimeout action);
  void DisarmTimeout();
  // Without waiting.
  boost::system::error_code ParseWhatIsThere(RequestParser& parser);
  // What was read goes to the parser, as far as it takes it.
  boost::system::error_code Put(RequestParser& parser);
  // Counts what was taken of a head: more than is allowed, or than there is memory for, is an
  // error.
  boost::system::error_code CountHead(std::string_view taken, bool is_whole);
  // Reads until the parser has got some further.
  boost::asio::awaitable<boost::system::error_code> Parse(RequestParser& parser);
  // At most so many bytes more into the buffer.
  boost::asio::awaitable<boost::system::error_code> Fill(size_t max_bytes);
  // For so many bytes more; false: there is no memory.
  bool MakeRoom(size_t more_bytes);
  // Idle connections, and those that wait for an answer, hold no buffer.
  void ShrinkBuffer();
  ReadStatus StatusOf(const boost::system::error_code& error, bool begun);
  void WaitForChange(boost::asio::socket_base::wait_type type, uint64_t generation);
  void LookAgainIn(std::chrono::milliseconds delay, uint64_t generation);
  void LookAtPeer();
  void SendProbe();
  void ReportGone();

  StreamSocket socket_;
  const ServerOptions& options_;
  std::shared_ptr<const TlsContext> tls_context_;  // until the handshake
  std::unique_ptr<TlsStream> tls_;                 // from then on; null without TLS
  std::string remote_;
  ByteBudget::Hold hold_;             // what it takes at least
  ByteBudget::Hold buffer_hold_;      // what the buffer takes beyond
  ByteBudget::Hold head_hold_;        // what the request's head takes beyond, until the next one
  boost::beast::flat_buffer buffer_;  // read but not parsed yet: pipelined requests
  std::string read_error_;
  size_t head_bytes_ = 0;  // that the parser has taken of the request under way
  size_t head_lines_ = 0;

  boost::asio::steady_timer timeout_timer_;
  uint64_t timeout_generation_ = 0;  // an expiry that was queued before a new one was armed is void
  bool reads_body_ = false;
  bool gives_up_body_ = false;
  bool timed_out_ = false;

  boost::asio::steady_timer watch_timer_;
  uint64_t watch_generation_ = 0;
  std::function<void()> on_gone_;  // empty: not watching
  std::function<void()> on_readable_;
  std::chrono::milliseconds probe_interval_{0};
  size_t probe_bytes_sent_ = 0;  // of kHeadPrefix, for the response to come
  bool head_written_ = false;    // of the response under way
};

}  // namespace weft
