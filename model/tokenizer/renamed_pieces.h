// A piece model whose tokens go by other ids.
#pragma once

#include <memory>
#include <vector>

#include "model/tokenizer/piece_model.h"

namespace weft {

// `ids[i]` is what `model`'s token i is called; there is one for each that it can give.
std::unique_ptr<PieceModel> MakeRenamedModel(std::unique_ptr<const PieceModel> model,
                                             std::vector<TokenId> ids);

}  // namespace weft
