// A file mapped read-only. The mapping lives as long as the object; views into it must not outlive
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/bus_errors.h"
#include "base/regular_file.h"
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

  const std::string& path() const { return file_.path(); }
  // What the file no longer holds, because it was made shorter, reads as zeros.
  std::span<const std::byte> bytes() const { return {data_, file_.size_bytes()}; }

  // Whether a part of it has become zeros.
  bool is_torn() const { return guard_ != nullptr && guard_->hit(); }
  // To be asked when all has been read: an error if the file has changed since it was opened.
  Result<void> CheckUnchanged() const;

  // Tells the kernel that the pages lying wholly inside this part of the mapping are not needed
  // soon, so that they stop counting as resident. Reading them again is correct, only slower.
  void ReleasePages(const std::byte* first, size_t size_bytes) const;

 private:
  RegularFile file_;
  const std::byte* data_ = nullptr;
  std::unique_ptr<BusErrorGuard> guard_;
};

}  // namespace weft
