#include "base/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

namespace weft {

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
                "{}: cannot open: {}", path, std::strerror(errno));
  }
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return Fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path);
  }
  MappedFile file;
  file.path_ = path;
  if (status.st_size > 0) {
    const auto size_bytes = static_cast<size_t>(status.st_size);
    void* memory = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      const int mmap_errno = errno;
      close(descriptor);
      return Fail(ErrorCode::kInternal, "{}: cannot map {} bytes: {}", path, size_bytes,
                  std::strerror(mmap_errno));
    }
    file.data_ = static_cast<const std::byte*>(memory);
    file.size_bytes_ = size_bytes;
  }
  close(descriptor);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_bytes_);
}

void MappedFile::ReleasePages(const std::byte* first, size_t size_bytes) const {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin =
      (reinterpret_cast<uintptr_t>(first) + page_bytes - 1) / page_bytes * page_bytes;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(first) + size_bytes) / page_bytes * page_bytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace weft
