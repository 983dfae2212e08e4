#include "server/batches/new_content.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace weft {
namespace {

// A name in a directory survives the machine's death once the directory itself is written.
bool SyncDirectoryOf(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_synced = fsync(descriptor) == 0;
  close(descriptor);
  return is_synced;
}

}  // namespace

Result<NewContent> NewContent::Create(std::string path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  NewContent content(std::move(path), descriptor);
  if (descriptor < 0) return content.CannotWrite();
  return content;
}

NewContent::NewContent(NewContent&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_) {}

NewContent::~NewContent() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!path_.empty()) unlink(path_.c_str());
}

tl::unexpected<Error> NewContent::CannotWrite() const {
  return Fail(
      errno == ENOSPC || errno == EDQUOT ? ErrorCode::kResourceExhausted : ErrorCode::kInternal,
      "{}: cannot write it: {}", path_, std::strerror(errno));
}

Result<void> NewContent::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWrite();
    bytes.remove_prefix(static_cast<size_t>(written));
    size_bytes_ += static_cast<uint64_t>(written);
  }
  return {};
}

Result<void> NewContent::Place(const std::string& path) {
  const bool is_placed = fsync(descriptor_) == 0 && rename(path_.c_str(), path.c_str()) == 0;
  if (!is_placed) return CannotWrite();
  path_.clear();
  if (SyncDirectoryOf(path)) return {};
  return Fail(ErrorCode::kInternal, "{}: cannot write its directory: {}", path,
              std::strerror(errno));
}

}  // namespace weft
