// safetensors (https://github.com/huggingface/safetensors#format): 8 bytes of header length, a JSON
// header, data.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "model/formats/gguf.h"  // TensorMap
#include "model/tensor.h"

namespace weft {

// The tensors of one file's bytes, which must outlive the result; `path` is for messages. Weights,
// and what quantised ones are made of; other types are refused by name. As in the reference
// implementation, the tensors fill the data exactly: no overlap, no hole, nothing after the last. A
// scalar becomes a vector of one element. The data may lie at any address, so read it through
// DequantizeRow or memcpy.
Result<TensorMap> ParseSafetensors(std::span<const std::byte> bytes, const std::string& path);

struct SafetensorsFiles {
  TensorMap tensors;
  std::vector<MappedFile> files;  // what tensors point into

  // The weights of a Hugging Face directory: model.safetensors if it is there, otherwise the shards
  // that model.safetensors.index.json lists; these lie in the same directory, hold every tensor
  // that the index promises of them, and no tensor is in two.
  static Result<SafetensorsFiles> OpenDirectory(const std::string& directory);
  static Result<SafetensorsFiles> OpenFile(const std::string& path);
};

}  // namespace weft
