#include "base/regular_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace weft {
namespace {

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

}  // namespace

Result<RegularFile> RegularFile::Open(const std::string& path) {
  // A pipe without a writer would be waited for, and a terminal would become the process's own.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    return Fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
                "{}: cannot open: {}", path, std::strerror(errno));
  }
  RegularFile file;
  file.path_ = path;
  file.descriptor_ = descriptor;
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) {
    return Fail(ErrorCode::kInternal, "{}: cannot open: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: is {}, expected a regular file", path,
                KindOf(status.st_mode));
  }
  file.size_bytes_ = static_cast<size_t>(status.st_size);
  file.mode_ = status.st_mode;
  file.changed_ = status.st_mtim;
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept { *this = std::move(other); }

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(mode_, other.mode_);
  std::swap(changed_, other.changed_);
  return *this;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<std::string> RegularFile::Read(size_t max_bytes) const {
  // Read to the end, not to the size: files of the kernel (/proc) have none.
  constexpr size_t kStepBytes = 1 << 20;
  std::string text;
  for (;;) {
    if (text.size() > max_bytes || size_bytes_ > max_bytes) {
      return Fail(ErrorCode::kInvalidArgument, "{}: has {} bytes, expected at most {}", path_,
                  std::max(text.size(), size_bytes_), max_bytes);
    }
    const size_t have = text.size();
    text.resize(have + std::max(std::min(size_bytes_ - std::min(have, size_bytes_), kStepBytes),
                                size_t{4096}));
    const ssize_t count =
        pread(descriptor_, text.data() + have, text.size() - have, static_cast<off_t>(have));
    text.resize(have + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) {
      return Fail(ErrorCode::kInvalidArgument, "{}: cannot read: {}", path_, std::strerror(errno));
    }
  }
}

Result<void> RegularFile::CheckUnchanged() const {
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0) {
    return Fail(ErrorCode::kInternal, "{}: cannot look at it again: {}", path_,
                std::strerror(errno));
  }
  if (static_cast<size_t>(status.st_size) != size_bytes_) {
    return Fail(ErrorCode::kCorrupt,
                "{}: had {} bytes when it was opened, and {} while it was read", path_, size_bytes_,
                status.st_size);
  }
  if (status.st_mtim.tv_sec != changed_.tv_sec || status.st_mtim.tv_nsec != changed_.tv_nsec) {
    return Fail(ErrorCode::kCorrupt, "{}: was changed while it was read", path_);
  }
  return {};
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  WEFT_ASSIGN_OR_RETURN(const RegularFile file, RegularFile::Open(path));
  return file.Read(max_bytes);
}

Result<std::optional<std::string>> ReadFileIfPresent(const std::string& path, size_t max_bytes) {
  Result<std::string> text = ReadFile(path, max_bytes);
  if (text) return *std::move(text);
  if (text.error().code == ErrorCode::kNotFound) return std::nullopt;
  return tl::unexpected(std::move(text).error());
}

}  // namespace weft
