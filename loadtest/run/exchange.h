// One request and its answer over one connection.
#pragma once

#include <chrono>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "loadtest/plan/load_plan.h"
#include "loadtest/run/answer_reader.h"
#include "loadtest/run/connection.h"
#include "loadtest/run/request_record.h"

namespace weft {

// What the client does besides sending connection.outgoing.
struct Call {
  bool stream = true;
  int64_t max_tokens = 0;  // that were asked for
  int32_t text_count = 0;  // that an answer is asked for each of; 0: text is generated
  Behaviour behaviour = Behaviour::kNormal;
  int64_t behaviour_tokens = 0;
  std::chrono::nanoseconds stall{0};
};

class Exchange {
 public:
  // All outlive it; `answer` may be null. `live_token_count` grows as tokens arrive.
  Exchange(ClientConnection& connection, RequestRecord& record, Answer* answer,
           int64_t& live_token_count);

  // Connects if necessary, sends and reads. Fills in the record from `header` on; the connection
  // is open afterwards if it can be used again.
  boost::asio::awaitable<void> Run(Call call);
  // Sends, and reads an answer of 200 whole into `body`; everything else fails the record.
  boost::asio::awaitable<void> Fetch(std::string& body, std::string& server_header);

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  boost::asio::awaitable<void> SendAndReadHeader(Parser& parser, bool read_header);
  boost::asio::awaitable<ErrorCode> ReadHeader(Parser& parser);
  boost::asio::awaitable<void> ReadBody(Parser& parser);
  boost::asio::awaitable<void> ReadStream(const Parser& parser, Call call);
  boost::asio::awaitable<void> ReadRefusal(Parser& parser);
  // Whether its end would come after the request's time.
  boost::asio::awaitable<bool> Stall(std::chrono::nanoseconds time);

  ErrorCode ParseReceived(Parser& parser);
  void FailWith(const char* kind, const ErrorCode& error);
  void Finish(const Parser& parser);

  ClientConnection& connection_;
  RequestRecord& record_;
  Answer* answer_;
  int64_t& live_token_count_;
  RequestRecord::Clock::time_point last_read_;
  bool body_is_whole_ = false;  // and nothing came behind it
};

}  // namespace weft
