// Reads all that a parsed model file claims to hold, so that a view outside the file is found.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "model/formats/dequantize.h"
#include "model/formats/gguf.h"

namespace weft {

inline void UseTensors(const TensorMap& tensors) {
  std::vector<float> row;
  for (const auto& [name, view] : tensors) {
    if (!IsWeight(view.type)) {  // of which not all can be read as floats
      volatile std::byte last = view.data[view.size_bytes() - 1];
      (void)last;
      continue;
    }
    row.resize(static_cast<size_t>(view.columns()));
    const int64_t row_bytes = RowBytes(view.type, view.columns());
    for (int64_t i = 0; i < view.element_count() / view.columns(); ++i) {
      DequantizeRow(view.type, view.data + i * row_bytes, view.columns(), row.data());
    }
  }
}

// An error is one line that begins with the file.
inline void CheckMessage(const std::string& message) {
  if (!message.starts_with("f: ") || message.find('\n') != std::string::npos) std::abort();
}

}  // namespace weft
