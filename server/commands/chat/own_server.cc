#include "server/commands/chat/own_server.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "server/commands/health_check.h"

namespace weft {
namespace {

// In the child, until it is `weft serve`: nothing that needs memory or a lock.
[[noreturn]] void BecomeServer(pid_t parent, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // which has ended already
  setpgid(0, 0);                      // Ctrl-C stops an answer, not the server
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) _exit(1);  // its greeting is not for here
  execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<OwnServer>> OwnServer::Start(const std::vector<std::string>& arguments,
                                                    const std::function<bool()>& is_stopped,
                                                    const std::function<void(int)>& waiting) {
  std::unique_ptr<OwnServer> server(new OwnServer);
  std::error_code failed;
  std::string folder = (std::filesystem::temp_directory_path(failed) / "weft-chat-XXXXXX").string();
  if (failed || mkdtemp(folder.data()) == nullptr) {
    return Fail(ErrorCode::kInternal, "{}: no folder can be made for a socket: {}", folder,
                std::strerror(errno));
  }
  server->folder_ = folder;
  server->socket_path_ = folder + "/socket";
  std::vector<std::string> words = {
      "weft", "serve", "--unix-socket", server->socket_path_, "--unix-socket-mode", "0600"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  server->process_ = fork();
  if (server->process_ < 0) {
    return Fail(ErrorCode::kInternal, "no process can be made for the server: {}",
                std::strerror(errno));
  }
  if (server->process_ == 0) BecomeServer(parent, pointers.data());

  ServerAddress address;
  address.unix_path = server->socket_path_;
  const auto begin = std::chrono::steady_clock::now();
  while (!CheckReady(address, std::chrono::seconds(1))) {
    if (is_stopped()) return Fail(ErrorCode::kUnavailable, "interrupted");
    if (waitpid(server->process_, nullptr, WNOHANG) == server->process_) {
      server->process_ = -1;
      return Fail(ErrorCode::kUnavailable, "the server has ended");
    }
    waiting(static_cast<int>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin)
            .count()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return server;
}

OwnServer::~OwnServer() {
  if (process_ > 0) {
    kill(process_, SIGKILL);  // it has one client, which has said all it wanted to
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace weft
