#include "tests/data_paths.h"

namespace weft {

std::string SourcePath(std::string_view path) {
  return std::string(WEFT_SOURCE_DIR "/").append(path);
}

std::string SharedDataPath(std::string_view path) {
  return std::string(WEFT_SOURCE_DIR "/../shared/data/").append(path);
}

}  // namespace weft
