// A directory of a test's own, removed with everything in it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <string_view>

namespace weft {

class TempDirectory {
 public:
  TempDirectory() : path_(std::filesystem::temp_directory_path() / "weft-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp: " + path_);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string Write(std::string_view name, std::string_view content) const {
    const std::string path = File(name);
    std::ofstream(path, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return path;
  }
  std::string Write(std::string_view name, std::span<const std::byte> content) const {
    return Write(name, {reinterpret_cast<const char*>(content.data()), content.size()});
  }

 private:
  std::string path_;
};

}  // namespace weft
