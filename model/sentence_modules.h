// What sentence-transformers (https://arxiv.org/abs/1908.10084) keeps in a model's directory beside
// config.json: how hidden states become an embedding.
#pragma once

#include <string>

#include "base/result.h"
#include "model/families/families.h"
#include "model/formats/safetensors.h"

namespace weft {

// Reads modules.json and the folders that it names (where there is none, 1_Pooling), and adds what
// they say to the description: the pooling, and the dense layers behind it, whose tensors join
// `files` as "2_Dense/linear.weight"; or SPLADE's pooling, which needs the head for masked tokens;
// or the tokens whose logits rank. Without modules.json an encoder has that head where `files` have
// it. A module that Weft does not compute is refused by name, as is an order other than
// transformer, pooling, dense layers, normalisation.
Result<void> AddSentenceModules(const std::string& directory, ModelDescription& description,
                                SafetensorsFiles& files);

}  // namespace weft
