#include "loadtest/run/exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include "loadtest/run/completion_json.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr uint32_t kHeaderLimitBytes = 64 << 10;
// A length that the server states is believed, and that much memory set aside, up to this.
constexpr uint64_t kBodyLimitBytes = 16 << 20;
constexpr uint64_t kStreamLimitBytes = 256 << 20;

// The peer closed a connection that had been kept alive: the request was not begun.
bool ClosedWhileIdle(const boost::system::error_code& error) {
  return error == asio::error::eof || error == asio::error::connection_reset ||
         error == asio::error::broken_pipe;
}

// More than a server can have generated, in as many choices as the API knows: memory is spent on
// every token that it says there were.
int64_t MostTokens(int64_t max_tokens) {
  constexpr int64_t kMostChoices = 128;
  constexpr int64_t kSlack = 64;
  return kMostChoices * (max_tokens + kSlack);
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
      if (record_.failure.empty()) {
        AnswerReader(record_, answer_, MostTokens(call.max_tokens)).ReadWhole(parser.get().body());
      }
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
  record_.id = parser.get()["X-Request-Id"].substr(0, RequestRecord::kMostNameBytes);
  if (const auto length = parser.content_length(); length && *length > kBodyLimitBytes) {
    record_.Fail("bad response", fmt::format("an answer of {} bytes", *length));
  }
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
    if (error == http::error::need_more) {
      // Lines between chunks, and behind the last, have no limit of the parser's.
      const bool is_endless = connection_.buffer.size() > kHeaderLimitBytes;
      return is_endless ? http::error::header_limit : ErrorCode();
    }
    if (error) return error;
  }
  return error;
}

// As ParseReceived, of bytes that are not in the connection's buffer: what is left of them comes
// there.
Exchange::ErrorCode Exchange::ParseBytes(Parser& parser, std::string_view bytes) {
  ErrorCode error;
  auto& buffer = connection_.buffer;
  while (buffer.size() == 0 && !bytes.empty() && !parser.is_done()) {
    bytes.remove_prefix(parser.put(asio::buffer(bytes), error));
    if (error == http::error::need_more) break;
    if (error) return error;
  }
  if (bytes.empty() && buffer.size() == 0) return {};
  buffer.commit(asio::buffer_copy(buffer.prepare(bytes.size()), asio::buffer(bytes)));
  return ParseReceived(parser);
}

// Parses what a read has brought. An answer without a length ends with its connection.
Exchange::ErrorCode Exchange::TakeRead(Parser& parser, ErrorCode error, std::string_view bytes) {
  last_read_ = RequestRecord::Clock::now();
  if (error == asio::error::eof && parser.need_eof()) {
    error = {};
    parser.put_eof(error);
    return error;
  }
  return error ? error : ParseBytes(parser, bytes);
}

asio::awaitable<void> Exchange::ReadBody(Parser& parser) {
  ErrorCode error = ParseReceived(parser);
  while (!error && !parser.is_done()) {
    error = TakeRead(parser, co_await connection_.Read());
  }
  if (error) {
    FailWith("connection lost", error);
  } else if (record_.http_status != 200) {
    record_.Fail("http " + std::to_string(record_.http_status), ErrorMessage(parser.get().body()));
  }
}

asio::awaitable<void> Exchange::ReadStream(Parser& parser, Call call) {
  AnswerReader reader(record_, answer_, MostTokens(call.max_tokens));
  parser.body_limit(kStreamLimitBytes);
  const bool misbehaves =
      call.behaviour == Behaviour::kCancel || call.behaviour == Behaviour::kStall;
  bool has_misbehaved = false;
  ErrorCode error = ParseReceived(parser);
  const auto misbehaves_now = [&] {
    return misbehaves && !has_misbehaved && reader.token_count() >= call.behaviour_tokens;
  };
  // Whether there is more to read.
  const auto take_tokens = [&] {
    std::string& body = parser.get().body();
    const int64_t tokens_before = reader.token_count();
    if (!body.empty()) reader.ReadEvents(body, last_read_);
    body.clear();
    live_token_count_ += reader.token_count() - tokens_before;
    return !error && !parser.is_done() && record_.failure.empty();
  };
  bool goes_on = take_tokens();
  while (goes_on) {
    if (misbehaves_now()) {
      has_misbehaved = true;
      if (call.behaviour == Behaviour::kCancel) break;
      co_await Stall(call.stall);
    }
    co_await connection_.ReadWhile([&](const ErrorCode& read, std::string_view bytes) {
      error = TakeRead(parser, read, bytes);
      goes_on = take_tokens();
      return goes_on && !misbehaves_now();
    });
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
