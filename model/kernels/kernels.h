// One table of function pointers per (arithmetic, instruction set). Everything a forward pass
// computes goes through it.
//
// The `bf16` arithmetic, which every instruction set reproduces bit for bit (scalar_math.h,
// scalar.cc and scalar_attention.cc are the definition; this is its summary):
//
// - Everything runs under ScopedFlushDenormals, which the caller holds: denormal inputs count as
//   zero, results that would be denormal become zero.
//
// - Dot product over k of two bf16 operands: k is padded with zeros to a multiple of 32. For each
//   group of 32, in ascending order: even = fma chain over the even k, from +0; odd = fma chain
//   over the odd k, from +0; acc = acc + (even + odd). acc starts at +0. All float32, round to
//   nearest even. That is AMX's tdpbf16ps.
//
// - The `bf16pair` arithmetic has another dot product of the same operands and is the same in all
//   else: one chain over all pairs (k = 2p, k = 2p + 1) in ascending order, of each the odd k
//   first: acc = fma(x_odd, w_odd, acc); acc = fma(x_even, w_even, acc). That is AVX-512 BF16's
//   vdpbf16ps, whatever instruction set computes it.
//
// - Weights: the file's dequantisation (formats/dequantize.h), rounded to bf16. Activations,
//   queries, keys, values: rounded to bf16 (denormals to zero, ties to even).
//
// - But for weights of f16 (PanelFormat::kF16), in every arithmetic: they stay what they are, and
//   activations float32; the dot product is bf16pair's chain.
//
// - Sums of float32 (norms, softmax, router): 16 virtual lanes, element i into lane i % 16 in
//   ascending order, a last partial 16 completed with zeros, then lanes folded 8, 4, 2, 1
//   (lane j += lane j + half). Squares and the router's products enter their lane by fma.
//
// - exp, tanh, activations: scalar_math.h, never libm.
//
// - Attention: spans of kAttentionSpan positions starting at absolute position 0, softmax in a
//   span, spans merged in ascending order; scalar_attention.cc says how. Masked slots count as
//   probability 0 and value 0, and are never multiplied; blocks without a visible position are
//   never read. With an 8-bit cache the products are sums of integers, which are exact.
//
// The `int8` arithmetic is the same but for products with weights that are quantised to integers
// (HasIntegerCodes), whose left operand is quantised to 8 bits in groups of 32 (Int8Group): integer
// dot products in a group, which are exact, and float32 fma over the groups in ascending order;
// then the same over what some groups are coded a second time with (Int8Residual). scalar_int8.cc
// is the definition. `int8+bf16pair` is int8 for such weights and bf16pair for others.
//
// NaN is NaN, whichever its sign and payload. Weights are finite: what a file's infinite scale
// makes is not finite either, but may be NaN here and infinity there.
//
// The `f32` arithmetic (BLAS): float32 throughout; outside the laws of equality.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/kernels/kinds.h"
#include "model/kernels/packed_matrix.h"
#include "model/tensor.h"

namespace weft {

enum class Arithmetic { kF32, kBF16, kInt8, kBF16Pair, kInt8Pair };
// What the KV cache holds: float32 (the f32 arithmetic, always), bf16, or codes of 8 bits with one
// scale a position and head for keys and one for values.
enum class KvType { kF32, kBF16, kQ8 };
enum class Isa { kScalar, kAvx2, kAvx512, kAmx };
std::string_view NameOf(Arithmetic arithmetic);
std::string_view NameOf(Isa isa);
std::string_view NameOf(KvType type);

inline constexpr int64_t kAttentionSpan = 256;

// What a product reads on its left: rows of groups of kGroupColumns elements, the last one
// completed with zeros. kF32 and kBF16 are the elements in order; kInt8 is an Int8Group a group.
enum class OperandType { kF32, kBF16, kInt8 };
inline constexpr size_t kOperandTypeCount = 3;

// 32 elements as codes[i] * scale. `scale` is the largest magnitude / 127; the code of x is x *
// (127 / largest magnitude), rounded to nearest even. Zeros where the largest magnitude is below
// kSmallestInt8Magnitude; scale NaN and codes zero where an element is not finite.
struct Int8Group {
  int8_t codes[32];  // element k at 4 * QuadOf(k) + ByteOf(k): panel_layout.h
  float scale;
  float scaled_sum;  // scale * the sum of the codes
  int32_t sums[2];   // of the codes of elements 0 .. 15 and 16 .. 31
};
inline constexpr float kSmallestInt8Magnitude = 0x1p-110F;

// What coding one group of a row has lost, coded again (int8_residual.h says of which groups). A
// row's are ascending in `group`; one with kNoGroup ends them.
struct alignas(64) Int8Residual {
  Int8Group codes;
  int32_t group;
};
inline constexpr int32_t kNoGroup = 0x7fffffff;

constexpr int64_t OperandGroups(int64_t columns) {
  return (columns + kGroupColumns - 1) / kGroupColumns;
}
constexpr int64_t OperandGroupBytes(OperandType type) {
  switch (type) {
    case OperandType::kF32:
      return kGroupColumns * 4;
    case OperandType::kBF16:
      return kGroupColumns * 2;
    case OperandType::kInt8:
      return sizeof(Int8Group);
  }
  return 0;
}

// y[r][p] (+)= sum over k of x[rows[r]][k] * w[p][k] for the outputs p of `panel_count` panels from
// `first_panel`.
struct MatmulTask {
  const PackedMatrix* weights = nullptr;
  int64_t first_panel = 0;
  int64_t panel_count = 0;
  // Weights that this thread most likely reads behind the end of these, so that memory is asked for
  // their beginning in time.
  const std::byte* next_panels = nullptr;
  int64_t next_bytes = 0;
  // Operand rows of the type that the table reads with these weights: group g of row r at x + r *
  // x_row_bytes + g * x_group_bytes. (f32: a row's groups follow one another.)
  const std::byte* x = nullptr;
  int64_t x_row_bytes = 0;
  int64_t x_group_bytes = 0;
  // Their residuals, an Int8Residual one after the other: those of row r at x_residuals + r *
  // x_residual_row_bytes; nullptr: none. Read where the weights' left operand is kInt8.
  const std::byte* x_residuals = nullptr;
  int64_t x_residual_row_bytes = 0;
  // Which rows of x, row_count of them; nullptr: 0 .. row_count - 1.
  const int32_t* x_rows = nullptr;
  int64_t row_count = 0;
  float* y = nullptr;  // y[r * y_stride + output]; outputs >= weights->rows are not written
  int64_t y_stride = 0;
  // Add to y (one float32 addition after the dot product) instead of storing.
  bool accumulate = false;
};

// Geometry of the KV cache; a page holds K and V of `block_size` positions of one kv head in one
// layer.
struct KvLayout {
  int64_t block_size = 0;     // positions; a multiple of 16
  int64_t key_dim = 0;        // elements of a head's key and query; even
  int64_t value_dim = 0;      // elements of a head's value and output
  bool value_in_key = false;  // a value is its key's first value_dim elements; no page holds it
  int64_t page_bytes = 0;     // what KernelTable::kv_page_bytes says of the others
};

// The first position that a query at `position` sees; the last is its own. `sliding_window` (0:
// none) is how many it sees at most; `chunk` (0: none) cuts a sequence into pieces of so many
// positions that see nothing of one another (Llama 4). `static`: every translation unit has its
// own, so that none leaks from one instruction set to another.
static constexpr int64_t FirstVisible(int64_t position, int64_t sliding_window, int64_t chunk) {
  const int64_t of_window = sliding_window > 0 ? position - sliding_window + 1 : 0;
  const int64_t of_chunk = chunk > 0 ? position / chunk * chunk : 0;
  const int64_t first = of_window > of_chunk ? of_window : of_chunk;
  return first > 0 ? first : 0;
}

// The position behind the last that a query at `position` sees: its own is the last in a decoder.
// In an encoder queries see `lookahead` positions more, as far as the sequence goes, of `length`.
static constexpr int64_t EndVisible(int64_t position, int64_t lookahead, int64_t length) {
  const int64_t next = position + 1;
  if (lookahead == 0) return next;
  return lookahead < length - next ? next + lookahead : length;
}

// What scores with a key get added by its distance, the key's position - the query's, beyond
// `reach` either way as much as there. A head's row has it for the distances from -(reach + 15) to
// reach + 15, so that sixteen neighbouring ones lie together wherever they begin.
static constexpr int64_t kDistanceMargin = 15;
static constexpr int64_t DistanceBiasFloats(int64_t reach) {
  return 2 * (reach + kDistanceMargin) + 1;
}
// Where in a row the sixteen from `distance` on are.
static constexpr int64_t DistanceBiasAt(int64_t reach, int64_t distance) {
  const int64_t first = -(reach + kDistanceMargin);
  if (distance < first) return 0;
  return (distance < reach ? distance : reach) - first;
}

// Attention of consecutive positions of one sequence, for the query heads that share one kv head.
struct AttentionTask {
  KvLayout layout;
  const std::byte* pages =
      nullptr;  // page of block b of this layer and kv head: pages + b * page_stride_bytes
  int64_t page_stride_bytes = 0;
  const int32_t* block_table =
      nullptr;  // block of positions [i * block_size, (i + 1) * block_size)
  int64_t first_position =
      0;  // of query row 0; row r is at first_position + r, and sees FirstVisible to EndVisible
  int64_t row_count = 0;
  int64_t sliding_window = 0;  // FirstVisible
  int64_t chunk = 0;           // FirstVisible
  int64_t lookahead = 0;       // EndVisible
  int64_t length = 0;          // EndVisible; read where lookahead is not 0
  int64_t heads = 0;           // query heads that share this kv head
  float scale = 0;             // of the dot products, mostly 1 / sqrt(key_dim)
  // What else scores go through, in this order; nothing in most models.
  float soft_cap = 0;  // 0: none; otherwise score = soft_cap * Tanh(score / soft_cap) (Gemma 2)
  // ALiBi (Press et al., 2021, arXiv:2108.12409): score -= slope * |key's position - query's|, one
  // slope a query head; nullptr: none.
  const float* slopes = nullptr;
  // Relative positions (Raffel et al., 2019, arXiv:1910.10683): score += what a query head has for
  // the distance, DistanceBiasFloats(bias_reach) a head; nullptr: none.
  const float* distance_bias = nullptr;
  int64_t bias_reach = 0;
  // One more score a query head, which takes its share of the softmax and has no value (gpt-oss'
  // attention sinks); nullptr: none.
  const float* sinks = nullptr;
  const float* query =
      nullptr;  // query[r * query_stride + head * key_dim + i], after RoPE; rounded inside
  int64_t query_stride = 0;
  float* out = nullptr;  // out[r * out_stride + head * value_dim + i]; nothing else is written
  int64_t out_stride = 0;
  std::byte* scratch =
      nullptr;  // kernels' own, attention_scratch_bytes(layout, row_count * heads), 64-byte aligned
};

// Consecutive positions of one sequence through a layer's linear attention (Katharopoulos et al.,
// 2020, arXiv:2006.16236), one head: a state of fixed size, S (key_dim, value_count), takes the
// place of the keys and values of all earlier positions. Of each position, in order, with its
// decay d, and, with the delta rule (Yang et al., 2024, arXiv:2412.06464), its beta:
//
//   change = value                            without the delta rule
//   change = (value - d * S^T key) * beta     with it
//   S = d * S + key change^T
//   out = S^T query
//
// That is the gated delta net, and, with dt * x, B and C as value, key and query, Mamba-2 (Dao and
// Gu, 2024, arXiv:2405.21060). Columns know nothing of one another: a task may have some of a
// head's. scalar_recurrence.cc defines the bits, position by position, so that they do not depend
// on where a prompt is cut.
struct RecurrenceTask {
  int64_t key_dim = 0;
  int64_t value_count = 0;     // columns
  int64_t position_count = 0;  // p below
  float* state = nullptr;      // row i at state + i * state_stride; before, then after
  int64_t state_stride = 0;
  const float* query = nullptr;  // query[p * query_stride + i]
  int64_t query_stride = 0;
  const float* key = nullptr;  // key[p * key_stride + i]
  int64_t key_stride = 0;
  const float* value = nullptr;  // value[p * value_stride + column]
  int64_t value_stride = 0;
  const float* decay = nullptr;  // decay[p * gate_stride]
  const float* beta = nullptr;   // beta[p * gate_stride]; nullptr: no delta rule
  int64_t gate_stride = 0;
  float* out = nullptr;  // out[p * out_stride + column]; not in place
  int64_t out_stride = 0;
};

// A causal convolution of each channel by itself, of consecutive positions of one sequence:
//
//   out[p][c] = bias[c] + sum over j < width of weight[j][c] * x[p - (width - 1) + j][c]
//
// where the positions before the first are the state's.
struct ConvolutionTask {
  static constexpr int64_t kMostWidth = 8;

  int64_t width = 0;
  int64_t channel_count = 0;
  int64_t position_count = 0;
  const float* weight = nullptr;  // weight[j * row_stride + channel], the oldest position's first
  const float* bias = nullptr;    // bias[channel]; nullptr: none
  float* state = nullptr;         // state[j * row_stride + channel], likewise; before, then after
  int64_t row_stride = 0;
  const float* x = nullptr;  // x[p * x_stride + channel]
  int64_t x_stride = 0;
  float* out = nullptr;  // out[p * out_stride + channel]; not in place
  int64_t out_stride = 0;
};

struct KernelTable {
  std::string_view name;  // "bf16/avx512"
  Arithmetic arithmetic;
  Isa isa;
  KvType kv_type;

  // --- weights ---
  // The layout that a file's type gets, and the bytes of one panel of it.
  PanelFormat (*packed_layout)(DataType file_type);
  int64_t (*panel_bytes)(PanelFormat layout, int64_t columns);
  // Packs the panels from first_panel on into `packed`, whose fields and storage are set. `rows`:
  // those of these panels alone, in file format; sixteen each, but for the matrix's last panel.
  // Different panels may be packed at the same time.
  void (*pack_panels)(const TensorView& rows, int64_t first_panel, PackedMatrix& packed);
  // One row of the matrix as the definition sees it (bf16 values for bf16): the embedding lookup.
  void (*unpack_row)(const PackedMatrix& weights, int64_t row, float* out);
  // What products with weights in this layout read on their left.
  OperandType (*operand_type)(PanelFormat layout);
  void (*matmul)(const MatmulTask& task);
  // The rows that a product multiplies with what it has unpacked of the weights: of more rows it
  // goes over the weights again.
  int64_t rows_together;

  // --- rows of float32 ---
  // Writes OperandGroups(n) groups, each `group_stride_bytes` after the one before.
  void (*to_operand)(OperandType type, const float* x, int64_t n, std::byte* out,
                     int64_t group_stride_bytes);
  // x / sqrt(mean(x^2) + epsilon) * weight. Multiplication order: (x * scale) * weight. weight may
  // be nullptr: no factor.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float epsilon,
                   float* out);  // out may be x
  // (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * weight + bias, in this order with a
  // rounding each; the mean first, then the squares. weight and bias may be nullptr; out may be x.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, int64_t n,
                     float epsilon, float* out);
  // Rotates the first rotary_dim elements of one head in place; cos and sin hold rotary_dim / 2
  // values.
  void (*rope)(float* head, const float* cos, const float* sin, int64_t rotary_dim,
               RopePairing pairing);
  // activation(gate[i]) * up[i], or kClampedSwiglu; not kXielu. out may be gate.
  void (*gated_activation)(const float* gate, const float* up, int64_t n, ActivationKind activation,
                           float* out);
  // activation(x[i]), of an MLP without a gate; neither kClampedSwiglu nor kXielu. out may be x.
  void (*activate)(const float* x, int64_t n, ActivationKind activation, float* out);
  // xIELU (Huang and Schlag, 2024, arXiv:2411.13010) with beta 0.5; the alphas are those that
  // multiply, a model file's after softplus and beta. out may be x.
  void (*xielu)(const float* x, int64_t n, float alpha_positive, float alpha_negative, float* out);
  void (*sigmoid)(float* x, int64_t n);                   // x = 1 / (1 + e^-x)
  void (*soft_cap)(float* x, int64_t n, float cap);       // x = cap * Tanh(x / cap): logits
  void (*scale)(float* x, float factor, int64_t n);       // x *= factor
  void (*add)(float* x, const float* y, int64_t n);       // x += y
  void (*multiply)(float* x, const float* y, int64_t n);  // x *= y
  void (*multiply_add)(float* x, const float* y, float factor,
                       int64_t n);       // x = fma(y, factor, x): an expert's output
  void (*softmax)(float* x, int64_t n);  // in place, maximum subtracted
  // y[i] = dot(x, w row i), float32 over 16 virtual lanes with fma: the router. w is row-major
  // float32.
  void (*dense_dot)(const float* x, const float* w, int64_t rows, int64_t columns, float* y);

  // --- linear attention ---
  void (*recurrence)(const RecurrenceTask& task);
  void (*convolution)(const ConvolutionTask& task);

  // --- KV cache and attention ---
  int64_t (*kv_page_bytes)(const KvLayout& layout);
  // Writes one position's key and value (key_dim and value_dim float32, rounded here) into `slot`
  // of a page; `value` is not read where it is in the key.
  void (*kv_write)(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
                   const float* value);
  int64_t (*attention_scratch_bytes)(const KvLayout& layout, int64_t query_rows);
  void (*attention)(const AttentionTask& task);
  // The same in pieces, so that the spans of a long context can be worked on at the same time:
  // attend_spans leaves a partial result (kv_page.h) for each of the spans [first_span, first_span
  // + span_count) and each query row, partials[(span - first_span) * query rows + query row], as
  // far as the row sees that span; merge_spans makes `out` of all spans that the task sees, from
  // the first on. Both are nullptr where attention cannot be cut.
  void (*attend_spans)(const AttentionTask& task, int64_t first_span, int64_t span_count,
                       float* partials);
  void (*merge_spans)(const AttentionTask& task, int64_t first_span, float* partials);
};

// What the processor and the operating system offer (CPUID and XCR0, never a model number).
struct CpuFeatures {
  bool avx2_fma = false;  // AVX2, FMA, F16C
  bool avx_vnni = false;  // VNNI of 256 bits, of processors that need no AVX-512 for it
  bool avx512 = false;    // F, BW, DQ, VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_vbmi = false;
  bool amx_bf16 = false;  // with tile registers that the operating system saves
  bool amx_int8 = false;
};
CpuFeatures DetectCpu();

// The best instruction set here, or the one that WEFT_ISA names ("scalar", "avx2", "avx512",
// "amx"); an error if that one is unknown or this machine lacks it. Asks the operating system for
// AMX's tiles if that is the choice: call it before threads start.
Result<Isa> ChooseIsa();
// Asks the operating system for AMX's tiles, for all threads of this process: false if it refuses.
bool RequestTiles();
// The table for an arithmetic on an instruction set; where a set has no kernels of its own the next
// lower one's, and the table's name says which. The first time for AMX, some products and some
// attention are computed and compared with AVX-512's: on a processor where they differ, AVX-512's
// table serves and the log says so. So it is with AVX-512 BF16's products and FMAs, which serve
// where they are faster, too. `kv_type` is kBF16 or kQ8; the f32 arithmetic has kF32 whatever it
// says, and LoadBlas() (model/kernels/blas.h) comes before its products.
const KernelTable& KernelsFor(Arithmetic arithmetic, Isa isa, KvType kv_type = KvType::kBF16);

// Whether bf16 is multiplied by what the processor has for it, tiles or vdpbf16ps, which is where
// that is faster than FMAs. The first time it takes some hundred microseconds to find out.
bool MultipliesBF16(Isa isa);

// What runs where nobody asks for another: quantised weights in int8, others in bf16 where AMX
// multiplies them, and in bf16pair elsewhere.
Arithmetic AutoArithmetic(Isa isa);

// The k largest of values[0..n) into indices, largest first; equal values: the lower index first.
// NaN counts as the smallest.
void TopK(const float* values, int64_t n, int64_t k, int32_t* indices);

}  // namespace weft
