#include "model/formats/dequantize.h"

#include "base/check.h"
#include "model/formats/block_format.h"

namespace weft {

void DequantizeRow(DataType type, const std::byte* row, int64_t columns, float* out) {
  const BlockFormat& format = FormatOf(type);
  const int64_t block_elements = format.traits.block_elements;
  WEFT_CHECK(columns >= 0 && columns % block_elements == 0);
  if (format.read_elements != nullptr) return format.read_elements(row, columns, out);
  WEFT_CHECK(format.read_blocks != nullptr);  // nothing reads indices
  const int64_t block_groups = block_elements / kGroupColumns;
  for (int64_t column = 0; column < columns; row += format.traits.block_bytes) {
    WeightGroup groups[kMostBlockGroups];
    format.read_blocks(row, 1, groups);
    for (int64_t i = 0; i < block_groups; ++i, column += kGroupColumns) {
      ValuesOf(format.panel, groups[i], out + column);
    }
  }
}

}  // namespace weft
