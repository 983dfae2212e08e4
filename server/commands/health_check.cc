#include "server/commands/health_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <netdb.h>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/quoted.h"
#include "proto/http_url.h"
#include "server/commands/serve_options.h"

namespace weft {
namespace {

constexpr size_t kMaxAnswerBytes = 16384;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class Socket {
 public:
  explicit Socket(int handle) : handle_(handle) {}
  ~Socket() {
    if (handle_ >= 0) close(handle_);
  }
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int handle() const { return handle_; }

 private:
  int handle_;
};

std::string ReasonOf(int error) {
  return error == EAGAIN || error == EINPROGRESS ? "no answer in time" : std::strerror(error);
}

// Blocking; waits of at most `timeout` each.
Result<Socket> Connect(const sockaddr* address, socklen_t size, std::chrono::milliseconds timeout) {
  Socket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval limit{};
  limit.tv_sec = timeout.count() / 1000;
  limit.tv_usec = timeout.count() % 1000 * 1000;
  for (const int direction : {SO_SNDTIMEO, SO_RCVTIMEO}) {
    setsockopt(socket.handle(), SOL_SOCKET, direction, &limit, sizeof(limit));
  }
  if (connect(socket.handle(), address, size) == 0) return socket;
  return Fail(ErrorCode::kUnavailable, "{}", ReasonOf(errno));
}

Result<Socket> ConnectTo(const ServerAddress& address, std::chrono::milliseconds timeout) {
  if (!address.unix_path.empty()) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    if (address.unix_path.size() >= sizeof(place.sun_path)) {
      return Fail(ErrorCode::kInvalidArgument, "the path is too long for a socket");
    }
    std::ranges::copy(address.unix_path, place.sun_path);
    return Connect(reinterpret_cast<const sockaddr*>(&place), sizeof(place), timeout);
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (error != 0) return Fail(ErrorCode::kNotFound, "{}", gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  Error last{ErrorCode::kNotFound, "the name has no address"};
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Result<Socket> socket = Connect(each->ai_addr, each->ai_addrlen, timeout);
    if (socket) return socket;
    last = std::move(socket).error();
  }
  return tl::unexpected(std::move(last));
}

// Sends the request and reads until the server closes, or enough has come.
Result<std::string> Exchange(const std::string& request, int handle, SSL* ssl) {
  const auto size = static_cast<int>(request.size());
  const int64_t sent = ssl != nullptr ? SSL_write(ssl, request.data(), size)
                                      : send(handle, request.data(), request.size(), 0);
  if (sent != size) return Fail(ErrorCode::kUnavailable, "cannot send: {}", ReasonOf(errno));
  std::string answer;
  std::array<char, 4096> buffer{};
  while (answer.size() < kMaxAnswerBytes) {
    errno = 0;
    const int64_t received = ssl != nullptr
                                 ? SSL_read(ssl, buffer.data(), static_cast<int>(buffer.size()))
                                 : recv(handle, buffer.data(), buffer.size(), 0);
    if (received < 0 && answer.empty()) return Fail(ErrorCode::kUnavailable, "{}", ReasonOf(errno));
    if (received <= 0) break;
    answer.append(buffer.data(), static_cast<size_t>(received));
  }
  return answer;
}

Result<std::string> Ask(const ServerAddress& address, std::chrono::milliseconds timeout) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  const std::string request =
      fmt::format("GET /ready HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                  !address.unix_path.empty() ? "localhost"
                  : is_ipv6                  ? "[" + address.host + "]"
                                             : address.host);
  WEFT_ASSIGN_OR_RETURN(const Socket socket, ConnectTo(address, timeout));
  if (!address.uses_tls) return Exchange(request, socket.handle(), nullptr);
  const std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  const std::unique_ptr<SSL, FreeSsl> ssl(context == nullptr ? nullptr : SSL_new(context.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket.handle()) != 1) {
    return Fail(ErrorCode::kInternal, "OpenSSL cannot begin");
  }
  if (SSL_connect(ssl.get()) != 1) {
    return Fail(ErrorCode::kUnavailable, "no TLS handshake in time, or none at all");
  }
  return Exchange(request, socket.handle(), ssl.get());
}

// The arguments of the process with this folder; empty if it has gone, or is the kernel's. The
// portable archive's are those of its loader, `weft --library-path FOLDER PROGRAM ARGUMENT...`, of
// which the loader's own are left out.
std::vector<std::string> CommandLineOf(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(std::move(argument));
  }
  if (arguments.size() > 3 && arguments[1] == "--library-path") {
    arguments.erase(arguments.begin() + 1, arguments.begin() + 4);
  }
  return arguments;
}

bool IsServer(const std::vector<std::string>& arguments) {
  return arguments.size() >= 2 && arguments[1] == "serve" &&
         std::filesystem::path(arguments[0]).filename() == "weft";
}

}  // namespace

std::string ToString(const ServerAddress& address) {
  if (!address.unix_path.empty()) return address.unix_path;
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", address.uses_tls ? "https" : "http", is_ipv6 ? "[" : "",
                     address.host, is_ipv6 ? "]" : "", address.port);
}

Result<ServerAddress> ParseServerUrl(std::string_view url) {
  WEFT_ASSIGN_OR_RETURN(HttpUrl parsed, ParseHttpUrl(url));
  if (parsed.target != "/") {
    return Fail(ErrorCode::kInvalidArgument,
                "{} has a path; expected http://HOST:PORT or https://HOST:PORT", Quoted(url));
  }
  return ServerAddress{.unix_path = {},
                       .uses_tls = parsed.uses_tls,
                       .host = std::move(parsed.host),
                       .port = parsed.port};
}

ServerAddress LocalAddressOf(const ServerOptions& options) {
  ServerAddress address;
  if (!options.listens_on_tcp) {
    address.unix_path = options.unix_socket_path;
    return address;
  }
  address.uses_tls = !options.tls_certificate_path.empty();
  address.host = options.host == "0.0.0.0" ? "127.0.0.1"
                 : options.host == "::"    ? "::1"
                                           : options.host;
  address.port = options.port;
  return address;
}

Result<ServerAddress> FindServer(const std::string& proc) {
  std::optional<std::filesystem::path> process;
  std::vector<std::string> arguments;
  std::error_code unreadable;  // what cannot be read has no server
  for (const auto& entry : std::filesystem::directory_iterator(proc, unreadable)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::vector<std::string> found = CommandLineOf(entry.path());
    if (!IsServer(found)) continue;
    if (process) {
      return Fail(
          ErrorCode::kInvalidArgument,
          "more than one 'weft serve' runs here (processes {} and {}); say which with --url",
          process->filename().string(), name);
    }
    process = entry.path();
    arguments = std::move(found);
  }
  if (!process) {
    return Fail(ErrorCode::kNotFound,
                "no 'weft serve' is among the processes here; say where it is with --url");
  }
  // Where that cannot be, its paths are taken as they are.
  std::filesystem::current_path(*process / "cwd", unreadable);
  std::vector<const char*> pointers;
  for (size_t i = 1; i < arguments.size(); ++i) pointers.push_back(arguments[i].c_str());
  WEFT_ASSIGN_OR_RETURN(const ServeOptions options,
                        ParseServeOptions(static_cast<int>(pointers.size()), pointers.data()));
  if (options.server.listens_on_tcp && options.server.port == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "process {} listens on a port that the system chose; say which with --url",
                process->filename().string());
  }
  return LocalAddressOf(options.server);
}

Result<void> CheckReady(const ServerAddress& address, std::chrono::milliseconds timeout) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string where = ToString(address);
  const Result<std::string> answer = Ask(address, timeout);
  if (!answer) return Fail(answer.error().code, "{}: {}", where, answer.error().message);
  constexpr std::string_view kOk = "HTTP/1.1 200 ";
  if (answer->starts_with(kOk)) return {};
  const std::string status_line = answer->substr(0, std::min(answer->find("\r\n"), size_t{100}));
  return Fail(ErrorCode::kUnavailable, "{}: expected 200 for /ready, got '{}'", where, status_line);
}

}  // namespace weft
