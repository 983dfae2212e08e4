#include "tests/server/fake_collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace weft {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

FakeCollector::FakeCollector()
    : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()) {
  asio::co_spawn(io_, Accept(), asio::detached);
  thread_ = std::thread([this] { io_.run(); });
}

FakeCollector::~FakeCollector() {
  io_.stop();
  thread_.join();
}

void FakeCollector::AnswerWith(std::vector<Answer> answers) {
  const std::lock_guard lock(mutex_);
  answers_.assign(answers.begin(), answers.end());
}

std::vector<FakeCollector::Request> FakeCollector::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int FakeCollector::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

asio::awaitable<void> FakeCollector::Accept() {
  while (true) {
    auto [error, socket] = co_await acceptor_.async_accept(kAwait);
    if (error) co_return;
    {
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
    asio::co_spawn(io_, Serve(std::move(socket)), asio::detached);
  }
}

FakeCollector::Answer FakeCollector::Record(Request request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(std::move(request));
  if (answers_.empty()) return {};
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

asio::awaitable<void> FakeCollector::Serve(tcp::socket socket) {
  boost::beast::flat_buffer buffer;
  while (true) {
    http::request<http::string_body> message;
    const auto [failed, size] = co_await http::async_read(socket, buffer, message, kAwait);
    if (failed) co_return;
    Request request{.method = std::string(message.method_string()),
                    .target = std::string(message.target()),
                    .headers = {},
                    .body = message.body()};
    for (const auto& field : message) {
      std::string name(field.name_string());
      std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      request.headers[name] = std::string(field.value());
    }
    const Answer answer = Record(std::move(request));
    if (answer.never_ends) {
      asio::steady_timer timer(io_, std::chrono::hours(1));
      co_await timer.async_wait(kAwait);
    }
    http::response<http::string_body> response(static_cast<http::status>(answer.status), 11,
                                               answer.body);
    for (const auto& [name, value] : answer.headers) response.set(name, value);
    response.prepare_payload();
    const auto [lost, written] = co_await http::async_write(socket, response, kAwait);
    if (lost || answer.closes) co_return;
  }
}

}  // namespace weft
