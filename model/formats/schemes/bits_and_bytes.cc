// bitsandbytes (https://github.com/bitsandbytes-foundation/bitsandbytes): 4 bits by a table ("nf4",
// QLoRA's, https://arxiv.org/abs/2305.14314, and "fp4"), the matrix flattened into blocks under a
// scale each, which may be quantised themselves; and LLM.int8()'s rows of bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "model/formats/block_format.h"
#include "model/formats/config_json.h"
#include "model/formats/dequantize.h"
#include "model/formats/schemes/integer_matrix.h"
#include "model/formats/schemes/scheme.h"

namespace weft::schemes {
namespace {

constexpr std::string_view kStateEnds[] = {".weight.quant_state.bitsandbytes__nf4",
                                           ".weight.quant_state.bitsandbytes__fp4"};

float FloatAt(const TensorView& tensor, int64_t index) {
  float value = 0;
  DequantizeRow(DataType::kF32, tensor.data + index * static_cast<int64_t>(sizeof(value)), 1,
                &value);
  return value;
}

// The JSON in a tensor of bytes.
struct State {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t block = 0;         // elements under a scale
  int64_t nested_block = 0;  // scales under a scale of their own
  float nested_offset = 0;
};

Result<State> TakeState(Parts& parts) {
  const std::string_view end = parts.Has(kStateEnds[0]) ? kStateEnds[0] : kStateEnds[1];
  WEFT_ASSIGN_OR_RETURN(const TensorView bytes, parts.Take(end, {DataType::kU8}, {Parts::kAny}));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data),
                              static_cast<size_t>(bytes.dims[0]));
  WEFT_ASSIGN_OR_RETURN(const ConfigValues values, ReadConfigJson(text, parts.NameOf(end)));
  const Config config(values, "");
  const std::vector<int64_t> shape = config.Ints("shape");
  State state = {.block = config.Int("blocksize", 0),
                 .nested_block = config.Int("nested_blocksize", 0),
                 .nested_offset = static_cast<float>(config.Number("nested_offset", 0))};
  constexpr int64_t kMaxBlock = 1 << 20;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || state.block < 1 ||
      state.block > kMaxBlock || state.nested_block < 0 || state.nested_block > kMaxBlock) {
    return parts.Corrupt(end, "expected a shape of two dimensions, and a blocksize up to 2^20");
  }
  state.rows = shape[0];
  state.columns = shape[1];
  return state;
}

// One scale a block.
struct Scales {
  TensorView values;        // F32, or, nested, U8
  TensorView nested;        // F32
  TensorView nested_table;  // F32 (256)
  int64_t nested_block = 0;
  float nested_offset = 0;

  float operator()(int64_t block) const {
    if (nested_block == 0) return FloatAt(values, block);
    const float value = FloatAt(nested_table, static_cast<int64_t>(values.data[block]));
    return value * FloatAt(nested, block / nested_block) + nested_offset;
  }
};

Result<Scales> TakeScales(Parts& parts, const State& state, int64_t blocks) {
  Scales scales;
  if (state.nested_block == 0) {
    WEFT_ASSIGN_OR_RETURN(scales.values, parts.Take(".weight.absmax", {DataType::kF32}, {blocks}));
    return scales;
  }
  WEFT_ASSIGN_OR_RETURN(scales.values, parts.Take(".weight.absmax", {DataType::kU8}, {blocks}));
  WEFT_ASSIGN_OR_RETURN(scales.nested, parts.Take(".weight.nested_absmax", {DataType::kF32},
                                                  {CeilDivide(blocks, state.nested_block)}));
  WEFT_ASSIGN_OR_RETURN(scales.nested_table,
                        parts.Take(".weight.nested_quant_map", {DataType::kF32}, {256}));
  scales.nested_block = state.nested_block;
  scales.nested_offset = state.nested_offset;
  return scales;
}

// The type of blocks whose codes stand for these values, under scales each of which is that of
// whole blocks; or float32.
DataType TypeOf(const State& state, const std::array<float, 16>& values) {
  if (state.columns % kBlockColumns != 0 || state.block % kBlockColumns != 0) {
    return DataType::kF32;
  }
  for (const DataType type : {DataType::kNF4_F32, DataType::kFP4_F32}) {
    if (std::ranges::equal(values, std::span(TraitsOf(FormatOf(type).panel).floats, 16))) {
      return type;
    }
  }
  return DataType::kF32;
}

}  // namespace

Result<AssembledTensor> AssembleBitsAndBytes4(Parts& parts, const Config& /*config*/) {
  WEFT_ASSIGN_OR_RETURN(const State state, TakeState(parts));
  // Any type will do whose elements are whole bytes.
  WEFT_ASSIGN_OR_RETURN(
      const TensorView codes,
      parts.Take(".weight", {DataType::kU8, DataType::kBF16, DataType::kF16, DataType::kF32}));
  // As many elements as the bytes have room for: no more is said than is there.
  const int64_t elements = 2 * codes.size_bytes();
  const bool fits = state.columns <= elements && state.rows == elements / state.columns &&
                    elements % state.columns == 0;
  if (!fits) {
    return parts.WrongShape(".weight", codes,
                            fmt::format("two codes a byte of ({}, {})", state.rows, state.columns));
  }
  WEFT_ASSIGN_OR_RETURN(const TensorView table,
                        parts.Take(".weight.quant_map", {DataType::kF32}, {16}));
  WEFT_ASSIGN_OR_RETURN(const Scales scales,
                        TakeScales(parts, state, CeilDivide(elements, state.block)));
  std::array<float, 16> values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = FloatAt(table, static_cast<int64_t>(i));
  const DataType type = TypeOf(state, values);
  AssembledTensor tensor;
  tensor.view = TensorView::Contiguous(codes.data, type, {state.rows, state.columns});
  tensor.parts = parts.views();
  if (type != DataType::kF32) {
    tensor.read_row = [=, columns = state.columns, block_size = state.block](int64_t row,
                                                                             std::byte* out) {
      for (int64_t at = row * columns; at < (row + 1) * columns; at += kBlockColumns) {
        const float scale = scales(at / block_size);
        uint8_t block[kBlockColumns];
        for (int64_t k = 0; k < kBlockColumns; k += 2) {
          const auto both = static_cast<uint8_t>(codes.data[(at + k) / 2]);
          block[k] = both >> 4;
          block[k + 1] = both & 15;
        }
        std::memcpy(out, &scale, sizeof(scale));
        PackNibbles(block, out + sizeof(scale));
        out += sizeof(scale) + kBlockColumns / 2;
      }
    };
    return tensor;
  }
  tensor.read_row = [=, columns = state.columns, block_size = state.block](int64_t row,
                                                                           std::byte* out) {
    int64_t block = -1;
    float scale = 0;
    for (int64_t at = row * columns; at < (row + 1) * columns; ++at) {
      if (at / block_size != block) {
        block = at / block_size;
        scale = scales(block);
      }
      const auto both = static_cast<uint8_t>(codes.data[at / 2]);
      const float value = values[at % 2 == 0 ? both >> 4 : both & 15] * scale;
      std::memcpy(out, &value, sizeof(value));
      out += sizeof(value);
    }
  };
  return tensor;
}

Result<AssembledTensor> AssembleBitsAndBytes8(Parts& parts, const Config& /*config*/) {
  WEFT_ASSIGN_OR_RETURN(const TensorView weight,
                        parts.Take(".weight", {DataType::kI8}, {Parts::kAny, Parts::kAny}));
  const int64_t rows = weight.dims[0];
  const int64_t columns = weight.dims[1];
  WEFT_ASSIGN_OR_RETURN(const TensorView largest, parts.Take(".SCB", {DataType::kF32}, {rows}));
  if (parts.Has(".weight_format")) {
    WEFT_ASSIGN_OR_RETURN(const TensorView format,
                          parts.Take(".weight_format", {DataType::kU8}, {1}));
    if (format.data[0] != std::byte{0}) {
      return parts.Unsupported(
          fmt::format("weight_format {}, expected 0, rows", static_cast<int>(format.data[0])));
    }
  }
  // A row's largest magnitude is 127. The library's own products, too, multiply sums of codes with
  // such a factor; what it calls dequantising rounds once more on the way.
  constexpr float kOfCode = 7.874015718698502e-3F;
  IntegerMatrix matrix = {.rows = rows,
                          .columns = columns,
                          .bits = 8,
                          .read_codes = ReadSignedBytes(weight),
                          .group_columns = columns,
                          .scales = {.tensor = largest, .row_step = 1, .factor = kOfCode}};
  return AssembleIntegers(std::move(matrix), 0, parts.views());
}

}  // namespace weft::schemes
