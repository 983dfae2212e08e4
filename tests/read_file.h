// A file as tests want it.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace weft {

// All bytes of the file; none, if there is no such file.
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace weft
