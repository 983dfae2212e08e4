// A regular file, open for reading: models, templates, keys, configurations. What else a path may
// lead to (a directory, a named pipe, a device) is refused at once, by its name, and never waited
// for.
#pragma once

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "base/result.h"

namespace weft {

class RegularFile {
 public:
  // Errors name the path.
  static Result<RegularFile> Open(const std::string& path);

  RegularFile() = default;
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  ~RegularFile();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  size_t size_bytes() const { return size_bytes_; }
  mode_t mode() const { return mode_; }

  // The whole of it; an error if that is more than `max_bytes`.
  Result<std::string> Read(size_t max_bytes) const;

  // An error if its size or its time of change is not what it was when it was opened: what was
  // read of it since then may be half of the one and half of the other.
  Result<void> CheckUnchanged() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  size_t size_bytes_ = 0;
  mode_t mode_ = 0;
  timespec changed_{};
};

// Opens and reads.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);
// nullopt: there is nothing at the path.
Result<std::optional<std::string>> ReadFileIfPresent(const std::string& path, size_t max_bytes);

}  // namespace weft
