// One user's connection to the server under test: HTTP/1.1, kept alive between requests.
#pragma once

#include <chrono>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/result.h"
#include "loadtest/run/completion_json.h"
#include "loadtest/run/request_result.h"
#include "loadtest/run/url.h"

namespace weft {

struct Target {
  Url url;
  boost::asio::ip::tcp::resolver::results_type addresses;
  std::string api_key;                          // empty: none
  std::chrono::steady_clock::duration timeout;  // of one request
};

// One call at a time. `target` outlives the client. A failure closes the connection; the next call
// makes a new one.
class CompletionClient {
 public:
  CompletionClient(boost::asio::any_io_executor executor, const Target& target);

  boost::asio::awaitable<RequestResult> Complete(CompletionCall call);
  boost::asio::awaitable<Result<std::string>> FirstModel();

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  Request MakeRequest(boost::beast::http::verb verb, const std::string& path, std::string body);

  // Each leaves `result` failed if it fails, and the connection closed.
  boost::asio::awaitable<void> Connect(RequestResult& result);
  // Connects if necessary, sends, and reads up to the end of the response's header.
  boost::asio::awaitable<void> SendAndReadHeader(const Request& request, Parser& parser,
                                                 RequestResult& result);
  boost::asio::awaitable<void> ReadBody(Parser& parser, RequestResult& result);
  boost::asio::awaitable<void> ReadStream(Parser& parser, RequestResult& result);
  void Close();

  const Target& target_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  bool connected_ = false;
};

}  // namespace weft
