#include "model/kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/formats/dequantize.h"
#include "model/formats/mxfp4.h"
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
    case DataType::kMXFP4:
      return kPanelMXFP4;
    case DataType::kF32:
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kU8:
    case DataType::kI64:
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

// Eight consecutive elements' codes, a byte each: element i in bits 8i .. 8i + 7.
using EightCodes = uint64_t;
constexpr EightCodes kNibbles = 0x0f0f0f0f0f0f0f0f;
constexpr EightCodes kBitPairs = 0x0303030303030303;

// From each byte's lowest `kBits` bits (at most 4) the word of panel_layout.h: byte ByteOf(i) holds
// element i's bits, those of the second quad `kBits` higher.
template <int kBits>
uint32_t QuadWord(EightCodes codes) {
  const uint64_t pairs = codes | codes >> (16 - kBits);  // of elements i and i + 2 in byte i
  return static_cast<uint32_t>((pairs & 0xff) | (pairs >> 24 & 0xff00) | (pairs << 8 & 0xff0000) |
                               (pairs >> 16 & 0xff000000));
}

void StoreWord(uint8_t* field, int64_t index, int64_t lane, uint32_t word) {
  std::memcpy(field + (index * kPanelRows + lane) * 4, &word, 4);
}

// Group `group` (0 .. 7) of a Q4_K or Q5_K super-block: 32 bytes hold the low nibbles of an even
// group and the high nibbles of the odd one after it. Likewise a block of 32 elements, as two
// groups of 16: 16 bytes hold the low nibbles of one half and the high nibbles of the other.
EightCodes LoadNibbles(const uint8_t* bytes, bool high) {
  return Load<uint64_t>(bytes) >> (high ? 4 : 0) & kNibbles;
}

// The fifth bits of 32 elements, bit k of `bits`, in the order of panel_layout.h.
uint32_t FifthBitsWord(uint32_t bits) {
  // Of eight elements, all in quads 0 and 1.
  static constexpr auto kSpread = [] {
    std::array<uint32_t, 256> table = {};
    for (uint32_t byte = 0; byte < table.size(); ++byte) {
      for (int k = 0; k < 8; ++k) {
        table[byte] |= (byte >> k & 1) << (8 * ByteOf(k) + QuadOf(k));
      }
    }
    return table;
  }();
  return kSpread[bits & 255] | kSpread[bits >> 8 & 255] << 2 | kSpread[bits >> 16 & 255] << 4 |
         kSpread[bits >> 24] << 6;
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

// Packs one lane of one group of the types whose block is 32 elements.
void PackSmallBlock(DataType type, const uint8_t* block, int64_t lane, const GroupFields& fields,
                    uint8_t* packed) {
  const PanelLayout& layout = LayoutOf(type);
  const int64_t scale_bytes = type == DataType::kMXFP4 ? 1 : 2;
  StoreLane(packed + fields.scale, lane, block, scale_bytes);
  if (layout.minimum > 0) StoreLane(packed + fields.minimum, lane, block + 2, 2);
  const uint8_t* data = block + (layout.minimum > 0 ? 4 : scale_bytes);
  if (type == DataType::kQ8_0) {
    for (int64_t k = 0; k < kGroupColumns; ++k) {
      packed[fields.codes + (QuadOf(k) * kPanelRows + lane) * 4 + ByteOf(k)] = data[k];
    }
    return;
  }
  if (layout.high > 0) {
    StoreWord(packed + fields.high, 0, lane, FifthBitsWord(Load<uint32_t>(data)));
    data += 4;
  }
  for (int64_t z = 0; z < 4; ++z) {
    const EightCodes codes = LoadNibbles(data + z % 2 * 8, z >= 2);
    StoreWord(packed + fields.codes, z, lane, QuadWord<4>(codes));
  }
}

// The fifth bits of group `group` of a Q5_K super-block: bit `group` of each of 32 bytes.
uint32_t SuperBlockFifthBits(const uint8_t* high, int64_t group) {
  uint32_t bits = 0;
  for (int64_t i = 0; i < 4; ++i) {
    // Multiplying gathers the lowest bits of eight bytes in the highest byte, in order.
    const uint64_t lowest = Load<uint64_t>(high + 8 * i) >> group & 0x0101010101010101;
    bits |= static_cast<uint32_t>(lowest * 0x0102040810204080 >> 56) << (8 * i);
  }
  return bits;
}

// Packs one lane of group `group` (0 .. 7) of a Q4_K or Q5_K super-block.
void PackSuperBlockGroup(DataType type, const uint8_t* block, int64_t group, int64_t lane,
                         const GroupFields& fields, uint8_t* packed) {
  const uint8_t* data = block + 16;
  if (type == DataType::kQ5_K) {
    StoreWord(packed + fields.high, 0, lane, FifthBitsWord(SuperBlockFifthBits(data, group)));
    data += 32;
  }
  data += group / 2 * 32;
  for (int64_t z = 0; z < 4; ++z) {
    const EightCodes codes = LoadNibbles(data + 8 * z, group % 2 == 1);
    StoreWord(packed + fields.codes, z, lane, QuadWord<4>(codes));
  }
  const auto [scale, minimum] = SuperBlockScale(block + 4, group);
  packed[fields.scale + lane] = scale;
  packed[fields.minimum + lane] = minimum;
  StoreLane(packed + fields.trailer, lane, block, 2);
  StoreLane(packed + fields.trailer + 32, lane, block + 2, 2);
}

// Packs one lane of group `group` (0 .. 7) of a Q6_K super-block: 128 bytes of low nibbles, 64 of
// high bit pairs, 16 scales, d.
void PackSixBitGroup(const uint8_t* block, int64_t group, int64_t lane, const GroupFields& fields,
                     uint8_t* packed) {
  const int64_t half = group / 4;
  const int64_t quarter = group % 4;
  const uint8_t* low = block + 64 * half + 32 * (quarter % 2);
  const uint8_t* high = block + 128 + 32 * half;
  uint32_t high_words[2] = {};
  for (int64_t z = 0; z < 4; ++z) {
    const EightCodes nibbles = LoadNibbles(low + 8 * z, quarter >= 2);
    StoreWord(packed + fields.codes, z, lane, QuadWord<4>(nibbles));
    const EightCodes pairs = Load<uint64_t>(high + 8 * z) >> (2 * quarter) & kBitPairs;
    high_words[z / 2] |= QuadWord<2>(pairs) << (z % 2 * 4);
  }
  StoreWord(packed + fields.high, 0, lane, high_words[0]);
  StoreWord(packed + fields.high, 1, lane, high_words[1]);
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
      : type_(type), panel_(panel), fields_(fields), lane_(lane) {
    if (type == DataType::kBF16) return;
    scale_ = ReadScale();
    if (has_minimum()) minimum_ = ReadMinimum();
  }

  // ggml's expressions, in its order.
  float Value(int64_t k) const {
    if (type_ == DataType::kBF16) {
      return BFloat16ToFloat(
          Load<uint16_t>(panel_ + fields_.codes + ((k / 2 * 16 + lane_) * 2 + k % 2) * 2));
    }
    const auto code = static_cast<float>(Code(k));
    if (type_ == DataType::kQ6_K) return scale_ * static_cast<float>(HalfScale(k / 16)) * code;
    const float value = code * scale_;
    return has_minimum() ? value + minimum_ : value;
  }

  Int8Weights Integers() const {
    Int8Weights weights = {};
    for (int64_t k = 0; k < kGroupColumns; ++k) weights.codes[k] = Code(k);
    const bool halves = type_ == DataType::kQ6_K;
    for (int64_t half = 0; half < 2; ++half)
      weights.half_scale[half] = halves ? HalfScale(half) : 1;
    weights.scale = scale_;
    weights.has_minimum = has_minimum();
    weights.minimum = minimum_;
    return weights;
  }

 private:
  bool has_minimum() const { return LayoutOf(type_).minimum > 0; }
  bool has_super_block() const { return LayoutOf(type_).trailer > 0; }

  float Half(int64_t field) const {
    return HalfToFloat(Load<uint16_t>(panel_ + field + 2 * lane_));
  }
  float ReadScale() const {
    if (type_ == DataType::kMXFP4) return HalfScaleMXFP4(panel_[fields_.scale + lane_]);
    if (!has_super_block()) return Half(fields_.scale);
    const float d = Half(fields_.trailer);
    return has_minimum() ? d * static_cast<float>(panel_[fields_.scale + lane_]) : d;
  }
  float ReadMinimum() const {
    if (!has_super_block()) return Half(fields_.minimum);
    return -(Half(fields_.trailer + 32) * static_cast<float>(panel_[fields_.minimum + lane_]));
  }
  // Q6_K's scale of k < 16 (0) or k >= 16 (1).
  int32_t HalfScale(int64_t half) const {
    return static_cast<int8_t>(panel_[fields_.scale + half * 16 + lane_]);
  }

  // Minus the zero point.
  int32_t Code(int64_t k) const {
    const int64_t quad = QuadOf(k);
    const int64_t byte = ByteOf(k);
    if (type_ == DataType::kQ8_0) {
      return static_cast<int8_t>(panel_[fields_.codes + (quad * kPanelRows + lane_) * 4 + byte]);
    }
    const uint32_t nibble = Word(fields_.codes, quad / 2) >> (8 * byte + quad % 2 * 4) & 15;
    const auto code = static_cast<int32_t>(nibble);
    switch (type_) {
      case DataType::kQ4_0:
        return code - 8;
      case DataType::kMXFP4:
        return kCodesMXFP4[nibble];
      case DataType::kQ5_0:
        return (code | FifthBit(quad, byte)) - 16;
      case DataType::kQ5_1:
      case DataType::kQ5_K:
        return code | FifthBit(quad, byte);
      case DataType::kQ6_K: {
        const uint32_t pair = Word(fields_.high, quad / 4) >> (8 * byte + quad % 4 * 2) & 3;
        return (code | static_cast<int32_t>(pair << 4)) - 32;
      }
      default:
        return code;
    }
  }
  int32_t FifthBit(int64_t quad, int64_t byte) const {
    return static_cast<int32_t>((Word(fields_.high, 0) >> (8 * byte + quad) & 1) << 4);
  }
  // Word `index` of a field of words.
  uint32_t Word(int64_t field, int64_t index) const {
    return Load<uint32_t>(panel_ + field + (index * kPanelRows + lane_) * 4);
  }

  DataType type_;
  const uint8_t* panel_;
  GroupFields fields_;
  int64_t lane_;
  float scale_ = 0;
  float minimum_ = 0;
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

Int8Weights UnpackInt8(DataType layout, const std::byte* panel, int64_t lane, int64_t group,
                       int64_t group_count) {
  const GroupFields fields = FieldsOf(LayoutOf(layout), group, group_count);
  return LaneReader(layout, reinterpret_cast<const uint8_t*>(panel), fields, lane).Integers();
}

void UnpackRowBF16(const PackedMatrix& weights, int64_t row, float* out) {
  UnpackLaneBF16(weights.layout, weights.panel(row / kPanelRows), row % kPanelRows, weights.columns,
                 out);
}

}  // namespace weft
