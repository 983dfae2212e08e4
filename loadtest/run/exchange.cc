#include "loadtest/run/exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include "loadtest/run/body_framing.h"
#include "loadtest/run/completion_json.h"
#include "loadtest/run/stream_reader.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr uint32_t kHeaderLimitBytes = 64 << 10;
// A length that the server states is believed, and that much memory set aside, up to this.
constexpr uint64_t kBodyLimitBytes = 16 << 20;

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

template <typename Parser>
BodyFraming FramingOf(const Parser& parser) {
  if (parser.chunked()) return BodyFraming::Chunked();
  const auto length = parser.content_length();
  return length ? BodyFraming::OfLength(*length) : BodyFraming::UntilClosed();
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
        AnswerReader reader(record_, answer_, MostTokens(call.max_tokens));
        const std::string& body = parser.get().body();
        call.text_count > 0 ? reader.ReadTexts(body, call.text_count) : reader.ReadWhole(body);
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
  const bool reusable = body_is_whole_ && parser.keep_alive() && !connection_.expired();
  if (!reusable) connection_.Close();
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
  while (!error && !parser.is_header_done()) {
    error = co_await connection_.Read();
    last_read_ = RequestRecord::Clock::now();
    if (!error) error = ParseReceived(parser);
  }
  // Too long a body is an error of the header's end: there is more to say of it.
  co_return parser.is_header_done() ? ErrorCode() : error;
}

// As far as what has come goes; the header alone, if that was not done.
Exchange::ErrorCode Exchange::ParseReceived(Parser& parser) {
  ErrorCode error;
  const bool had_header = parser.is_header_done();
  while (connection_.buffer.size() > 0 && !parser.is_done() &&
         parser.is_header_done() == had_header) {
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

asio::awaitable<void> Exchange::ReadBody(Parser& parser) {
  ErrorCode error = ParseReceived(parser);
  while (!error && !parser.is_done()) {
    error = co_await connection_.Read();
    // An answer without a length ends with its connection.
    if (error == asio::error::eof && parser.need_eof()) {
      error = {};
      parser.put_eof(error);
    } else if (!error) {
      error = ParseReceived(parser);
    }
  }
  body_is_whole_ = !error && connection_.buffer.size() == 0;
  if (error) {
    FailWith("connection lost", error);
  } else if (record_.http_status != 200) {
    record_.Fail("http " + std::to_string(record_.http_status), ErrorMessage(parser.get().body()));
  }
}

asio::awaitable<void> Exchange::ReadStream(const Parser& parser, Call call) {
  StreamReader stream(FramingOf(parser),
                      AnswerReader(record_, answer_, MostTokens(call.max_tokens)),
                      live_token_count_);
  if (call.behaviour == Behaviour::kCancel || call.behaviour == Behaviour::kStall) {
    stream.PauseAt(call.behaviour_tokens);
  }
  auto& buffer = connection_.buffer;  // what has come with the header
  stream.Take({static_cast<const char*>(buffer.data().data()), buffer.size()}, last_read_);
  buffer.clear();
  bool has_misbehaved = false;
  bool has_given_up = false;
  while (stream.goes_on()) {
    if (stream.is_paused()) {
      has_misbehaved = true;
      has_given_up = call.behaviour == Behaviour::kCancel;
      if (has_given_up) break;
      has_given_up = co_await Stall(call.stall);
      stream.GoOn();
    }
    co_await connection_.ReadWhile(stream);
  }
  body_is_whole_ = stream.is_whole();
  // Where the connection's end is the body's, our own closing looks like it.
  const bool is_late = connection_.expired() && !stream.reader().is_done() &&
                       !stream.reader().failed() && !has_given_up;
  // A server need not wait for one who does not read, but must go on with one who reads again.
  const bool is_lost = stream.error() && !has_misbehaved;
  if (is_late || is_lost) FailWith("connection lost", stream.error());
  stream.reader().FinishEvents(/*must_be_whole=*/!has_misbehaved);
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

asio::awaitable<bool> Exchange::Stall(std::chrono::nanoseconds time) {
  const auto wanted = RequestRecord::Clock::now() + time;
  const auto until = std::min(wanted, connection_.deadline());
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return until < wanted;
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
