#include "tests/loadtest/scripted_server.h"

#include <charconv>
#include <unistd.h>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.h"

namespace weft {
namespace {

constexpr std::string_view kHeaderEnd = "\r\n\r\n";

size_t ContentLength(std::string_view header) {
  constexpr std::string_view kName = "Content-Length: ";
  const size_t found = header.find(kName);
  size_t length = 0;
  if (found == std::string_view::npos) return length;
  const char* begin = header.data() + found + kName.size();
  std::from_chars(begin, header.data() + header.size(), length);
  return length;
}

}  // namespace

std::string ScriptedConnection::ReadRequest() {
  for (;;) {
    const size_t header_end = received_.find(kHeaderEnd);
    if (header_end != std::string::npos) {
      const size_t size = header_end + kHeaderEnd.size() +
                          ContentLength(std::string_view(received_).substr(0, header_end));
      if (received_.size() >= size) {
        std::string request = received_.substr(0, size);
        received_.erase(0, size);
        return request;
      }
    }
    char buffer[4096];
    const ssize_t count = recv(socket_, buffer, sizeof(buffer), 0);
    if (count <= 0) return {};
    received_.append(buffer, static_cast<size_t>(count));
  }
}

void ScriptedConnection::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // the client has gone; the test sees what it made of that
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

ScriptedServer::ScriptedServer(std::function<void(ScriptedConnection&)> script)
    : script_(std::move(script)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  WEFT_CHECK(bind(listener_, generic, size) == 0);
  WEFT_CHECK(listen(listener_, SOMAXCONN) == 0);
  WEFT_CHECK(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

ScriptedServer::~ScriptedServer() {
  shutdown(listener_, SHUT_RDWR);  // wakes accept
  acceptor_.join();
  for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
  close(listener_);
}

void ScriptedServer::AcceptLoop() {
  for (int index = 0;; ++index) {
    const int socket = accept(listener_, nullptr, nullptr);
    if (socket < 0) return;
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket, index] {
      ScriptedConnection connection(socket, index);
      script_(connection);
      shutdown(socket, SHUT_RDWR);
    });
  }
}

std::string JsonResponse(std::string_view status, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
      body.size(), body);
}

std::string StreamEvent(std::string_view data) {
  return fmt::format("{:x}\r\ndata: {}\n\n\r\n", data.size() + 8, data);
}

}  // namespace weft
