#include "model/kernels/f32_kernels.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "base/check.h"
#include "model/formats/dequantize.h"
#include "model/kernels/blas.h"
#include "model/kernels/packing.h"
#include "model/kernels/scalar_math.h"

namespace weft::f32 {
namespace {

// Sixteen partial sums, which the compiler can keep in registers without reordering any of them.
float Dot(const float* a, const float* b, int64_t n) {
  scalar::Lanes lanes;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int64_t lane = 0; lane < 16; ++lane) lanes.lane[lane] += a[i + lane] * b[i + lane];
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) lanes.lane[lane] += a[i] * b[i];
  return lanes.Fold();
}

// scalar::Exp with two roundings where that has one: this arithmetic needs no equal bits, and
// without the emulated fma the compiler can vectorise it.
// (NaN passes through std::min and std::max in this order of arguments.)
float Exp(float x) {
  constexpr float kShift = 0x1.8p23F;
  const float clamped = std::max(std::min(x, scalar::kExpHighest), scalar::kExpLowest);
  const float shifted = clamped * 0x1.715476p+0F + kShift;
  const float n = shifted - kShift;
  const float r = clamped - n * 0x1.62e4p-1F - n * 0x1.7f7d1cp-20F;
  float p = 0x1.6a2354p-10F * r + 0x1.123a6cp-7F;
  p = p * r + 0x1.5558f4p-5F;
  p = p * r + 0x1.55549p-3F;
  p = p * r + 0x1.fffffcp-2F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000);
  return x < scalar::kExpLowest ? 0 : p * power;
}

// A page: keys [block_size][key_dim], then values [block_size][value_dim], if these are not in the
// keys.
const float* PageOf(const AttentionTask& task, int64_t position) {
  const int64_t block = task.block_table[position / task.layout.block_size];
  return reinterpret_cast<const float*>(task.pages + block * task.page_stride_bytes);
}
const float* KeyAt(const AttentionTask& task, int64_t position) {
  return PageOf(task, position) + position % task.layout.block_size * task.layout.key_dim;
}
const float* ValueAt(const AttentionTask& task, int64_t position) {
  const KvLayout& layout = task.layout;
  if (layout.value_in_key) return KeyAt(task, position);
  return PageOf(task, position) + layout.block_size * layout.key_dim +
         position % layout.block_size * layout.value_dim;
}

const float* FloatsOf(const PackedMatrix& weights) {
  return reinterpret_cast<const float*>(weights.bytes().data());
}

// Online softmax over the spans that the query's position sees. The sum of values grows where the
// result will stand.
class HeadAttention {
 public:
  HeadAttention(const AttentionTask& task, int64_t row, int64_t head)
      : task_(task),
        query_(task.query + row * task.query_stride + head * task.layout.key_dim),
        output_(task.out + row * task.out_stride + head * task.layout.value_dim),
        position_(task.first_position + row),
        head_(head) {
    std::fill_n(output_, task.layout.value_dim, 0.0F);
  }

  void AttendSpan(int64_t first, int64_t end) {
    float scores[kAttentionSpan];
    float maximum = maximum_;
    for (int64_t position = first; position < end; ++position) {
      float& score = scores[position - first];
      score =
          Adjust(Dot(query_, KeyAt(task_, position), task_.layout.key_dim) * task_.scale, position);
      maximum = std::max(maximum, score);
    }
    RaiseMaximum(maximum);
    for (int64_t i = 0; i < end - first; ++i) scores[i] = Exp(scores[i] - maximum);
    for (int64_t position = first; position < end; ++position) {
      const float p = scores[position - first];
      const float* value = ValueAt(task_, position);
      sum_ += p;
      for (int64_t d = 0; d < task_.layout.value_dim; ++d) output_[d] += p * value[d];
    }
  }

  void Finish() {
    if (task_.sinks != nullptr) {
      const float sink = task_.sinks[head_];
      RaiseMaximum(std::max(maximum_, sink));
      sum_ += Exp(sink - maximum_);
    }
    for (int64_t d = 0; d < task_.layout.value_dim; ++d) output_[d] /= sum_;
  }

 private:
  float Adjust(float score, int64_t key_position) const {
    if (task_.soft_cap > 0) score = scalar::SoftCap(score, task_.soft_cap);
    const int64_t distance = key_position - position_;
    if (task_.slopes != nullptr) {
      score -= task_.slopes[head_] * static_cast<float>(std::abs(distance));
    }
    if (task_.distance_bias == nullptr) return score;
    const float* bias = task_.distance_bias + head_ * DistanceBiasFloats(task_.bias_reach);
    return score + bias[DistanceBiasAt(task_.bias_reach, distance)];
  }

  void RaiseMaximum(float maximum) {
    const float keep = Exp(maximum_ - maximum);
    maximum_ = maximum;
    sum_ *= keep;
    for (int64_t d = 0; d < task_.layout.value_dim; ++d) output_[d] *= keep;
  }

  const AttentionTask& task_;
  const float* query_;
  float* output_;
  int64_t position_;
  int64_t head_;
  float maximum_ = -std::numeric_limits<float>::infinity();
  float sum_ = 0;
};

// One call of sgemm: y (+)= x * w^T, all row-major.
struct Product {
  const float* x = nullptr;
  int64_t x_stride = 0;
  int64_t rows = 0;
  const float* w = nullptr;
  int64_t w_stride = 0;
  int64_t outputs = 0;
  int64_t columns = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  bool accumulate = false;

  void Run() const {
    const auto as_int = [](int64_t value) { return static_cast<int>(value); };
    const auto sgemm = BlasSgemm();
    WEFT_CHECK(sgemm != nullptr);  // whoever chose this arithmetic has asked LoadBlas()
    sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, as_int(rows), as_int(outputs), as_int(columns),
          1.0F, x, as_int(x_stride), w, as_int(w_stride), accumulate ? 1.0F : 0.0F, y,
          as_int(y_stride));
  }
};

// The same for rows x_rows[0 .. rows) of x, which sgemm cannot name: piece by piece through a tile
// on the stack, since a step allocates nothing.
void MultiplyGathered(const Product& whole, const int32_t* x_rows) {
  constexpr int64_t kTileRows = 64;
  constexpr int64_t kTileColumns = 256;
  float tile[kTileRows * kTileColumns];
  for (int64_t row = 0; row < whole.rows; row += kTileRows) {
    Product part = whole;
    part.x = tile;
    part.x_stride = kTileColumns;
    part.rows = std::min(kTileRows, whole.rows - row);
    part.y = whole.y + row * whole.y_stride;
    for (int64_t column = 0; column < whole.columns; column += kTileColumns) {
      part.columns = std::min(kTileColumns, whole.columns - column);
      part.w = whole.w + column;
      part.accumulate = whole.accumulate || column > 0;
      for (int64_t r = 0; r < part.rows; ++r) {
        const float* source = whole.x + x_rows[row + r] * whole.x_stride + column;
        std::copy_n(source, part.columns, tile + r * kTileColumns);
      }
      part.Run();
    }
  }
}

}  // namespace

PanelFormat PackedLayout(DataType /*file_type*/) { return PanelFormat::kF32; }

int64_t PanelBytes(PanelFormat /*layout*/, int64_t columns) {
  return kPanelRows * columns * static_cast<int64_t>(sizeof(float));
}

void PackPanels(const TensorView& rows, int64_t first_panel, PackedMatrix& packed) {
  CheckPanelRows(rows, first_panel, packed);
  float* out = packed.storage.As<float>() + first_panel * kPanelRows * packed.columns;
  for (int64_t row = 0; row < rows.rows(); ++row, out += packed.columns) {
    DequantizeRow(rows.type, rows.data + row * rows.strides_bytes[0], packed.columns, out);
  }
}

void UnpackRow(const PackedMatrix& weights, int64_t row, float* out) {
  std::copy_n(FloatsOf(weights) + row * weights.columns, weights.columns, out);
}

void Matmul(const MatmulTask& task) {
  const PackedMatrix& weights = *task.weights;
  const int64_t columns = weights.columns;
  const int64_t first_output = task.first_panel * kPanelRows;
  const int64_t outputs = std::min(weights.rows - first_output, task.panel_count * kPanelRows);
  if (task.row_count == 0 || outputs <= 0) return;
  WEFT_CHECK(task.x_group_bytes == OperandGroupBytes(OperandType::kF32));
  const Product product = {.x = reinterpret_cast<const float*>(task.x),
                           .x_stride = task.x_row_bytes / static_cast<int64_t>(sizeof(float)),
                           .rows = task.row_count,
                           .w = FloatsOf(weights) + first_output * columns,
                           .w_stride = columns,
                           .outputs = outputs,
                           .columns = columns,
                           .y = task.y + first_output,
                           .y_stride = task.y_stride,
                           .accumulate = task.accumulate};
  if (task.x_rows == nullptr) {
    product.Run();
  } else {
    MultiplyGathered(product, task.x_rows);
  }
}

int64_t KvPageBytes(const KvLayout& layout) {
  const int64_t value_dim = layout.value_in_key ? 0 : layout.value_dim;
  return layout.block_size * (layout.key_dim + value_dim) * static_cast<int64_t>(sizeof(float));
}

void KvWrite(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
             const float* value) {
  auto* keys = reinterpret_cast<float*>(page);
  std::copy_n(key, layout.key_dim, keys + slot * layout.key_dim);
  if (layout.value_in_key) return;
  float* values = keys + layout.block_size * layout.key_dim;
  std::copy_n(value, layout.value_dim, values + slot * layout.value_dim);
}

int64_t AttentionScratchBytes(const KvLayout& /*layout*/, int64_t /*query_rows*/) { return 0; }

void Attention(const AttentionTask& task) {
  for (int64_t row = 0; row < task.row_count; ++row) {
    const int64_t position = task.first_position + row;
    const int64_t first = FirstVisible(position, task.sliding_window, task.chunk);
    const int64_t end = EndVisible(position, task.lookahead, task.length);
    for (int64_t head = 0; head < task.heads; ++head) {
      HeadAttention attention(task, row, head);
      for (int64_t from = first; from < end;) {
        const int64_t span_end = std::min(end, (from / kAttentionSpan + 1) * kAttentionSpan);
        attention.AttendSpan(from, span_end);
        from = span_end;
      }
      attention.Finish();
    }
  }
}

}  // namespace weft::f32
