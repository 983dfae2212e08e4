#include "server/commands/corpus/output_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

namespace weft {
namespace {

constexpr size_t kOutputBufferBytes = size_t{64} << 10;
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler reaches nothing but globals.
std::array<char, 4096> unfinished_path{};  // empty: none
std::array<char, 4352> last_words{};

void RemoveUnfinished(int signal) {
  if (unfinished_path[0] != '\0') unlink(unfinished_path.data());
  const ssize_t ignored = write(STDERR_FILENO, last_words.data(), std::strlen(last_words.data()));
  static_cast<void>(ignored);
  _exit(128 + signal);
}

// Both empty: signals do again what they did.
void OnSignalsRemove(const std::string& temporary_path, const std::string& words) {
  for (const int signal : kEndingSignals) std::signal(signal, SIG_DFL);
  const auto copy = [](const std::string& from, auto& to) {
    const size_t size = std::min(from.size(), to.size() - 1);
    std::copy_n(from.begin(), size, to.begin());
    to[size] = '\0';
  };
  copy(temporary_path, unfinished_path);
  copy(words, last_words);
  if (words.empty()) return;
  for (const int signal : kEndingSignals) std::signal(signal, RemoveUnfinished);
}

}  // namespace

Result<OutputFile> OutputFile::Open(const std::string& path) {
  std::signal(SIGPIPE, SIG_IGN);
  OutputFile file;
  file.path_ = path.empty() ? "standard output" : path;
  if (path.empty()) {
    file.descriptor_ = STDOUT_FILENO;
    OnSignalsRemove({}, "weft: interrupted; the last line on standard output may lack its end\n");
    return file;
  }
  struct stat status {};
  const bool is_special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (!is_special) file.temporary_path_ = fmt::format("{}.{}.part", path, getpid());
  if (file.temporary_path_.size() >= unfinished_path.size()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: the name is too long", path);
  }
  // Before there is something to remove.
  OnSignalsRemove(file.temporary_path_,
                  fmt::format("weft: interrupted; {} was not written\n", path));
  constexpr mode_t kMode = 0666;
  const int flags = O_WRONLY | O_CLOEXEC | (is_special ? 0 : O_CREAT | O_EXCL);
  const char* name = is_special ? path.c_str() : file.temporary_path_.c_str();
  file.descriptor_ = open(name, flags, kMode);
  if (file.descriptor_ < 0) {
    const int error = errno;
    OnSignalsRemove({}, {});
    return file.CannotWrite(error);
  }
  file.owns_descriptor_ = true;
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owns_descriptor_(std::exchange(other.owns_descriptor_, false)),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
  if (owns_descriptor_) close(descriptor_);
  OnSignalsRemove({}, {});
}

tl::unexpected<Error> OutputFile::CannotWrite(int error) const {
  return Fail(ErrorCode::kInternal, "{}: cannot write it: {}", path_, std::strerror(error));
}

Result<void> OutputFile::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotWrite(errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<void> OutputFile::Write(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kOutputBufferBytes ? Result<void>() : Flush();
}

Result<void> OutputFile::Flush() {
  Result<void> written = WriteAll(buffer_);
  buffer_.clear();
  return written;
}

Result<void> OutputFile::Overwrite(std::string_view beginning) {
  WEFT_RETURN_IF_ERROR(Flush());
  if (lseek(descriptor_, 0, SEEK_SET) < 0) return CannotWrite(errno);
  return WriteAll(beginning);
}

Result<void> OutputFile::Commit() {
  WEFT_RETURN_IF_ERROR(Flush());
  if (temporary_path_.empty()) return {};
  // Some file systems say only now that there is no space.
  if (fsync(descriptor_) != 0) return CannotWrite(errno);
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) return CannotWrite(errno);
  temporary_path_.clear();
  return {};
}

}  // namespace weft
