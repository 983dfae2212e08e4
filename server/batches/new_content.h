// A file on its way into the store's directory: complete there, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// One thread at a time. Errors name the file.
class NewContent {
 public:
  // Makes an empty file at `path`, where there is none.
  static Result<NewContent> Create(std::string path);
  NewContent(NewContent&& other) noexcept;
  NewContent& operator=(NewContent&&) = delete;
  // Removes it unless it was placed.
  ~NewContent();

  Result<void> Write(std::string_view bytes);
  uint64_t size_bytes() const { return size_bytes_; }
  // All of it is on the disk, under its last name, when this returns.
  Result<void> Place(const std::string& path);

 private:
  NewContent(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  tl::unexpected<Error> CannotWrite() const;

  std::string path_;  // empty: it was placed, or moved away
  int descriptor_ = -1;
  uint64_t size_bytes_ = 0;
};

}  // namespace weft
