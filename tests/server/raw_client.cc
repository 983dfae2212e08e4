#include "tests/server/raw_client.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <poll.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace weft {

struct RawClient::Tls {
  ~Tls() {
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;
};

RawClient::RawClient(const Endpoint& endpoint) { Open(endpoint, std::nullopt); }
RawClient::RawClient(const Endpoint& endpoint, int receive_buffer_bytes) {
  Open(endpoint, receive_buffer_bytes);
}
RawClient::~RawClient() { Close(); }

void RawClient::Open(const Endpoint& endpoint, std::optional<int> receive_buffer_bytes) {
  connected_ = Connect(endpoint, receive_buffer_bytes) &&
               (endpoint.tls_issuer.empty() || StartTls(endpoint));
}

bool RawClient::Connect(const Endpoint& endpoint, std::optional<int> receive_buffer_bytes) {
  const bool is_unix = !endpoint.unix_path.empty();
  socket_ = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
  if (receive_buffer_bytes) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &*receive_buffer_bytes, sizeof(int));
  }
  if (is_unix) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    endpoint.unix_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  const int no_delay = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

bool RawClient::StartTls(const Endpoint& endpoint) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes as to a file
  tls_ = std::make_unique<Tls>();
  tls_->context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_load_verify_locations(tls_->context, endpoint.tls_issuer.c_str(), nullptr);
  SSL_CTX_set_verify(tls_->context, SSL_VERIFY_PEER, nullptr);
  tls_->ssl = SSL_new(tls_->context);
  SSL_set_fd(tls_->ssl, socket_);
  return SSL_connect(tls_->ssl) == 1;
}

bool RawClient::Send(std::string_view data) {
  while (!data.empty()) {
    const int64_t sent = tls_ ? SSL_write(tls_->ssl, data.data(), static_cast<int>(data.size()))
                              : send(socket_, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

int64_t RawClient::Receive(char* buffer, size_t size) {
  return tls_ ? SSL_read(tls_->ssl, buffer, static_cast<int>(size))
              : recv(socket_, buffer, size, 0);
}

bool RawClient::HasPending() const { return tls_ && SSL_pending(tls_->ssl) > 0; }

bool RawClient::SendByteByByte(std::string_view data) {
  return std::ranges::all_of(data, [&](const char& byte) { return Send({&byte, 1}); });
}

void RawClient::ShutdownWrite() {
  if (tls_) SSL_shutdown(tls_->ssl);
  shutdown(socket_, SHUT_WR);
}

void RawClient::Close() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

void RawClient::Reset() {
  const linger now{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

bool RawClient::Fill() {
  constexpr int kPatienceMs = 20'000;
  pollfd state{socket_, POLLIN, 0};
  if (!HasPending() && poll(&state, 1, kPatienceMs) <= 0) return false;
  char buffer[65536];
  const int64_t count = Receive(buffer, sizeof(buffer));
  if (count <= 0) return false;
  received_.append(buffer, static_cast<size_t>(count));
  return true;
}

bool RawClient::ReadUntil(std::string_view text) {
  while (received_.find(text) == std::string::npos) {
    if (!Fill()) return false;
  }
  return true;
}

std::string RawClient::ReadToEnd() {
  while (Fill()) {
  }
  return std::move(received_);
}

bool RawClient::IsClosedWithin(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    pollfd state{socket_, POLLIN, 0};
    if (poll(&state, 1, 10) <= 0) continue;
    char buffer[4096];
    if (Receive(buffer, sizeof(buffer)) <= 0) return true;
  }
  return false;
}

RawResponse RawClient::Read(bool head_only) {
  RawResponse response;
  if (!ReadUntil("\r\n\r\n")) return response;
  const size_t head_end = received_.find("\r\n\r\n") + 4;
  std::string_view head(received_.data(), head_end - 2);
  response.status = std::atoi(received_.c_str() + std::string_view("HTTP/1.1 ").size());
  for (size_t start = head.find("\r\n") + 2; start < head.size();) {
    const size_t end = head.find("\r\n", start);
    const std::string_view line = head.substr(start, end - start);
    const size_t colon = line.find(": ");
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    response.headers[name] = std::string(line.substr(colon + 2));
    start = end + 2;
  }
  received_.erase(0, head_end);
  const auto take = [&](size_t count) {
    while (received_.size() < count) {
      if (!Fill()) return false;
    }
    response.body.append(received_, 0, count);
    received_.erase(0, count);
    return true;
  };
  if (head_only || response.status / 100 == 1) {
    response.complete = true;
  } else if (response.headers.contains("content-length")) {
    response.complete = take(std::stoul(response.headers["content-length"]));
  } else if (response.headers.contains("transfer-encoding")) {
    while (ReadUntil("\r\n")) {
      const size_t size = std::stoul(received_, nullptr, 16);
      received_.erase(0, received_.find("\r\n") + 2);
      if (!take(size + 2)) break;
      response.body.resize(response.body.size() - 2);  // the chunk's CRLF
      if (size == 0) {
        response.complete = true;
        break;
      }
    }
  } else {
    while (Fill()) {
    }
    response.body = std::move(received_);
    response.complete = true;
  }
  return response;
}

std::string CompletionPost(std::string_view json, std::string_view extra_headers) {
  return Post("/v1/completions", json, extra_headers);
}

std::string Post(std::string_view path, std::string_view json, std::string_view extra_headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n{}\r\n{}",
      path, json.size(), extra_headers, json);
}

std::string Get(std::string_view path, std::string_view extra_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, extra_headers);
}

std::vector<std::string> SseData(std::string_view body) {
  constexpr std::string_view kPrefix = "data: ";
  std::vector<std::string> events;
  while (body.substr(0, kPrefix.size()) == kPrefix) {
    const size_t end = body.find("\n\n");
    if (end == std::string_view::npos) break;
    events.emplace_back(body.substr(kPrefix.size(), end - kPrefix.size()));
    body.remove_prefix(end + 2);
  }
  return events;
}

}  // namespace weft
