#include "loadtest/run/completion_client.h"

#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "loadtest/run/sse_parser.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr uint32_t kHeaderLimitBytes = 64 << 10;
constexpr uint64_t kBodyLimitBytes = 64 << 20;

void FailWith(RequestResult& result, std::string failure, std::string detail) {
  result.failure = std::move(failure);
  result.failure_detail = std::move(detail);
}

void FailWith(RequestResult& result, const char* failure, const beast::error_code& error) {
  const bool timed_out = error == beast::error::timeout;
  FailWith(result, timed_out ? "timeout" : failure, error.message());
}

// The peer closed a connection that had been kept alive: the request was not begun.
bool ClosedWhileIdle(const beast::error_code& error) {
  return error == http::error::end_of_stream || error == asio::error::connection_reset ||
         error == asio::error::broken_pipe;
}

}  // namespace

CompletionClient::CompletionClient(asio::any_io_executor executor, const Target& target)
    : target_(target), stream_(std::move(executor)) {}

asio::awaitable<RequestResult> CompletionClient::Complete(CompletionCall call) {
  const Request request = MakeRequest(http::verb::post, "/v1/completions", RequestBody(call));
  RequestResult result;
  result.begin = RequestResult::Clock::now();
  Parser parser;
  co_await SendAndReadHeader(request, parser, result);
  if (result.ok()) {
    if (call.stream && parser.get().result() == http::status::ok) {
      co_await ReadStream(parser, result);
    } else {
      co_await ReadBody(parser, result);
    }
  }
  if (result.ok() && !call.stream) {
    const Result<CompletionPart> whole = ParseCompletion(parser.get().body());
    if (whole) {
      result.prompt_tokens = whole->prompt_tokens.value_or(0);
      result.output_tokens = whole->completion_tokens.value_or(0);
    } else {
      FailWith(result, "bad response", whole.error().message);
    }
  }
  result.end = RequestResult::Clock::now();
  if (!result.ok() || !parser.is_done() || !parser.keep_alive()) Close();
  co_return result;
}

asio::awaitable<Result<std::string>> CompletionClient::FirstModel() {
  const Request request = MakeRequest(http::verb::get, "/v1/models", "");
  RequestResult result;
  result.begin = RequestResult::Clock::now();
  Parser parser;
  co_await SendAndReadHeader(request, parser, result);
  if (result.ok()) co_await ReadBody(parser, result);
  if (!result.ok()) {
    co_return Fail(ErrorCode::kUnavailable, "{}/v1/models: {}: {}", target_.url.path,
                   result.failure, result.failure_detail);
  }
  if (!parser.keep_alive()) Close();
  co_return FirstModelId(parser.get().body());
}

CompletionClient::Request CompletionClient::MakeRequest(http::verb verb, const std::string& path,
                                                        std::string body) {
  Request request(verb, target_.url.path + path, 11);
  request.set(http::field::host, target_.url.authority());
  request.set(http::field::user_agent, "weft-loadtest");
  request.set(http::field::accept, "*/*");
  if (!target_.api_key.empty()) {
    request.set(http::field::authorization, "Bearer " + target_.api_key);
  }
  if (verb == http::verb::post) request.set(http::field::content_type, "application/json");
  request.body() = std::move(body);
  request.prepare_payload();
  return request;
}

asio::awaitable<void> CompletionClient::Connect(RequestResult& result) {
  buffer_.clear();
  const auto [error, endpoint] = co_await stream_.async_connect(target_.addresses, kAsTuple);
  if (error) {
    FailWith(result, "connect", error);
    co_return;
  }
  connected_ = true;
  beast::error_code ignored;  // a delayed segment costs time, not correctness
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

asio::awaitable<void> CompletionClient::SendAndReadHeader(const Request& request, Parser& parser,
                                                          RequestResult& result) {
  parser.header_limit(kHeaderLimitBytes);
  parser.body_limit(kBodyLimitBytes);
  stream_.expires_at(result.begin + target_.timeout);
  for (;;) {
    const bool reused = connected_;
    if (!connected_) co_await Connect(result);
    if (!result.ok()) co_return;
    auto [error, sent_bytes] = co_await http::async_write(stream_, request, kAsTuple);
    if (!error) {
      std::tie(error, sent_bytes) =
          co_await http::async_read_header(stream_, buffer_, parser, kAsTuple);
    }
    if (!error) co_return;
    Close();
    if (reused && ClosedWhileIdle(error) && !parser.got_some()) continue;
    FailWith(result, "connection lost", error);
    co_return;
  }
}

asio::awaitable<void> CompletionClient::ReadBody(Parser& parser, RequestResult& result) {
  const auto [error, read_bytes] = co_await http::async_read(stream_, buffer_, parser, kAsTuple);
  if (error) {
    FailWith(result, "connection lost", error);
  } else if (parser.get().result() != http::status::ok) {
    FailWith(result, "http " + std::to_string(parser.get().result_int()),
             ErrorMessage(parser.get().body()));
  }
}

// The parser is not eager: an eager one keeps a chunk that it has until it sees the next one begin.
asio::awaitable<void> CompletionClient::ReadStream(Parser& parser, RequestResult& result) {
  SseParser events;
  bool done = false;
  for (;;) {
    const auto now = RequestResult::Clock::now();
    for (const std::string& data : events.Feed(std::exchange(parser.get().body(), {}))) {
      if (data == "[DONE]") {
        done = true;
        continue;
      }
      const Result<CompletionPart> part = ParseCompletion(data);
      if (!part) {
        FailWith(result, "error in stream", part.error().message);
        co_return;
      }
      if (!part->text.empty()) result.text_arrivals.push_back(now);
      if (part->prompt_tokens) result.prompt_tokens = *part->prompt_tokens;
      if (part->completion_tokens) result.output_tokens = *part->completion_tokens;
    }
    if (parser.is_done()) break;
    const auto [error, read_bytes] =
        co_await http::async_read_some(stream_, buffer_, parser, kAsTuple);
    if (error) {
      FailWith(result, "connection lost", error);
      co_return;
    }
  }
  if (!done) FailWith(result, "cut stream", "the stream ended without [DONE]");
  if (result.output_tokens == 0) {
    result.output_tokens = static_cast<int64_t>(result.text_arrivals.size());
  }
}

void CompletionClient::Close() {
  connected_ = false;
  stream_.close();
}

}  // namespace weft
