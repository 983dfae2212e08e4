// The two JSON texts of the safetensors world, read strictly: a key that is there twice, a field
// missing or of the wrong kind, nesting without end are errors, and memory stays in proportion to
// the text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

// What the header says of one tensor; nothing of it is checked against the rest of the file yet.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;            // "F32", "BF16", ...
  std::vector<uint64_t> shape;  // outermost first, 0 to 8 dimensions
  uint64_t begin = 0;           // bytes from the beginning of the data
  uint64_t end = 0;
};

// The header of a .safetensors file. `path` is for messages.
Result<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view json,
                                                             const std::string& path);

// model.safetensors.index.json: its weight_map, tensor name to file name, as written.
Result<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view json,
                                                                 const std::string& path);

}  // namespace weft
