#include "server/secret_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>

#include "base/log.h"

namespace weft {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

tl::unexpected<Error> CannotRead(const std::string& path, std::string_view why) {
  return Fail(ErrorCode::kNotFound, "{}: cannot read it: {}", path, why);
}

// Reads, and does not map: the file may be written again while the server runs.
Result<std::string> ReadAll(const std::string& path, bool is_secret) {
  const FileDescriptor file(path);
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    return CannotRead(path, std::strerror(errno));
  }
  if (is_secret && (status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    Log(LogLevel::kWarning, "{}: every user of this machine may read or write it; chmod o-rw",
        path);
  }
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = read(file.get(), buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(path, std::strerror(errno));
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kMaxBytes) {
      return Fail(ErrorCode::kInvalidArgument, "{}: more than {} bytes", path, kMaxBytes);
    }
  }
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path) { return ReadAll(path, false); }

Result<std::string> ReadSecretFile(const std::string& path) { return ReadAll(path, true); }

}  // namespace weft
