#include "server/commands/service_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <unistd.h>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace weft {
namespace {

// A message is lines: what comes from outside, a model's name, must not make one.
std::string OneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

int64_t Microseconds(std::chrono::milliseconds time) {
  return std::chrono::microseconds(time).count();
}

}  // namespace

Result<void> ServiceManager::Starting(std::string_view status) const {
  constexpr std::chrono::minutes kNextWord{5};  // of a slow disk, or the Hub
  return Send(
      fmt::format("STATUS={}\nEXTEND_TIMEOUT_USEC={}\n", OneLine(status), Microseconds(kNextWord)));
}

Result<void> ServiceManager::Ready(std::string_view status) const {
  return Send(fmt::format("READY=1\nSTATUS={}\n", OneLine(status)));
}

Result<void> ServiceManager::Stopping(std::chrono::milliseconds time) const {
  return Send(fmt::format("STOPPING=1\nSTATUS=running requests end\nEXTEND_TIMEOUT_USEC={}\n",
                          Microseconds(time)));
}

Result<void> ServiceManager::Send(const std::string& message) const {
  if (socket_.empty()) return {};
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const bool is_known = socket_.front() == '/' || socket_.front() == '@';
  if (!is_known || socket_.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kInvalidArgument,
                "NOTIFY_SOCKET: '{}' is neither a path nor '@' and a name, of {} bytes at most",
                socket_.substr(0, 200), sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return Fail(ErrorCode::kUnavailable, "NOTIFY_SOCKET: {}", strerror(errno));
  const auto length = offsetof(sockaddr_un, sun_path) + socket_.size();
  const ssize_t sent =
      sendto(socket, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length));
  const int error = errno;
  close(socket);
  if (sent >= 0) return {};
  return Fail(ErrorCode::kUnavailable, "NOTIFY_SOCKET {}: {}", socket_, strerror(error));
}

}  // namespace weft
