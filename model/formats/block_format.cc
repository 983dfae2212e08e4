#include "model/formats/block_format.h"

#include "model/formats/blocks/blocks.h"

namespace weft {

const BlockFormat& FormatOf(DataType type) {
  static constexpr const BlockFormat* kFormats[] = {
#define WEFT_FORMAT(name) &blocks::k##name,
      WEFT_DATA_TYPES(WEFT_FORMAT)
#undef WEFT_FORMAT
  };
  return *kFormats[static_cast<size_t>(type)];
}

bool HasIntegerCodes(DataType type) { return HasIntegerCodes(FormatOf(type).panel); }

const DataTypeTraits& TraitsOf(DataType type) { return FormatOf(type).traits; }

}  // namespace weft
