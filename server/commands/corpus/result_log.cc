#include "server/commands/corpus/result_log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>

namespace weft {

Result<ResultLog> ResultLog::Open(const std::string& path) {
  ResultLog log(path);
  log.descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  struct stat status {};
  if (log.descriptor_ < 0 || fstat(log.descriptor_, &status) != 0) return log.CannotUse();
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path);
  }
  if (flock(log.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    return Fail(ErrorCode::kUnavailable, "{}: another process writes it", path);
  }
  WEFT_RETURN_IF_ERROR(log.ReadDone());
  return log;
}

ResultLog::ResultLog(ResultLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      done_(std::move(other.done_)) {}

ResultLog::~ResultLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

tl::unexpected<Error> ResultLog::CannotUse() const {
  return Fail(ErrorCode::kInternal, "{}: cannot write it: {}", path_, std::strerror(errno));
}

Result<void> ResultLog::ReadDone() {
  std::string buffer;
  std::string bytes(1 << 20, '\0');
  off_t whole_end = 0;
  while (true) {
    const ssize_t count = read(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotUse();
    if (count == 0) break;
    buffer.append(bytes, 0, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = 0; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto line =
          nlohmann::json::parse(buffer.begin() + static_cast<ptrdiff_t>(begin),
                                buffer.begin() + static_cast<ptrdiff_t>(end), nullptr, false);
      const auto id = line.is_object() ? line.find("custom_id") : line.end();
      if (!line.is_object() || id == line.end() || !id->is_string()) {
        return Fail(ErrorCode::kInvalidArgument,
                    "{}:{}: not an answer of a batch; name another file", path_, done_.size() + 1);
      }
      done_.insert(id->get<std::string>());
    }
    whole_end += static_cast<off_t>(begin);
    buffer.erase(0, begin);
  }
  if (buffer.empty() || ftruncate(descriptor_, whole_end) == 0) return {};
  return CannotUse();
}

Result<void> ResultLog::Add(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotUse();
    rest.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace weft
