// Random matrices, operands and caches for the kernel tests, all from a seed.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checked_math.h"
#include "model/formats/dequantize.h"
#include "model/kernels/blas.h"
#include "model/kernels/int8_residual.h"
#include "model/kernels/kernels.h"
#include "model/kernels/panel_layout.h"
#include "tests/model/kernels/isas_here.h"

namespace weft {

inline const std::vector<DataType>& AllTypes() {
  static const std::vector<DataType> types = [] {
    std::vector<DataType> all;
    for (int i = 0; i < kWeightTypeCount; ++i) all.push_back(static_cast<DataType>(i));
    return all;
  }();
  return types;
}

// The arithmetic multiplies with BLAS.
inline const KernelTable& BlasTable() {
  const Result<void> loaded = LoadBlas();
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return KernelsFor(Arithmetic::kF32, Isa::kScalar);
}

// Every table of an arithmetic that this machine can run, scalar first.
inline std::vector<const KernelTable*> AvailableTables(Arithmetic arithmetic = Arithmetic::kBF16,
                                                       KvType kv_type = KvType::kBF16) {
  std::vector<const KernelTable*> tables;
  for (const Isa isa : IsasHere()) tables.push_back(&KernelsFor(arithmetic, isa, kv_type));
  return tables;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t Integer(int64_t low, int64_t high) {  // both included
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  float Normal() { return std::normal_distribution<float>()(engine_); }
  uint32_t Bits() { return static_cast<uint32_t>(engine_()); }

  std::vector<float> Normals(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = Normal();
    return values;
  }

  // Mostly ordinary numbers; some zeros, denormals, tiny and huge ones.
  float Wild() {
    switch (Integer(0, 9)) {
      case 0:
        return std::bit_cast<float>(Bits() & 0x80000000);
      case 1:
        return std::bit_cast<float>(Bits() & 0x807fffff);
      case 2:
        return std::ldexp(Normal(), static_cast<int>(Integer(-126, -40)));
      case 3:
        return std::ldexp(Normal(), static_cast<int>(Integer(20, 60)));
      default:
        return Normal();
    }
  }
  std::vector<float> Wilds(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = Wild();
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

enum class Scales { kOrdinary, kExtreme };

// A finite f16: near 0.01, or anything.
inline uint16_t RandomHalf(Random& random, Scales scales) {
  if (scales == Scales::kOrdinary) {
    return static_cast<uint16_t>(0x2000 | (random.Bits() & 0x83ff));  // 2^-7 .. 2^-6
  }
  uint16_t bits = static_cast<uint16_t>(random.Bits());
  while ((bits & 0x7c00) == 0x7c00) bits = static_cast<uint16_t>(random.Bits());
  return bits;
}

// MXFP4's scale: near 0.01, or anything, often at the edges. Not anything in every block: nothing
// but infinities and zeros would be left of most sums.
inline uint8_t RandomExponent(Random& random, Scales scales) {
  if (scales == Scales::kOrdinary || random.Integer(0, 7) > 0) {
    return static_cast<uint8_t>(random.Integer(119, 122));
  }
  if (random.Integer(0, 1) == 0) return static_cast<uint8_t>(random.Integer(0, 3));
  return static_cast<uint8_t>(random.Bits());
}

// Where the f16 scales of a quantised block lie.
inline std::vector<int64_t> HalfOffsets(DataType type) {
  switch (type) {
    case DataType::kQ4_1:
    case DataType::kQ5_1:
    case DataType::kQ4_K:
    case DataType::kQ5_K:
      return {0, 2};
    case DataType::kQ2_K:
      return {80, 82};
    case DataType::kQ3_K:
    case DataType::kQ6_K:
    case DataType::kTQ1_0:
    case DataType::kTQ2_0:
      return {TraitsOf(type).block_bytes - 2};
    case DataType::kMXFP4:
    case DataType::kNVFP4:
    case DataType::kIQ1_M:
    case DataType::kINT4_BF16:
    case DataType::kAFFINE4_BF16:
    case DataType::kINT8_F32:
    case DataType::kNVFP4_F32:
    case DataType::kFP8_F32:
    case DataType::kNF4_F32:
    case DataType::kFP4_F32:
      return {};
    default:
      return {0};
  }
}

// The float32 or bf16 scales of a quantised block, if there are such: near 0.01, or anything.
inline void SetFloats(DataType type, Scales scales, Random& random, std::byte* block) {
  const auto value = [&] {
    return scales == Scales::kOrdinary ? 0.01F + 0.001F * random.Normal() : random.Wild();
  };
  int floats = 0;
  if (type == DataType::kNVFP4_F32) floats = 2;
  if (type == DataType::kINT8_F32 || type == DataType::kFP8_F32 || type == DataType::kNF4_F32 ||
      type == DataType::kFP4_F32) {
    floats = 1;
  }
  for (int i = 0; i < floats; ++i) {
    const float scale = value();
    std::memcpy(block + 4 * i, &scale, sizeof(scale));
  }
  const int count = type == DataType::kINT4_BF16 ? 1 : type == DataType::kAFFINE4_BF16 ? 2 : 0;
  for (int i = 0; i < count; ++i) {
    const uint16_t bits = FloatToBFloat16(value());
    std::memcpy(block + 2 * i, &bits, sizeof(bits));
  }
}

// Leaves NaN to few codes of e4m3, or none: it would be all that is left of most sums.
inline void SetNaNs(Scales scales, Random& random, std::byte* codes) {
  for (int i = 0; i < 32; ++i) {
    const bool is_nan = (codes[i] & std::byte{0x7f}) == std::byte{0x7f};
    const bool stays = scales == Scales::kExtreme && random.Integer(0, 19) == 0;
    if (is_nan && !stays) codes[i] ^= std::byte{0x10};
  }
}

// IQ1_M's f16 scale, which is in the highest bits of the block's last four words.
inline void SetScaleIQ1_M(std::byte* block, uint16_t half) {
  for (int i = 0; i < 4; ++i) {
    std::byte& high = block[48 + 2 * i + 1];
    high = (high & std::byte{15}) | static_cast<std::byte>((half >> (4 * i) & 15) << 4);
  }
}

// A matrix in file format, its rows `row_padding_bytes` apart from their neighbours.
struct FileMatrix {
  std::vector<std::byte> bytes;
  TensorView view;
};

inline void FillRow(DataType type, int64_t columns, Scales scales, Random& random, std::byte* row) {
  const DataTypeTraits& traits = TraitsOf(type);
  for (int64_t b = 0; b < columns / traits.block_elements; ++b) {
    std::byte* block = row + b * traits.block_bytes;
    if (type == DataType::kF32) {
      const float value = scales == Scales::kOrdinary ? random.Normal() : random.Wild();
      std::memcpy(block, &value, 4);
    } else if (type == DataType::kBF16) {
      const uint16_t bits =
          FloatToBFloat16(scales == Scales::kOrdinary ? random.Normal() : random.Wild());
      std::memcpy(block, &bits, 2);
    } else if (type == DataType::kF16) {
      const uint16_t bits = RandomHalf(random, scales);
      std::memcpy(block, &bits, 2);
    } else {
      for (int64_t i = 0; i < traits.block_bytes; ++i)
        block[i] = static_cast<std::byte>(random.Bits());
      for (const int64_t offset : HalfOffsets(type)) {
        const uint16_t bits = RandomHalf(random, scales);
        std::memcpy(block + offset, &bits, 2);
      }
      SetFloats(type, scales, random, block);
      if (type == DataType::kMXFP4) block[0] = std::byte{RandomExponent(random, scales)};
      if (type == DataType::kFP8_F32) SetNaNs(scales, random, block + 4);
      if (type == DataType::kIQ1_M) SetScaleIQ1_M(block, RandomHalf(random, scales));
    }
  }
}

inline FileMatrix RandomMatrix(DataType type, int64_t rows, int64_t columns, Scales scales,
                               Random& random, int64_t row_padding_bytes = 0) {
  const int64_t stride = RowBytes(type, columns) + row_padding_bytes;
  FileMatrix matrix;
  matrix.bytes.resize(static_cast<size_t>(rows * stride), std::byte{0xff});
  for (int64_t row = 0; row < rows; ++row) {
    FillRow(type, columns, scales, random, matrix.bytes.data() + row * stride);
  }
  matrix.view = TensorView::Contiguous(matrix.bytes.data(), type, {rows, columns});
  matrix.view.strides_bytes[0] = stride;
  return matrix;
}

inline PackedMatrix Pack(const KernelTable& kernels, const TensorView& source) {
  PackedMatrix packed;
  packed.layout = kernels.packed_layout(source.type);
  packed.rows = source.rows();
  packed.columns = source.columns();
  packed.panel_bytes = kernels.panel_bytes(packed.layout, packed.columns);
  packed.storage = AlignedBuffer(static_cast<size_t>(packed.panel_count() * packed.panel_bytes));
  kernels.pack_panels(source, 0, packed);
  return packed;
}

// Operand rows with strides of their own, and what they stand for.
struct OperandMatrix {
  std::vector<std::byte> bytes;
  std::vector<Int8Residual> residuals;  // a row's together; none: the rows have none
  std::vector<float> values;            // [row][column]
  int64_t columns;
  int64_t row_bytes;
  int64_t group_bytes;

  void Describe(MatmulTask& task) const {
    task.x = bytes.data();
    task.x_row_bytes = row_bytes;
    task.x_group_bytes = group_bytes;
    if (residuals.empty()) return;
    task.x_residuals = reinterpret_cast<const std::byte*>(residuals.data());
    task.x_residual_row_bytes = ResidualBytes(columns);
  }
};

// The values that an operand row stands for.
inline std::vector<float> OperandValues(OperandType type, const std::byte* row, int64_t group_bytes,
                                        int64_t columns) {
  std::vector<float> values;
  for (int64_t k = 0; k < columns; ++k) {
    const std::byte* group = row + k / kGroupColumns * group_bytes;
    const int64_t i = k % kGroupColumns;
    if (type == OperandType::kInt8) {
      Int8Group quantized;
      std::memcpy(&quantized, group, sizeof(quantized));
      const int64_t place = 4 * QuadOf(i) + ByteOf(i);
      values.push_back(static_cast<float>(quantized.codes[place]) * quantized.scale);
    } else if (type == OperandType::kBF16) {
      uint16_t bits;
      std::memcpy(&bits, group + i * 2, sizeof(bits));
      values.push_back(BFloat16ToFloat(bits));
    } else {
      float value;
      std::memcpy(&value, group + i * 4, sizeof(value));
      values.push_back(value);
    }
  }
  return values;
}

// Rows of `x`, [row][columns], as operands. `together`: a group of all rows is contiguous;
// otherwise a row's groups are (which f32 needs), and the rows lie apart.
inline OperandMatrix ToOperands(const KernelTable& kernels, OperandType type,
                                const std::vector<float>& x, int64_t columns, bool together) {
  const int64_t rows = static_cast<int64_t>(x.size()) / columns;
  const int64_t group_bytes = OperandGroupBytes(type);
  OperandMatrix matrix;
  matrix.columns = columns;
  matrix.row_bytes = together ? group_bytes : (OperandGroups(columns) + 1) * group_bytes;
  matrix.group_bytes = together ? rows * group_bytes : group_bytes;
  const int64_t size_bytes = rows * (OperandGroups(columns) + 1) * group_bytes;
  matrix.bytes.resize(static_cast<size_t>(size_bytes), std::byte{0xff});  // NaN: not to be read
  for (int64_t row = 0; row < rows; ++row) {
    std::byte* out = matrix.bytes.data() + row * matrix.row_bytes;
    kernels.to_operand(type, x.data() + row * columns, columns, out, matrix.group_bytes);
    const std::vector<float> values = OperandValues(type, out, matrix.group_bytes, columns);
    matrix.values.insert(matrix.values.end(), values.begin(), values.end());
  }
  return matrix;
}

// Codes what the rows' codes have lost of `x` again, which the matrix then stands for, too.
inline void AddResiduals(const KernelTable& kernels, const std::vector<float>& x,
                         OperandMatrix& matrix) {
  const int64_t rows = static_cast<int64_t>(x.size()) / matrix.columns;
  const int64_t each = MostResiduals(matrix.columns) + 1;
  matrix.residuals.resize(static_cast<size_t>(rows * each));
  for (int64_t row = 0; row < rows; ++row) {
    Int8Residual* residual = matrix.residuals.data() + row * each;
    WriteResiduals(kernels, x.data() + row * matrix.columns, matrix.columns,
                   matrix.bytes.data() + row * matrix.row_bytes, matrix.group_bytes,
                   reinterpret_cast<std::byte*>(residual));
    for (; residual->group != kNoGroup; ++residual) {
      const auto* group = reinterpret_cast<const std::byte*>(&residual->codes);
      const int64_t first = residual->group * kGroupColumns;
      const std::vector<float> values = OperandValues(
          OperandType::kInt8, group, 0, std::min(kGroupColumns, matrix.columns - first));
      for (size_t k = 0; k < values.size(); ++k) {
        matrix.values[static_cast<size_t>(row * matrix.columns + first) + k] += values[k];
      }
    }
  }
}

// The weights as the file's format defines them, row-major.
inline std::vector<float> FileWeights(const TensorView& source) {
  std::vector<float> values(static_cast<size_t>(source.rows() * source.columns()));
  for (int64_t row = 0; row < source.rows(); ++row) {
    DequantizeRow(source.type, source.data + row * source.strides_bytes[0], source.columns(),
                  values.data() + row * source.columns());
  }
  return values;
}

// The weights as the bf16 definition sees them, row-major.
inline std::vector<float> DefinedWeights(const TensorView& source) {
  std::vector<float> values = FileWeights(source);
  if (source.type == DataType::kF16) return values;
  for (float& value : values) value = BFloat16ToFloat(FloatToBFloat16(value));
  return values;
}

// The bits, but one NaN for all NaNs.
inline uint32_t ComparableBits(float value) {
  return std::isnan(value) ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
}

// Index of the first difference, or -1.
inline int64_t FirstDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (ComparableBits(a[i]) != ComparableBits(b[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace weft
