// From the tensors' names in a file to a model's list of parameters.
#pragma once

#include <string>

#include "base/result.h"
#include "model/families/families.h"
#include "model/formats/assembled_tensor.h"
#include "model/formats/gguf.h"

namespace weft {

// Every parameter of the description, once, with the shape that it says. A missing tensor, a wrong
// shape or type, and a tensor that no parameter names (a bias ignored would be a wrong answer) are
// errors of one line. `assembled`: further ones, under other names. `path` is for messages.
Result<ModelTensors> BindTensors(const TensorMap& tensors, const ModelDescription& description,
                                 const std::string& path, const AssembledTensors& assembled = {});

// Of a Hugging Face checkpoint of images and text, the tensors of the text, under the names that
// they have in a checkpoint of text alone; other towers' are left out.
Result<TensorMap> TextTowerOf(const TensorMap& tensors, const std::string& path);

}  // namespace weft
