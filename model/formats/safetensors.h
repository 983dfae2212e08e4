// safetensors (https://github.com/huggingface/safetensors#format): 8 bytes of header length, a JSON
// header, data.
#pragma once

#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "model/formats/gguf.h"  // TensorMap
#include "model/tensor.h"

namespace weft {

struct SafetensorsFiles {
  TensorMap tensors;              // F32, F16, BF16 only; other types are refused by name
  std::vector<MappedFile> files;  // what tensors point into

  // The shards of a Hugging Face directory: model.safetensors.index.json and what it lists, or
  // model.safetensors.
  static Result<SafetensorsFiles> OpenDirectory(const std::string& directory);
  static Result<SafetensorsFiles> OpenFile(const std::string& path);
};

}  // namespace weft
