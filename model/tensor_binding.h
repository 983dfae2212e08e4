// From the tensors' names in a file to the places where the forward pass expects them.
#pragma once

#include <string>

#include "base/result.h"
#include "model/architectures.h"
#include "model/checkpoint.h"
#include "model/formats/gguf.h"

namespace weft {

enum class FileFormat { kGguf, kSafetensors };

// Every tensor that the architecture needs, once, with the shape that the configuration says. A
// missing tensor, a wrong shape or type, and a tensor that the architecture has no place for (a
// bias ignored would be a wrong answer) are errors of one line. `path` is for messages.
Result<ModelTensors> BindTensors(const TensorMap& tensors, FileFormat format,
                                 const ModelConfig& config, const Architecture& architecture,
                                 const std::string& path);

}  // namespace weft
