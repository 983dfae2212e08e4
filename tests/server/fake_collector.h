// An OpenTelemetry collector that answers as a test wants.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace weft {

class FakeCollector {
 public:
  struct Answer {
    int status = 200;
    std::map<std::string, std::string> headers = {};
    std::string body = "{}";
    bool closes = false;      // the connection, after the answer, without having said so
    bool never_ends = false;  // nothing is answered
  };
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };

  FakeCollector();
  ~FakeCollector();

  uint16_t port() const { return port_; }
  // For the requests to come, one each; then 200 for the others.
  void AnswerWith(std::vector<Answer> answers);
  std::vector<Request> requests() const;
  int connections() const;

 private:
  boost::asio::awaitable<void> Accept();
  boost::asio::awaitable<void> Serve(boost::asio::ip::tcp::socket socket);
  Answer Record(Request request);

  mutable std::mutex mutex_;  // guards these
  std::deque<Answer> answers_;
  std::vector<Request> requests_;
  int connections_ = 0;

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace weft
