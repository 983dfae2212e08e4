// The formats of all data types, each defined in a file of this folder.
#pragma once

#include "model/formats/block_format.h"

namespace weft::blocks {

#define WEFT_DECLARE_FORMAT(name) extern const BlockFormat k##name;
WEFT_DATA_TYPES(WEFT_DECLARE_FORMAT)
#undef WEFT_DECLARE_FORMAT

}  // namespace weft::blocks
