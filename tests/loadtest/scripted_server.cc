#include "tests/loadtest/scripted_server.h"

#include <charconv>
#include <csignal>
#include <unistd.h>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/check.h"
#include "tests/server/test_certificate.h"

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

std::shared_ptr<SSL_CTX> MakeTls(const TestCertificate& pem) {
  const auto bio = [](const std::string& text) {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  };
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to clients that have gone
  std::shared_ptr<SSL_CTX> tls(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(bio(pem.certificate_pem).get(), nullptr, nullptr, nullptr), X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio(pem.key_pem).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  WEFT_CHECK(SSL_CTX_use_certificate(tls.get(), certificate.get()) == 1);
  WEFT_CHECK(SSL_CTX_use_PrivateKey(tls.get(), key.get()) == 1);
  return tls;
}

}  // namespace

ScriptedConnection::ScriptedConnection(int socket, int index, ssl_ctx_st* tls)
    : socket_(socket), index_(index) {
  if (tls == nullptr) return;
  tls_ = std::shared_ptr<SSL>(SSL_new(tls), SSL_free);
  SSL_set_fd(tls_.get(), socket);
  SSL_accept(tls_.get());  // if it fails, so does all that follows
}

long ScriptedConnection::Receive(char* buffer, size_t size_bytes) const {
  return tls_ ? SSL_read(tls_.get(), buffer, static_cast<int>(size_bytes))
              : recv(socket_, buffer, size_bytes, 0);
}

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
    const long count = Receive(buffer, sizeof(buffer));
    if (count <= 0) return {};
    received_.append(buffer, static_cast<size_t>(count));
  }
}

void ScriptedConnection::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const long count = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                            : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // the client has gone; the test sees what it made of that
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

ScriptedServer::ScriptedServer(const ScriptedPlace& place,
                               std::function<void(ScriptedConnection&)> script)
    : script_(std::move(script)) {
  if (place.certificate != nullptr) tls_ = MakeTls(*place.certificate);
  place.unix_path.empty() ? ListenOnPort(place.address) : ListenOnPath(place.unix_path);
  WEFT_CHECK(listen(listener_, SOMAXCONN) == 0);
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

void ScriptedServer::ListenOnPort(const std::string& host) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  WEFT_CHECK(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  WEFT_CHECK(bind(listener_, generic, size) == 0);
  WEFT_CHECK(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  url_ = fmt::format("{}://{}:{}", tls_ ? "https" : "http", host, port_);
}

void ScriptedServer::ListenOnPath(const std::string& path) {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  WEFT_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  url_ = "unix:" + path;
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
      ScriptedConnection connection(socket, index, tls_.get());
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
