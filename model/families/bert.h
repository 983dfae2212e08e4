// What BERT and the encoders that were made of it have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/families/decoder.h"

namespace weft {

// With positions from a table, and norms behind the sums.
ModelSpec ReadBert(Hyperparameters& h, std::string_view architecture, const HfSizeKeys& keys);

// The first rows of the table of positions are the padding's and those of the tokens before it.
void SetPositionsBehindPadding(Hyperparameters& h, int64_t padding, ModelSpec& spec);

// Of transformers' names those that begin with `base`, which checkpoints without a head have not.
DecoderTensors BertTensors(std::string_view base, std::string_view layers);

// What an encoder's head for masked tokens has but names: the activation of its layers, the norm of
// its embedding, and whether it is tied to that.
MaskedHead MaskedHeadLike(Hyperparameters& h, const ModelSpec& spec, MaskedHead names);

// Without what it was trained with, which is no part of embeddings.
ModelDescription WithoutHeads(ModelDescription description,
                              std::vector<std::string> unused_prefixes);

}  // namespace weft
