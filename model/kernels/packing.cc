#include "model/kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/formats/block_format.h"
#include "model/formats/dequantize.h"
#include "model/kernels/panel_layout.h"

namespace weft {
namespace {

int64_t GroupCount(int64_t columns) { return CeilDivide(columns, kGroupColumns); }

constexpr int64_t kHalfBytes = 2;  // of an f16 or a bf16

// --- packing ---

// From bytes with `kBits` bits (at most 4) at every second place of as many, a word of a plane:
// byte ByteOf(i) holds element i's bits, those of a second quad `kBits` higher.
template <int kBits>
uint32_t QuadPairs(EightCodes codes) {
  const uint64_t pairs = codes | codes >> (16 - kBits);  // of elements i and i + 2 in byte i
  return static_cast<uint32_t>((pairs & 0xff) | (pairs >> 24 & 0xff00) | (pairs << 8 & 0xff0000) |
                               (pairs >> 16 & 0xff000000));
}

void StoreWord(uint8_t* field, int64_t index, int64_t lane, uint32_t word) {
  std::memcpy(field + (index * kPanelRows + lane) * 4, &word, 4);
}

// One lane of a plane of the bits from `kFirstBit` of every code.
template <int kBits, int kFirstBit>
void PackPlane(const EightCodes* codes, int64_t lane, uint8_t* plane) {
  if constexpr (kBits == 8) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(codes);
    for (int64_t k = 0; k < kGroupColumns; ++k) {
      plane[(QuadOf(k) * kPanelRows + lane) * 4 + ByteOf(k)] = bytes[k];
    }
  } else {
    constexpr int64_t kPairs = 4 / kBits;  // of quads in a word
    constexpr EightCodes kMask = 0x0101010101010101 * ((1 << kBits) - 1);
    for (int64_t index = 0; index < kBits; ++index) {
      EightCodes together = 0;
      for (int64_t i = 0; i < kPairs; ++i) {
        together |= (codes[index * kPairs + i] >> kFirstBit & kMask) << (2 * kBits * i);
      }
      StoreWord(plane, index, lane, QuadPairs<kBits>(together));
    }
  }
}

template <PanelFormat kFormat>
void PackGroup(const WeightGroup& group, int64_t lane, const GroupFields& fields, uint8_t* packed) {
  constexpr const PanelTraits& kTraits = TraitsOf(kFormat);
  constexpr PanelLayout kLayout = LayoutOf(kFormat);
  constexpr int kLowBits = LowBitsOf(kTraits);
  constexpr int kHighBits = kTraits.code_bits - kLowBits;
  PackPlane<kLowBits, 0>(group.codes, lane, packed + fields.codes);
  if constexpr (kHighBits > 0) {
    PackPlane<kHighBits, kLowBits>(group.codes, lane, packed + fields.high);
  }
  uint8_t* const scale = packed + fields.scale;
  constexpr int64_t kParts = HasHalves(kTraits) ? 2 : 1;
  constexpr int64_t kBytes = kLayout.scale / kPanelRows / kParts;
  for (int64_t part = 0; part < kParts; ++part) {
    std::memcpy(scale + kBytes * (kPanelRows * part + lane), group.scale + kBytes * part, kBytes);
  }
  uint8_t* const minimum = packed + fields.minimum;
  constexpr int64_t kMinimumBytes = kLayout.minimum / kPanelRows;
  std::memcpy(minimum + kMinimumBytes * lane, group.minimum, kMinimumBytes);
  if constexpr (HasSuperBlock(kTraits)) {
    uint8_t* const trailer = packed + fields.trailer;
    std::memcpy(trailer + kHalfBytes * lane, &group.d, kHalfBytes);
    if constexpr (kTraits.minimum != PanelMinimum::kNone) {
      std::memcpy(trailer + kHalfBytes * (kPanelRows + lane), &group.d_minimum, kHalfBytes);
    }
  }
}

template <PanelFormat kFormat>
void PackQuantizedRow(const BlockFormat& format, const std::byte* row, int64_t columns,
                      int64_t lane, uint8_t* packed) {
  const int64_t block_groups = format.traits.block_elements / kGroupColumns;
  const int64_t group_count = GroupCount(columns);
  for (int64_t first = 0; first < group_count; first += kBlockGroups) {
    WeightGroup groups[kBlockGroups];
    const int64_t count = std::min(kBlockGroups, group_count - first);
    const int64_t blocks = count / block_groups;
    format.read_blocks(row, blocks, groups);
    row += blocks * format.traits.block_bytes;
    for (int64_t i = 0; i < count; ++i) {
      const GroupFields fields = FieldsOf(LayoutOf(kFormat), first + i, group_count);
      PackGroup<kFormat>(groups[i], lane, fields, packed);
    }
  }
}

// Where a weight of 16 bits lies in a panel, in weights.
template <PanelFormat kFormat>
int64_t PlaceOf(int64_t k, int64_t lane) {
  if constexpr (kFormat == PanelFormat::kF16) return k * kPanelRows + lane;
  return (k / 2 * kPanelRows + lane) * 2 + k % 2;
}

void PackRowF16(const std::byte* row, int64_t columns, int64_t lane, uint8_t* packed) {
  for (int64_t k = 0; k < columns; ++k) {
    std::memcpy(packed + PlaceOf<PanelFormat::kF16>(k, lane) * kHalfBytes, row + k * kHalfBytes,
                kHalfBytes);
  }
}

void PackRowBF16(DataType type, const std::byte* row, int64_t columns, int64_t lane,
                 uint8_t* packed) {
  std::array<float, kGroupColumns> values;
  const int64_t element_bytes = TraitsOf(type).block_bytes;
  for (int64_t first = 0; first < columns; first += kGroupColumns) {
    const int64_t count = std::min(kGroupColumns, columns - first);
    DequantizeRow(type, row + first * element_bytes, count, values.data());
    for (int64_t k = 0; k < count; ++k) {
      const uint16_t bits = FloatToBFloat16(values[static_cast<size_t>(k)]);
      const int64_t place = PlaceOf<PanelFormat::kBF16>(first + k, lane);
      std::memcpy(packed + place * kHalfBytes, &bits, kHalfBytes);
    }
  }
}

// --- unpacking ---

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Puts one lane of a plane into the bits from `first_bit` of every code.
template <int kBits>
void UnpackPlane(const uint8_t* plane, int64_t lane, int first_bit, EightCodes* codes) {
  constexpr int kQuads = 8 / kBits;  // of a word
  for (int64_t k = 0; k < kGroupColumns; ++k) {
    const auto word = Load<uint32_t>(plane + (QuadOf(k) / kQuads * kPanelRows + lane) * 4);
    const EightCodes bits =
        word >> (8 * ByteOf(k) + QuadOf(k) % kQuads * kBits) & ((1U << kBits) - 1);
    codes[k / 8] |= bits << (k % 8 * 8 + first_bit);
  }
}

template <PanelFormat kFormat>
WeightGroup UnpackGroup(const uint8_t* panel, int64_t lane, const GroupFields& fields) {
  constexpr const PanelTraits& kTraits = TraitsOf(kFormat);
  constexpr PanelLayout kLayout = LayoutOf(kFormat);
  constexpr int kLowBits = LowBitsOf(kTraits);
  constexpr int kHighBits = kTraits.code_bits - kLowBits;
  WeightGroup weights = {};
  UnpackPlane<kLowBits>(panel + fields.codes, lane, 0, weights.codes);
  if constexpr (kHighBits > 0) {
    UnpackPlane<kHighBits>(panel + fields.high, lane, kLowBits, weights.codes);
  }
  const uint8_t* const scale = panel + fields.scale;
  constexpr int64_t kParts = HasHalves(kTraits) ? 2 : 1;
  constexpr int64_t kBytes = kLayout.scale / kPanelRows / kParts;
  for (int64_t part = 0; part < kParts; ++part) {
    std::memcpy(weights.scale + kBytes * part, scale + kBytes * (kPanelRows * part + lane), kBytes);
  }
  const uint8_t* const minimum = panel + fields.minimum;
  constexpr int64_t kMinimumBytes = kLayout.minimum / kPanelRows;
  std::memcpy(weights.minimum, minimum + kMinimumBytes * lane, kMinimumBytes);
  if constexpr (HasSuperBlock(kTraits)) {
    const uint8_t* const trailer = panel + fields.trailer;
    weights.d = Load<uint16_t>(trailer + kHalfBytes * lane);
    weights.d_minimum = Load<uint16_t>(trailer + kHalfBytes * (kPanelRows + lane));
  }
  return weights;
}

}  // namespace

PanelFormat PackedLayoutBF16(DataType file_type) { return FormatOf(file_type).panel; }

int64_t PanelBytesBF16(PanelFormat layout, int64_t columns) {
  return PanelBytes(LayoutOf(layout), GroupCount(columns));
}

void CheckPanelRows(const TensorView& rows, int64_t first_panel, const PackedMatrix& packed) {
  const int64_t end = first_panel * kPanelRows + rows.rows();
  WEFT_CHECK(rows.rank == 2 && rows.columns() == packed.columns);
  WEFT_CHECK(first_panel >= 0 && end <= packed.rows);
  WEFT_CHECK(end == packed.rows || end % kPanelRows == 0);
}

void PackPanelsBF16(const TensorView& rows, int64_t first_panel, PackedMatrix& packed) {
  CheckPanelRows(rows, first_panel, packed);
  WEFT_CHECK(packed.layout == PackedLayoutBF16(rows.type));
  for (int64_t row = 0; row < rows.rows(); ++row) {
    std::byte* const panel =
        packed.storage.data() + (first_panel + row / kPanelRows) * packed.panel_bytes;
    const int64_t lane = row % kPanelRows;
    if (lane == 0) std::memset(panel, 0, static_cast<size_t>(packed.panel_bytes));
    const std::byte* const data = rows.data + row * rows.strides_bytes[0];
    auto* const out = reinterpret_cast<uint8_t*>(panel);
    if (IsQuantized(packed.layout)) {
      VisitQuantizedPanel(packed.layout, [&]<PanelFormat kFormat>() {
        PackQuantizedRow<kFormat>(FormatOf(rows.type), data, packed.columns, lane, out);
      });
    } else if (packed.layout == PanelFormat::kF16) {
      PackRowF16(data, packed.columns, lane, out);
    } else {
      PackRowBF16(rows.type, data, packed.columns, lane, out);
    }
  }
}

WeightGroup UnpackGroup(PanelFormat layout, const std::byte* panel, int64_t lane, int64_t group,
                        int64_t group_count) {
  const GroupFields fields = FieldsOf(LayoutOf(layout), group, group_count);
  WeightGroup weights;
  VisitQuantizedPanel(layout, [&]<PanelFormat kFormat>() {
    weights = UnpackGroup<kFormat>(reinterpret_cast<const uint8_t*>(panel), lane, fields);
  });
  return weights;
}

void UnpackLaneBF16(PanelFormat layout, const std::byte* panel, int64_t lane, int64_t columns,
                    float* out) {
  const auto* const halves = reinterpret_cast<const uint8_t*>(panel);
  if (layout == PanelFormat::kF16) {
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t place = PlaceOf<PanelFormat::kF16>(k, lane);
      out[k] = HalfToFloat(Load<uint16_t>(halves + place * kHalfBytes));
    }
    return;
  }
  if (!IsQuantized(layout)) {
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t place = PlaceOf<PanelFormat::kBF16>(k, lane);
      out[k] = BFloat16ToFloat(Load<uint16_t>(halves + place * kHalfBytes));
    }
    return;
  }
  const int64_t group_count = GroupCount(columns);
  for (int64_t first = 0; first < columns; first += kGroupColumns) {
    const int64_t count = std::min(kGroupColumns, columns - first);
    float values[kGroupColumns];
    ValuesOf(layout, UnpackGroup(layout, panel, lane, first / kGroupColumns, group_count), values);
    for (int64_t k = 0; k < count; ++k) {
      out[first + k] = BFloat16ToFloat(FloatToBFloat16(values[k]));
    }
  }
}

void UnpackRowBF16(const PackedMatrix& weights, int64_t row, float* out) {
  UnpackLaneBF16(weights.layout, weights.panel(row / kPanelRows), row % kPanelRows, weights.columns,
                 out);
}

}  // namespace weft
