// Matrix product over packed panels, over the vectors of vector_*.h. Included inside an unnamed
// namespace of each instruction set's translation unit.
//
// A task walks its panels a few at a time; for each group of 32 k it unpacks their weights once, as
// float32 tiles [32 k][16 outputs], and uses them for all rows of a block. Sums wait in memory (L1)
// between groups.
#pragma once

// Panels unpacked together, rows that share them: tiles, operands and sums are 8 + 8 + 16 KiB.
constexpr int64_t kTilePanels = 4;
constexpr int64_t kTileRows = 64;
constexpr int64_t kTileFloats = kGroupColumns * kPanelRows;

// --- unpacking: one group of one panel into a tile ---

// A product or sum that is exact in, or rounded to, float32, rounded to bf16 (nearest even): adding
// and taking away 1.5 * 2^16 times its power of two leaves 8 significant bits. For weights: never
// denormal, never near overflow.
WEFT_VECTOR F RoundToBF16(F value) {
  const F power = AsFloat(And(AsInts(value), SetInt(static_cast<int32_t>(0xff800000))));
  const F shifted = Fma(power, Set(98304.0F), value);
  return Fma(power, Set(-98304.0F), shifted);
}

// The code of pair kPair, even (kHalf 0) or odd (1), of every lane, still unsigned. kHighBytes as
// in PanelLayout.
template <int64_t kHighBytes, int kPair, int kHalf>
WEFT_VECTOR I Code(I nibbles, const uint8_t* high) {
  constexpr int kShift = 16 * kHalf + kPair % 4 * 4;
  const I code = And(ShiftRight<kShift>(nibbles), SetInt(15));
  if constexpr (kHighBytes == 64) {
    constexpr int kFrom = 16 * kHalf + kPair;
    const I bits = LoadInts(high);
    const I moved = kFrom < 4 ? ShiftLeft<(kFrom < 4 ? 4 - kFrom : 0)>(bits)
                              : ShiftRight<(kFrom < 4 ? 0 : kFrom - 4)>(bits);
    return Or(code, And(moved, SetInt(16)));
  } else if constexpr (kHighBytes == 128) {
    constexpr int kFrom = 16 * kHalf + kPair % 8 * 2;
    const I bits = LoadInts(high + kPair / 8 * 64);
    const I moved = kFrom < 4 ? ShiftLeft<(kFrom < 4 ? 4 - kFrom : 0)>(bits)
                              : ShiftRight<(kFrom < 4 ? 0 : kFrom - 4)>(bits);
    return Or(code, And(moved, SetInt(48)));
  } else {
    return code;
  }
}

// weight = code * scale + offset, rounded; a scale and offset each for pairs 0-7 and 8-15.
template <int64_t kHighBytes, int kPair = 0>
WEFT_VECTOR void UnpackCodes(const uint8_t* codes, const uint8_t* high, const F (&scale)[2],
                             const F (&offset)[2], float* tile) {
  if constexpr (kPair < 16) {
    const I nibbles = LoadInts(codes + kPair / 4 * 64);
    const F s = scale[kPair / 8];
    const F o = offset[kPair / 8];
    const F even = Fma(ToFloat(Code<kHighBytes, kPair, 0>(nibbles, high)), s, o);
    const F odd = Fma(ToFloat(Code<kHighBytes, kPair, 1>(nibbles, high)), s, o);
    Store(tile + 32 * kPair, RoundToBF16(even));
    Store(tile + 32 * kPair + 16, RoundToBF16(odd));
    UnpackCodes<kHighBytes, kPair + 1>(codes, high, scale, offset, tile);
  }
}

// Unpack<type>(panel, group, group_count, tile): group `group` of a packed panel that has
// group_count.
template <DataType kType>
void Unpack(const uint8_t* panel, int64_t group, int64_t group_count, float* tile);

template <>
void Unpack<DataType::kBF16>(const uint8_t* panel, int64_t group, int64_t /*group_count*/,
                             float* tile) {
  const uint8_t* pairs = panel + group * kPanelBF16.codes;
  for (int64_t pair = 0; pair < 16; ++pair) {
    const I both = LoadInts(pairs + 64 * pair);
    Store(tile + 32 * pair, AsFloat(ShiftLeft<16>(both)));
    Store(tile + 32 * pair + 16, AsFloat(And(both, SetInt(static_cast<int32_t>(0xffff0000)))));
  }
}

template <>
void Unpack<DataType::kQ8_0>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  const GroupFields fields = FieldsOf(kPanelQ8_0, group, group_count);
  const uint8_t* codes = panel + fields.codes;
  const F scale = LoadHalf(panel + fields.scale);
  for (int64_t k = 0; k < kGroupColumns; ++k) {
    Store(tile + 16 * k, RoundToBF16(Multiply(ToFloat(LoadInt8(codes + 16 * k)), scale)));
  }
}

// Types whose codes stand for themselves minus `zero_point`: Q4_0, Q5_0. code * d - zero_point * d
// is exact.
template <const PanelLayout& kPanel>
WEFT_VECTOR void UnpackCentred(const uint8_t* panel, const GroupFields& fields, float zero_point,
                               float* tile) {
  const F scale = LoadHalf(panel + fields.scale);
  const F offset = Multiply(scale, Set(-zero_point));
  UnpackCodes<kPanel.high>(panel + fields.codes, panel + fields.high, {scale, scale},
                           {offset, offset}, tile);
}

template <>
void Unpack<DataType::kQ4_0>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  UnpackCentred<kPanelQ4_0>(panel, FieldsOf(kPanelQ4_0, group, group_count), 8, tile);
}
template <>
void Unpack<DataType::kQ5_0>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  UnpackCentred<kPanelQ5_0>(panel, FieldsOf(kPanelQ5_0, group, group_count), 16, tile);
}

// Q4_1, Q5_1: code * d is exact, adding the minimum rounds once.
template <const PanelLayout& kPanel>
WEFT_VECTOR void UnpackWithMinimum(const uint8_t* panel, const GroupFields& fields, float* tile) {
  const F scale = LoadHalf(panel + fields.scale);
  const F minimum = LoadHalf(panel + fields.minimum);
  UnpackCodes<kPanel.high>(panel + fields.codes, panel + fields.high, {scale, scale},
                           {minimum, minimum}, tile);
}

template <>
void Unpack<DataType::kQ4_1>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  UnpackWithMinimum<kPanelQ4_1>(panel, FieldsOf(kPanelQ4_1, group, group_count), tile);
}
template <>
void Unpack<DataType::kQ5_1>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  UnpackWithMinimum<kPanelQ5_1>(panel, FieldsOf(kPanelQ5_1, group, group_count), tile);
}

// Q4_K, Q5_K: (d * scale) * code - dmin * minimum; only the subtraction rounds.
template <const PanelLayout& kPanel>
WEFT_VECTOR void UnpackSuperBlock(const uint8_t* panel, const GroupFields& fields, float* tile) {
  const F d = LoadHalf(panel + fields.trailer);
  const F d_minimum = LoadHalf(panel + fields.trailer + 32);
  const F scale = Multiply(d, ToFloat(LoadUint8(panel + fields.scale)));
  const F minimum = Multiply(d_minimum, ToFloat(LoadUint8(panel + fields.minimum)));
  const F offset = Subtract(Zero(), minimum);
  UnpackCodes<kPanel.high>(panel + fields.codes, panel + fields.high, {scale, scale},
                           {offset, offset}, tile);
}

template <>
void Unpack<DataType::kQ4_K>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  UnpackSuperBlock<kPanelQ4_K>(panel, FieldsOf(kPanelQ4_K, group, group_count), tile);
}
template <>
void Unpack<DataType::kQ5_K>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  UnpackSuperBlock<kPanelQ5_K>(panel, FieldsOf(kPanelQ5_K, group, group_count), tile);
}

// d * scale * (code - 32), exact throughout.
template <>
void Unpack<DataType::kQ6_K>(const uint8_t* panel, int64_t group, int64_t group_count,
                             float* tile) {
  const GroupFields fields = FieldsOf(kPanelQ6_K, group, group_count);
  const F d = LoadHalf(panel + fields.trailer);
  const F first = Multiply(d, ToFloat(LoadInt8(panel + fields.scale)));
  const F second = Multiply(d, ToFloat(LoadInt8(panel + fields.scale + 16)));
  UnpackCodes<kPanelQ6_K.high>(panel + fields.codes, panel + fields.high, {first, second},
                               {Multiply(first, Set(-32.0F)), Multiply(second, Set(-32.0F))}, tile);
}

// --- multiplying ---

// 32 k of kRows rows and kPanels panels: sums[panel][row] += even chain + odd chain.
template <int kRows, int kPanels>
void MultiplyTile(const float* tile, const float* x, float* sums) {
  F chain[2][kPanels][kRows];
  for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 4
    for (int panel = 0; panel < kPanels; ++panel) {
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) chain[half][panel][row] = Zero();
    }
    for (int64_t k = half; k < kGroupColumns; k += 2) {
      F w[kPanels];
#pragma GCC unroll 4
      for (int panel = 0; panel < kPanels; ++panel) {
        w[panel] = Load(tile + panel * kTileFloats + k * kPanelRows);
      }
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) {
        const F value = Set(x[row * kGroupColumns + k]);
#pragma GCC unroll 4
        for (int panel = 0; panel < kPanels; ++panel) {
          chain[half][panel][row] = Fma(value, w[panel], chain[half][panel][row]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int panel = 0; panel < kPanels; ++panel) {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      float* sum = sums + (panel * kTileRows + row) * kPanelRows;
      Store(sum, Add(Load(sum), Add(chain[0][panel][row], chain[1][panel][row])));
    }
  }
}

template <int kPanels>
void MultiplyRows(const float* tile, const float* x, int64_t row_count, float* sums) {
  int64_t row = 0;
  for (; row + kMatmulRows <= row_count; row += kMatmulRows) {
    MultiplyTile<kMatmulRows, kPanels>(tile, x + row * kGroupColumns, sums + row * kPanelRows);
  }
  x += row * kGroupColumns;
  sums += row * kPanelRows;
  switch (row_count - row) {
    case 3:
      MultiplyTile<3, kPanels>(tile, x, sums);
      break;
    case 2:
      MultiplyTile<2, kPanels>(tile, x, sums);
      break;
    case 1:
      MultiplyTile<1, kPanels>(tile, x, sums);
      break;
    default:
      break;
  }
}

// What a task's panels [first, first + count), count <= kTilePanels, need with rows [first_row,
// +row_count).
struct Block {
  const uint8_t* panels;
  int64_t panel_count;
  int64_t first_row;
  int64_t row_count;
};

// Rows of the block, k of the group, as float32: x[row][32].
WEFT_VECTOR void LoadOperands(const MatmulTask& task, const Block& block, int64_t group, float* x) {
  for (int64_t r = 0; r < block.row_count; ++r) {
    const int64_t index = block.first_row + r;
    const int64_t row = task.x_rows == nullptr ? index : task.x_rows[index];
    const uint16_t* operand =
        static_cast<const uint16_t*>(task.x) + row * task.x_stride + group * kGroupColumns;
    Store(x + r * kGroupColumns, AsFloat(ShiftLeft<16>(LoadUint16(operand))));
    Store(x + r * kGroupColumns + 16, AsFloat(ShiftLeft<16>(LoadUint16(operand + 16))));
  }
}

void StoreSums(const MatmulTask& task, const Block& block, int64_t first_output,
               const float* sums) {
  for (int64_t panel = 0; panel < block.panel_count; ++panel) {
    const int64_t output = first_output + panel * kPanelRows;
    const int64_t left = task.weights->rows - output;
    const int64_t count = left < kPanelRows ? left : kPanelRows;
    for (int64_t r = 0; r < block.row_count; ++r) {
      float* y = task.y + (block.first_row + r) * task.y_stride + output;
      F sum = Load(sums + (panel * kTileRows + r) * kPanelRows);
      if (task.accumulate) sum = Add(LoadSome(y, count), sum);
      StoreSome(y, sum, count);
    }
  }
}

// Asks for the `size_bytes` that the walk over a panel needs kPrefetchBytes after byte `offset`;
// past the panel's end that is the beginning of the panel that comes after the ones walked
// together.
// Without it one row runs at 0.4 of the speed (Zen 5); half as far is too late for Q8_0, twice too
// far for BF16.
constexpr int64_t kPrefetchBytes = 4096;
WEFT_VECTOR void PrefetchPanel(const uint8_t* panel, int64_t panel_bytes, int64_t offset,
                               int64_t size_bytes) {
  const int64_t ahead = offset + kPrefetchBytes;
  const uint8_t* from =
      panel + (ahead < panel_bytes ? ahead : ahead + (kTilePanels - 1) * panel_bytes);
  for (int64_t i = 0; i < size_bytes; i += 64) __builtin_prefetch(from + i);
}

template <DataType kType>
void MultiplyBlock(const MatmulTask& task, const Block& block, int64_t first_output) {
  alignas(64) float tiles[kTilePanels * kTileFloats];
  alignas(64) float x[kTileRows * kGroupColumns];
  alignas(64) float sums[kTilePanels * kTileRows * kPanelRows];
  for (int64_t panel = 0; panel < block.panel_count; ++panel) {
    for (int64_t r = 0; r < block.row_count; ++r) {
      Store(sums + (panel * kTileRows + r) * kPanelRows, Zero());
    }
  }
  const int64_t groups = (task.weights->columns + kGroupColumns - 1) / kGroupColumns;
  const int64_t panel_bytes = task.weights->panel_bytes;
  const int64_t group_bytes = panel_bytes / groups;
  for (int64_t group = 0; group < groups; ++group) {
    LoadOperands(task, block, group, x);
    for (int64_t panel = 0; panel < block.panel_count; ++panel) {
      const uint8_t* packed = block.panels + panel * panel_bytes;
      PrefetchPanel(packed, panel_bytes, group * group_bytes, group_bytes);
      Unpack<kType>(packed, group, groups, tiles + panel * kTileFloats);
    }
    int64_t panel = 0;
    for (; panel + kMatmulPanels <= block.panel_count; panel += kMatmulPanels) {
      MultiplyRows<kMatmulPanels>(tiles + panel * kTileFloats, x, block.row_count,
                                  sums + panel * kTileRows * kPanelRows);
    }
    for (; panel < block.panel_count; ++panel) {
      MultiplyRows<1>(tiles + panel * kTileFloats, x, block.row_count,
                      sums + panel * kTileRows * kPanelRows);
    }
  }
  StoreSums(task, block, first_output, sums);
}

template <DataType kType>
void MatmulOf(const MatmulTask& task, const uint8_t* panels) {
  for (int64_t panel = 0; panel < task.panel_count; panel += kTilePanels) {
    Block block = {};
    block.panels = panels + panel * task.weights->panel_bytes;
    block.panel_count =
        task.panel_count - panel < kTilePanels ? task.panel_count - panel : kTilePanels;
    for (; block.first_row < task.row_count; block.first_row += kTileRows) {
      const int64_t left = task.row_count - block.first_row;
      block.row_count = left < kTileRows ? left : kTileRows;
      MultiplyBlock<kType>(task, block, (task.first_panel + panel) * kPanelRows);
    }
  }
}

void Matmul(const MatmulTask& task, const std::byte* panel) {
  const auto* panels = reinterpret_cast<const uint8_t*>(panel);
  switch (task.weights->layout) {
    case DataType::kQ8_0:
      return MatmulOf<DataType::kQ8_0>(task, panels);
    case DataType::kQ4_0:
      return MatmulOf<DataType::kQ4_0>(task, panels);
    case DataType::kQ4_1:
      return MatmulOf<DataType::kQ4_1>(task, panels);
    case DataType::kQ5_0:
      return MatmulOf<DataType::kQ5_0>(task, panels);
    case DataType::kQ5_1:
      return MatmulOf<DataType::kQ5_1>(task, panels);
    case DataType::kQ4_K:
      return MatmulOf<DataType::kQ4_K>(task, panels);
    case DataType::kQ5_K:
      return MatmulOf<DataType::kQ5_K>(task, panels);
    case DataType::kQ6_K:
      return MatmulOf<DataType::kQ6_K>(task, panels);
    case DataType::kF32:
    case DataType::kF16:
    case DataType::kBF16:
      return MatmulOf<DataType::kBF16>(task, panels);
  }
}
