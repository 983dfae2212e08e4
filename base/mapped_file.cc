#include "base/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>

namespace weft {

Result<MappedFile> MappedFile::Open(const std::string& path) {
  MappedFile file;
  WEFT_ASSIGN_OR_RETURN(file.file_, RegularFile::Open(path));
  const size_t size_bytes = file.file_.size_bytes();
  if (size_bytes == 0) return file;
  void* memory = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.file_.descriptor(), 0);
  if (memory == MAP_FAILED) {
    return Fail(ErrorCode::kInternal, "{}: cannot map {} bytes: {}", path, size_bytes,
                std::strerror(errno));
  }
  file.data_ = static_cast<const std::byte*>(memory);
  file.guard_ = std::make_unique<BusErrorGuard>(file.data_, size_bytes);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  guard_.reset();
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), file_.size_bytes());
}

Result<void> MappedFile::CheckUnchanged() const {
  WEFT_RETURN_IF_ERROR(file_.CheckUnchanged());
  if (!is_torn()) return {};
  return Fail(ErrorCode::kCorrupt, "{}: a part of it could not be read", path());
}

void MappedFile::ReleasePages(const std::byte* first, size_t size_bytes) const {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin =
      (reinterpret_cast<uintptr_t>(first) + page_bytes - 1) / page_bytes * page_bytes;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(first) + size_bytes) / page_bytes * page_bytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace weft
