#include "loadtest/run/exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>

#include "loadtest/run/completion_json.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr uint32_t kHeaderLimitBytes = 64 << 10;
constexpr uint64_t kBodyLimitBytes = 256 << 20;

// The peer closed a connection that had been kept alive: the request was not begun.
bool ClosedWhileIdle(const boost::system::error_code& error) {
  return error == asio::error::eof || error == asio::error::connection_reset ||
         error == asio::error::broken_pipe;
}

bool IsHttpError(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::need_more).category();
}

}  // namespace

Exchange::Exchange(ClientConnection& connection, RequestRecord& record, Answer* answer,
                   int64_t& live_token_count)
    : connection_(connection),
      record_(record),
      answer_(answer),
      live_token_count_(live_token_count) {}

asio::awaitable<void> Exchange::Run(Call call) {
  Parser parser;
  // Without a stream there are no tokens to wait for.
  const bool cancels_at_once =
      call.behaviour == Behaviour::kCancel && (!call.stream || call.behaviour_tokens == 0);
  co_await SendAndReadHeader(parser, !cancels_at_once);
  if (record_.failure.empty() && !cancels_at_once) {
    if (call.behaviour == Behaviour::kMalformed) {
      co_await ReadRefusal(parser);
    } else if (record_.http_status == 200 && call.stream) {
      co_await ReadStream(parser, call);
    } else {
      co_await ReadBody(parser);
      if (record_.failure.empty()) AnswerReader(record_, answer_).ReadWhole(parser.get().body());
    }
  }
  Finish(parser);
}

asio::awaitable<void> Exchange::Fetch(std::string& body, std::string& server_header) {
  Parser parser;
  co_await SendAndReadHeader(parser, /*read_header=*/true);
  if (record_.failure.empty()) co_await ReadBody(parser);
  server_header = parser.get()[http::field::server];
  body = std::move(parser.get().body());
  Finish(parser);
}

void Exchange::Finish(const Parser& parser) {
  record_.end = RequestRecord::Clock::now();
  const bool reusable = parser.is_done() && parser.keep_alive() && connection_.buffer.size() == 0;
  if (!reusable || connection_.expired()) connection_.Close();
}

asio::awaitable<void> Exchange::SendAndReadHeader(Parser& parser, bool read_header) {
  parser.header_limit(kHeaderLimitBytes);
  parser.body_limit(kBodyLimitBytes);
  for (;;) {
    const bool reused = connection_.is_open();
    ErrorCode error;
    if (!reused) error = co_await connection_.Connect();
    if (error) {
      FailWith("connect", error);
      co_return;
    }
    error = co_await connection_.Write(connection_.outgoing);
    if (!error && read_header) error = co_await ReadHeader(parser);
    if (!error) break;
    if (reused && ClosedWhileIdle(error) && !parser.got_some() && !connection_.expired()) {
      connection_.Close();
      continue;
    }
    FailWith("connection lost", error);
    co_return;
  }
  if (!read_header) co_return;
  record_.header = last_read_;
  record_.http_status = static_cast<int32_t>(parser.get().result_int());
  record_.id = parser.get()["X-Request-Id"];
}

asio::awaitable<Exchange::ErrorCode> Exchange::ReadHeader(Parser& parser) {
  ErrorCode error;
  while (!error) {
    error = co_await connection_.Read();
    last_read_ = RequestRecord::Clock::now();
    if (!error) error = ParseReceived(parser);
    if (parser.is_header_done()) co_return ErrorCode();  // what is wrong behind it comes up again
  }
  co_return error;
}

// The parser is not eager: an eager one keeps a chunk that it has until it sees the next one begin.
Exchange::ErrorCode Exchange::ParseReceived(Parser& parser) {
  ErrorCode error;
  while (connection_.buffer.size() > 0 && !parser.is_done()) {
    const size_t used = parser.put(connection_.buffer.data(), error);
    connection_.buffer.consume(used);
    if (error == http::error::need_more) return {};
    if (error) return error;
  }
  return error;
}

// Reads once, and parses. An answer without a length ends with its connection.
asio::awaitable<Exchange::ErrorCode> Exchange::ReadMore(Parser& parser) {
  ErrorCode error = co_await connection_.Read();
  last_read_ = RequestRecord::Clock::now();
  if (error == asio::error::eof && parser.need_eof()) {
    error = {};
    parser.put_eof(error);
    co_return error;
  }
  if (!error) error = ParseReceived(parser);
  co_return error;
}

asio::awaitable<void> Exchange::ReadBody(Parser& parser) {
  ErrorCode error = ParseReceived(parser);
  while (!error && !parser.is_done()) {
    error = co_await ReadMore(parser);
  }
  if (error) {
    FailWith("connection lost", error);
  } else if (record_.http_status != 200) {
    record_.Fail("http " + std::to_string(record_.http_status), ErrorMessage(parser.get().body()));
  }
}

asio::awaitable<void> Exchange::ReadStream(Parser& parser, Call call) {
  AnswerReader reader(record_, answer_);
  const bool misbehaves =
      call.behaviour == Behaviour::kCancel || call.behaviour == Behaviour::kStall;
  bool has_misbehaved = false;
  ErrorCode error = ParseReceived(parser);
  for (;;) {
    std::string& body = parser.get().body();
    const int64_t tokens_before = reader.token_count();
    if (!body.empty()) reader.ReadEvents(body, last_read_);
    body.clear();
    live_token_count_ += reader.token_count() - tokens_before;
    if (error || parser.is_done() || !record_.failure.empty()) break;
    if (misbehaves && !has_misbehaved && reader.token_count() >= call.behaviour_tokens) {
      has_misbehaved = true;
      if (call.behaviour == Behaviour::kCancel) break;
      co_await Stall(call.stall);
    }
    error = co_await ReadMore(parser);
  }
  // A server need not wait for one who does not read.
  if (error && !has_misbehaved) FailWith("connection lost", error);
  reader.FinishEvents(/*must_be_whole=*/!has_misbehaved);
}

asio::awaitable<void> Exchange::ReadRefusal(Parser& parser) {
  if (record_.http_status < 400) {
    record_.Fail("malformed accepted", "http " + std::to_string(record_.http_status));
    co_return;
  }
  co_await ReadBody(parser);
  if (record_.http_status >= 500 || !record_.failure.starts_with("http ")) co_return;
  record_.Fail("", "");
  const std::string& body = parser.get().body();
  if (!HasError(body)) record_.Fail("malformed: no error object", ErrorMessage(body));
}

asio::awaitable<void> Exchange::Stall(std::chrono::nanoseconds time) {
  const auto until = std::min(RequestRecord::Clock::now() + time, connection_.deadline());
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

void Exchange::FailWith(const char* kind, const ErrorCode& error) {
  if (connection_.expired()) {
    record_.Fail("timeout", "no end after the time of --timeout");
  } else if (IsHttpError(error)) {
    record_.Fail("bad response", error.message());
  } else if (error == asio::error::no_descriptors) {
    record_.Fail("out of file descriptors", error.message());
  } else if (error == asio::error::eof) {
    record_.Fail(kind, "the server closed the connection");
  } else {
    record_.Fail(kind, error.message());
  }
}

}  // namespace weft
