#include "model/kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/formats/dequantize.h"
#include "model/kernels/panel_layout.h"

namespace weft {
namespace {

const PanelLayout& LayoutOf(DataType layout) {
  switch (layout) {
    case DataType::kQ8_0:
      return kPanelQ8_0;
    case DataType::kQ4_0:
      return kPanelQ4_0;
    case DataType::kQ4_1:
      return kPanelQ4_1;
    case DataType::kQ5_0:
      return kPanelQ5_0;
    case DataType::kQ5_1:
      return kPanelQ5_1;
    case DataType::kQ4_K:
      return kPanelQ4_K;
    case DataType::kQ5_K:
      return kPanelQ5_K;
    case DataType::kQ6_K:
      return kPanelQ6_K;
    case DataType::kF32:
    case DataType::kF16:
    case DataType::kBF16:
      break;
  }
  return kPanelBF16;
}

int64_t GroupCount(int64_t columns) { return CeilDivide(columns, kGroupColumns); }

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Copies `count` bytes of one lane's field into the field of all lanes.
void StoreLane(uint8_t* field, int64_t lane, const uint8_t* value, int64_t size_bytes) {
  std::memcpy(field + lane * size_bytes, value, static_cast<size_t>(size_bytes));
}

// --- packing ---

// The codes of 32 consecutive elements, each in its own byte, as the file has them (unsigned up to
// 6 bits).
using Codes = std::array<uint8_t, kGroupColumns>;

// Two nibbles a byte: low ones are elements 0 .. 15, high ones 16 .. 31.
void NibbleCodes(const uint8_t* bytes, Codes& codes) {
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + 16] = bytes[i] >> 4;
  }
}

void AddHighBits(uint32_t bits, Codes& codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(codes[i] | ((bits >> i & 1) << 4));
  }
}

// Group `group` (0 .. 7) of a Q4_K or Q5_K super-block: 32 bytes hold the low nibbles of an even
// group and the high nibbles of the odd one after it.
void SuperBlockNibbles(const uint8_t* bytes, int64_t group, Codes& codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    const uint8_t byte = bytes[static_cast<size_t>(group / 2 * 32) + i];
    codes[i] = group % 2 == 0 ? byte & 15 : byte >> 4;
  }
}

// ggml's 6-bit scales and minimums: eight of each in 12 bytes.
struct ScaleAndMinimum {
  uint8_t scale;
  uint8_t minimum;
};
ScaleAndMinimum SuperBlockScale(const uint8_t* packed, int64_t group) {
  if (group < 4) {
    return {static_cast<uint8_t>(packed[group] & 63), static_cast<uint8_t>(packed[group + 4] & 63)};
  }
  return {static_cast<uint8_t>((packed[group + 4] & 15) | (packed[group - 4] >> 6 << 4)),
          static_cast<uint8_t>((packed[group + 4] >> 4) | (packed[group] >> 6 << 4))};
}

// Group `group` of a Q6_K super-block.
void SixBitCodes(const uint8_t* block, int64_t group, Codes& codes) {
  const int64_t half = group / 4;
  const int64_t quarter = group % 4;
  const uint8_t* low = block + 64 * half + 32 * (quarter % 2);
  const uint8_t* high = block + 128 + 32 * half;
  for (size_t i = 0; i < codes.size(); ++i) {
    const int nibble = quarter < 2 ? low[i] & 15 : low[i] >> 4;
    codes[i] = static_cast<uint8_t>(nibble | (high[i] >> (2 * quarter) & 3) << 4);
  }
}

// Puts the lowest 4 bits of the codes of one lane where panel_layout.h says.
void ScatterNibbles(const Codes& codes, int64_t lane, uint8_t* field) {
  for (size_t z = 0; z < 4; ++z) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) {
      word |= static_cast<uint32_t>(codes[8 * z + 2 * i] & 15) << (4 * i);
      word |= static_cast<uint32_t>(codes[8 * z + 2 * i + 1] & 15) << (16 + 4 * i);
    }
    std::memcpy(field + (16 * z + static_cast<size_t>(lane)) * 4, &word, 4);
  }
}

void ScatterFifthBits(const Codes& codes, int64_t lane, uint8_t* field) {
  uint32_t word = 0;
  for (size_t p = 0; p < 16; ++p) {
    word |= static_cast<uint32_t>(codes[2 * p] >> 4 & 1) << p;
    word |= static_cast<uint32_t>(codes[2 * p + 1] >> 4 & 1) << (16 + p);
  }
  std::memcpy(field + lane * 4, &word, 4);
}

void ScatterTopBitPairs(const Codes& codes, int64_t lane, uint8_t* field) {
  for (size_t y = 0; y < 2; ++y) {
    uint32_t word = 0;
    for (size_t i = 0; i < 8; ++i) {
      word |= static_cast<uint32_t>(codes[16 * y + 2 * i] >> 4 & 3) << (2 * i);
      word |= static_cast<uint32_t>(codes[16 * y + 2 * i + 1] >> 4 & 3) << (16 + 2 * i);
    }
    std::memcpy(field + (16 * y + static_cast<size_t>(lane)) * 4, &word, 4);
  }
}

// Packs one lane of one group of the types whose block is 32 elements.
void PackSmallBlock(DataType type, const uint8_t* block, int64_t lane, const GroupFields& fields,
                    uint8_t* packed) {
  const PanelLayout& layout = LayoutOf(type);
  StoreLane(packed + fields.scale, lane, block, 2);
  if (layout.minimum > 0) StoreLane(packed + fields.minimum, lane, block + 2, 2);
  const uint8_t* data = block + (layout.minimum > 0 ? 4 : 2);
  if (type == DataType::kQ8_0) {
    for (int64_t k = 0; k < kGroupColumns; ++k) packed[fields.codes + 16 * k + lane] = data[k];
    return;
  }
  Codes codes;
  if (layout.high > 0) {
    NibbleCodes(data + 4, codes);
    AddHighBits(Load<uint32_t>(data), codes);
    ScatterFifthBits(codes, lane, packed + fields.high);
  } else {
    NibbleCodes(data, codes);
  }
  ScatterNibbles(codes, lane, packed + fields.codes);
}

// Packs one lane of group `group` (0 .. 7) of a Q4_K or Q5_K super-block.
void PackSuperBlockGroup(DataType type, const uint8_t* block, int64_t group, int64_t lane,
                         const GroupFields& fields, uint8_t* packed) {
  const uint8_t* high = block + 16;
  const uint8_t* nibbles = type == DataType::kQ5_K ? high + 32 : high;
  Codes codes;
  SuperBlockNibbles(nibbles, group, codes);
  ScatterNibbles(codes, lane, packed + fields.codes);
  if (type == DataType::kQ5_K) {
    uint32_t bits = 0;
    for (int i = 0; i < 32; ++i) bits |= static_cast<uint32_t>(high[i] >> group & 1) << i;
    AddHighBits(bits, codes);
    ScatterFifthBits(codes, lane, packed + fields.high);
  }
  const auto [scale, minimum] = SuperBlockScale(block + 4, group);
  packed[fields.scale + lane] = scale;
  packed[fields.minimum + lane] = minimum;
  StoreLane(packed + fields.trailer, lane, block, 2);
  StoreLane(packed + fields.trailer + 32, lane, block + 2, 2);
}

void PackSixBitGroup(const uint8_t* block, int64_t group, int64_t lane, const GroupFields& fields,
                     uint8_t* packed) {
  Codes codes;
  SixBitCodes(block, group, codes);
  ScatterNibbles(codes, lane, packed + fields.codes);
  ScatterTopBitPairs(codes, lane, packed + fields.high);
  packed[fields.scale + lane] = block[192 + 2 * group];
  packed[fields.scale + 16 + lane] = block[192 + 2 * group + 1];
  StoreLane(packed + fields.trailer, lane, block + 208, 2);
}

void PackQuantizedRow(DataType type, const uint8_t* row, int64_t columns, int64_t lane,
                      uint8_t* packed) {
  const int64_t file_block_groups = TraitsOf(type).block_elements / kGroupColumns;
  const int64_t file_block_bytes = TraitsOf(type).block_bytes;
  for (int64_t group = 0; group < GroupCount(columns); ++group) {
    const uint8_t* block = row + group / file_block_groups * file_block_bytes;
    const int64_t in_block = group % file_block_groups;
    const GroupFields fields = FieldsOf(LayoutOf(type), group, GroupCount(columns));
    if (file_block_groups == 1) {
      PackSmallBlock(type, block, lane, fields, packed);
    } else if (type == DataType::kQ6_K) {
      PackSixBitGroup(block, in_block, lane, fields, packed);
    } else {
      PackSuperBlockGroup(type, block, in_block, lane, fields, packed);
    }
  }
}

void PackPlainRow(DataType type, const std::byte* row, int64_t columns, int64_t lane,
                  uint8_t* packed) {
  std::array<float, kGroupColumns> values;
  const int64_t element_bytes = TraitsOf(type).block_bytes;
  for (int64_t first = 0; first < columns; first += kGroupColumns) {
    const int64_t count = std::min(kGroupColumns, columns - first);
    DequantizeRow(type, row + first * element_bytes, count, values.data());
    for (int64_t k = 0; k < count; ++k) {
      const uint16_t bits = FloatToBFloat16(values[static_cast<size_t>(k)]);
      // k = 2 * pair + half within the group
      const int64_t element = first * kPanelRows + (k / 2 * kPanelRows + lane) * 2 + k % 2;
      std::memcpy(packed + element * 2, &bits, 2);
    }
  }
}

// --- unpacking ---

// One lane of one group, its codes and the scales that turn them into values.
class LaneReader {
 public:
  LaneReader(DataType type, const uint8_t* panel, const GroupFields& fields, int64_t lane)
      : type_(type),
        high_bytes_(LayoutOf(type).high),
        panel_(panel),
        fields_(fields),
        lane_(lane) {}

  // ggml's expressions, in its order.
  float Value(int64_t k) const {
    switch (type_) {
      case DataType::kQ8_0:
        return static_cast<float>(static_cast<int8_t>(panel_[fields_.codes + 16 * k + lane_])) *
               Half(fields_.scale);
      case DataType::kQ4_0:
        return static_cast<float>(Code(k) - 8) * Half(fields_.scale);
      case DataType::kQ5_0:
        return static_cast<float>(Code(k) - 16) * Half(fields_.scale);
      case DataType::kQ4_1:
      case DataType::kQ5_1:
        return static_cast<float>(Code(k)) * Half(fields_.scale) + Half(fields_.minimum);
      case DataType::kQ4_K:
      case DataType::kQ5_K: {
        const float scale =
            Half(fields_.trailer) * static_cast<float>(panel_[fields_.scale + lane_]);
        const float minimum =
            Half(fields_.trailer + 32) * static_cast<float>(panel_[fields_.minimum + lane_]);
        return scale * static_cast<float>(Code(k)) - minimum;
      }
      case DataType::kQ6_K: {
        const auto scale = static_cast<int8_t>(panel_[fields_.scale + k / 16 * 16 + lane_]);
        return Half(fields_.trailer) * static_cast<float>(scale) * static_cast<float>(Code(k) - 32);
      }
      default:
        return BFloat16ToFloat(
            Load<uint16_t>(panel_ + fields_.codes + ((k / 2 * 16 + lane_) * 2 + k % 2) * 2));
    }
  }

 private:
  float Half(int64_t field) const {
    return HalfToFloat(Load<uint16_t>(panel_ + field + 2 * lane_));
  }
  // Dword `index` of a field of dwords.
  uint32_t Dword(int64_t field, int64_t index) const {
    return Load<uint32_t>(panel_ + field + (index * 16 + lane_) * 4);
  }

  int Code(int64_t k) const {
    const int64_t pair = k / 2;
    const int64_t half_shift = k % 2 * 16;
    int code = static_cast<int>(Dword(fields_.codes, pair / 4) >> (half_shift + pair % 4 * 4) & 15);
    if (high_bytes_ == 64) {
      code |= static_cast<int>(Dword(fields_.high, 0) >> (half_shift + pair) & 1) << 4;
    } else if (high_bytes_ == 128) {
      code |= static_cast<int>(Dword(fields_.high, pair / 8) >> (half_shift + pair % 8 * 2) & 3)
              << 4;
    }
    return code;
  }

  DataType type_;
  int64_t high_bytes_;
  const uint8_t* panel_;
  GroupFields fields_;
  int64_t lane_;
};

}  // namespace

DataType PackedLayoutBF16(DataType file_type) {
  return IsQuantized(file_type) ? file_type : DataType::kBF16;
}

int64_t PanelBytesBF16(DataType layout, int64_t columns) {
  return PanelBytes(LayoutOf(layout), GroupCount(columns));
}

void PackPanelsBF16(const TensorView& source, int64_t first_panel, int64_t panel_count,
                    PackedMatrix& packed) {
  WEFT_CHECK(source.rank == 2 && source.rows() == packed.rows &&
             source.columns() == packed.columns);
  WEFT_CHECK(packed.layout == PackedLayoutBF16(source.type));
  for (int64_t panel = first_panel; panel < first_panel + panel_count; ++panel) {
    std::byte* out = packed.storage.data() + panel * packed.panel_bytes;
    std::memset(out, 0, static_cast<size_t>(packed.panel_bytes));
    const int64_t first_row = panel * kPanelRows;
    const int64_t lanes = std::min(kPanelRows, packed.rows - first_row);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const std::byte* row = source.data + (first_row + lane) * source.strides_bytes[0];
      auto* out_bytes = reinterpret_cast<uint8_t*>(out);
      if (IsQuantized(source.type)) {
        PackQuantizedRow(source.type, reinterpret_cast<const uint8_t*>(row), packed.columns, lane,
                         out_bytes);
      } else {
        PackPlainRow(source.type, row, packed.columns, lane, out_bytes);
      }
    }
  }
}

void UnpackLaneBF16(DataType layout, const std::byte* panel, int64_t lane, int64_t columns,
                    float* out) {
  for (int64_t first = 0; first < columns; first += kGroupColumns) {
    const GroupFields fields =
        FieldsOf(LayoutOf(layout), first / kGroupColumns, GroupCount(columns));
    const LaneReader reader(layout, reinterpret_cast<const uint8_t*>(panel), fields, lane);
    for (int64_t k = 0; k < std::min(kGroupColumns, columns - first); ++k) {
      out[first + k] = BFloat16ToFloat(FloatToBFloat16(reader.Value(k)));
    }
  }
}

void UnpackRowBF16(const PackedMatrix& weights, int64_t row, float* out) {
  UnpackLaneBF16(weights.layout, weights.panel(row / kPanelRows), row % kPanelRows, weights.columns,
                 out);
}

}  // namespace weft
