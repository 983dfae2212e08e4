// A file mapped read-only. The mapping lives as long as the object; views into it must not outlive
// it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace weft {

class MappedFile {
 public:
  // Maps the whole of a regular file. An empty file gives an empty span. Errors name the path.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

  // Tells the kernel that the pages lying wholly inside this part of the mapping are not needed
  // soon, so that they stop counting as resident. Reading them again is correct, only slower.
  void ReleasePages(const std::byte* first, size_t size_bytes) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace weft
