// read_floor ADDRESS CONNECTIONS ROUNDS: what reading a stream's tokens costs without a client
// around it: epoll_wait, and one recv for every connection that is ready. ADDRESS is null_server's:
// a port, or the path of a Unix socket. Every connection sends ROUNDS requests, one after the
// other. Prints CPU time over tokens; no load generator with a thread of its own can take less.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace {

constexpr std::string_view kRequest =
    "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
constexpr std::string_view kStreamEnd = "\r\n0\r\n\r\n";

int Number(const char* text) {
  int value = -1;
  std::from_chars(text, text + std::string_view(text).size(), value);
  return value;
}

double Milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
}

int Connect(const std::string& address) {
  const bool is_path = address.starts_with('/');
  sockaddr_un local = {};
  local.sun_family = AF_UNIX;
  address.copy(local.sun_path, sizeof(local.sun_path) - 1);
  sockaddr_in tcp = {};
  tcp.sin_family = AF_INET;
  tcp.sin_port = htons(static_cast<uint16_t>(Number(address.c_str())));
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
  const auto* to =
      is_path ? reinterpret_cast<const sockaddr*>(&local) : reinterpret_cast<const sockaddr*>(&tcp);
  const auto size = static_cast<socklen_t>(is_path ? sizeof(local) : sizeof(tcp));
  return connect(fd, to, size) == 0 ? fd : -1;
}

struct Totals {
  int64_t reads = 0;
  int64_t wakeups = 0;
  int64_t bytes = 0;
};

// Until every connection has had its answers, or one is lost.
Totals ReadAll(int epoll, std::vector<int>& rounds_left, int open_count) {
  Totals totals;
  std::vector<epoll_event> events(128);
  std::vector<char> buffer(64 << 10);
  while (open_count > 0) {
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    ++totals.wakeups;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) return totals;
      const int fd = event.data.fd;
      ssize_t size = 0;
      bool has_ended = false;
      do {
        size = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size <= 0) break;
        ++totals.reads;
        totals.bytes += size;
        has_ended =
            std::string_view(buffer.data(), static_cast<size_t>(size)).ends_with(kStreamEnd);
      } while (size == std::ssize(buffer));  // fewer: there was no more
      if (!has_ended) continue;
      if (--rounds_left[static_cast<size_t>(fd)] > 0) {
        send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
      } else {
        --open_count;
      }
    }
  }
  return totals;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4 || Number(argv[2]) < 1 || Number(argv[3]) < 1) {
    std::fprintf(stderr, "usage: read_floor PORT_OR_PATH CONNECTIONS ROUNDS\n");
    return 2;
  }
  const int connection_count = Number(argv[2]);
  const int epoll = epoll_create1(0);
  std::vector<int> rounds_left;
  for (int i = 0; i < connection_count; ++i) {
    const int fd = Connect(argv[1]);
    if (fd < 0) {
      std::perror("read_floor: connect");
      return 1;
    }
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;  // by edges: the kernel asks no socket twice
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    rounds_left.resize(static_cast<size_t>(fd) + 1);
    rounds_left.back() = Number(argv[3]);
    send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
  }
  rusage begin = {}, end = {};
  getrusage(RUSAGE_THREAD, &begin);
  const Totals totals = ReadAll(epoll, rounds_left, connection_count);
  getrusage(RUSAGE_THREAD, &end);
  const double user_us = (Milliseconds(end.ru_utime) - Milliseconds(begin.ru_utime)) * 1e3;
  const double system_us = (Milliseconds(end.ru_stime) - Milliseconds(begin.ru_stime)) * 1e3;
  const auto reads = static_cast<double>(totals.reads);
  std::printf(
      "%.0f reads of %.0f bytes, %.1f a wake-up; a read: %.2f us (%.2f user, %.2f system)\n", reads,
      static_cast<double>(totals.bytes) / reads, reads / static_cast<double>(totals.wakeups),
      (user_us + system_us) / reads, user_us / reads, system_us / reads);
} catch (const std::exception& exception) {
  std::fprintf(stderr, "read_floor: %s\n", exception.what());
  return 1;
}
