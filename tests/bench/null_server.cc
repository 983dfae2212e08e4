// null_server ADDRESS TOKENS INTERVAL_US: a server that generates nothing, to measure load
// generators with. ADDRESS is a port or the path of a Unix socket. Every POST is answered with a
// stream of TOKENS events, INTERVAL_US apart (0: at once); every GET with a list of one model. One
// thread, epoll, HTTP/1.1 with requests that have a Content-Length.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kModels =
    "HTTP/1.1 200 OK\r\nServer: null\r\nContent-Length: 24\r\n\r\n{\"data\":[{\"id\":\"null\"}]}";
constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view kEvent =
    "data: {\"id\":\"cmpl-760bc26b88f253ae00000015\",\"object\":\"text_completion\","
    "\"created\":1763740000,\"model\":\"null\",\"choices\":[{\"index\":0,\"text\":\" house\","
    "\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";
constexpr std::string_view kDone = "data: [DONE]\n\n";

std::string Chunk(std::string_view data) {
  char size[16];
  const auto end = std::to_chars(size, size + sizeof(size), data.size(), 16).ptr;
  return std::string(size, end) + "\r\n" + std::string(data) + "\r\n";
}

int Number(const char* text) {
  int value = -1;
  std::from_chars(text, text + std::string_view(text).size(), value);
  return value;
}

struct Client {
  std::string received;
  int tokens_left = 0;  // of the stream that is being sent
};

class NullServer {
 public:
  NullServer(int token_count, std::chrono::microseconds interval)
      : token_count_(token_count),
        interval_(interval),
        event_(Chunk(kEvent)),
        end_(Chunk(kDone) + "0\r\n\r\n") {}

  bool Listen(const std::string& address) {
    if (!(address.starts_with('/') ? BindPath(address) : BindPort(Number(address.c_str())))) {
      return false;
    }
    epoll_ = epoll_create1(0);
    Watch(listener_);
    return listen(listener_, SOMAXCONN) == 0;
  }

  void Run() {
    std::vector<epoll_event> events(1024);
    Clock::time_point next_step = Clock::now() + interval_;
    for (;;) {
      const int timeout_ms = interval_.count() == 0 || streams_ == 0 ? -1 : 1;
      const int count =
          epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<size_t>(i)].data.fd;
        fd == listener_ ? AcceptAll() : Receive(fd);
      }
      if (interval_.count() == 0 || Clock::now() < next_step) continue;
      next_step = Clock::now() + interval_;
      for (auto& [fd, client] : clients_) {
        if (client.tokens_left > 0) SendTokens(fd, client, 1);
      }
    }
  }

 private:
  bool BindPort(int port) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int yes = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  bool BindPath(const std::string& path) {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    unlink(path.c_str());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  void Watch(int fd) const {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void AcceptAll() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
      const int yes = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      Watch(fd);
      clients_[fd];
    }
  }

  void Receive(int fd) {
    Client& client = clients_[fd];
    char buffer[16384];
    const ssize_t size = recv(fd, buffer, sizeof(buffer), 0);
    if (size <= 0) {
      if (client.tokens_left > 0) --streams_;
      clients_.erase(fd);
      close(fd);
      return;
    }
    client.received.append(buffer, static_cast<size_t>(size));
    const size_t head_end = client.received.find("\r\n\r\n");
    if (head_end == std::string::npos) return;
    constexpr std::string_view kLength = "Content-Length: ";
    const size_t length = client.received.find(kLength);
    const int body =
        length < head_end ? Number(client.received.c_str() + length + kLength.size()) : 0;
    if (client.received.size() < head_end + 4 + static_cast<size_t>(body)) return;
    const bool is_get = client.received.starts_with("GET");
    client.received.clear();
    if (is_get) {
      Send(fd, kModels);
      return;
    }
    ++streams_;
    client.tokens_left = token_count_;
    Send(fd, kHead);
    if (interval_.count() == 0) SendTokens(fd, client, token_count_);
  }

  // Each a send of its own, as a server's would be.
  void SendTokens(int fd, Client& client, int count) {
    for (; count > 0; --count, --client.tokens_left) Send(fd, event_);
    if (client.tokens_left > 0) return;
    Send(fd, end_);
    --streams_;
  }

  static void Send(int fd, std::string_view bytes) {
    if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) shutdown(fd, SHUT_RDWR);
  }

  int token_count_;
  std::chrono::microseconds interval_;
  std::string event_;
  std::string end_;
  int listener_ = -1;
  int epoll_ = -1;
  int streams_ = 0;
  std::unordered_map<int, Client> clients_;
};

}  // namespace

int main(int argc, char** argv) try {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (argc != 4 || Number(argv[2]) < 1 || Number(argv[3]) < 0) {
    std::fprintf(stderr, "usage: null_server PORT_OR_PATH TOKENS INTERVAL_US\n");
    return 2;
  }
  NullServer server(Number(argv[2]), std::chrono::microseconds(Number(argv[3])));
  if (!server.Listen(argv[1])) {
    std::perror("null_server: listen");
    return 1;
  }
  server.Run();
} catch (const std::exception& exception) {
  std::fprintf(stderr, "null_server: %s\n", exception.what());
  return 1;
}
