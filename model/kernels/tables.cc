// The kernel tables: which function of which translation unit serves which entry.

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "model/kernels/amx_check.h"
#include "model/kernels/f32_kernels.h"
#include "model/kernels/isa_functions.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/packing.h"
#include "model/kernels/peak_loops.h"

namespace weft {
namespace {

OperandType OperandOfBF16(PanelFormat layout) {
  return layout == PanelFormat::kF16 ? OperandType::kF32 : OperandType::kBF16;
}
OperandType OperandOfF32(PanelFormat /*layout*/) { return OperandType::kF32; }
OperandType OperandOfInt8(PanelFormat layout) {
  return HasIntegerCodes(layout) ? OperandType::kInt8 : OperandOfBF16(layout);
}

using Matmul = void (*)(const MatmulTask& task, const std::byte* panel);

// kIntegers: of weights that the int8 arithmetic multiplies as integers, kOthers: of what is not
// f16 either; nullptr: kIsa's own.
template <const IsaFunctions& kIsa, Matmul kIntegers, Matmul kOthers>
void MatmulByLayout(const MatmulTask& task) {
  const PanelFormat layout = task.weights->layout;
  const std::byte* const panel = task.weights->panel(task.first_panel);
  if (layout == PanelFormat::kF16) return kIsa.matmul_f16(task, panel);
  Matmul matmul = kOthers;
  if (HasIntegerCodes(layout)) matmul = kIntegers;
  (matmul == nullptr ? kIsa.matmul : matmul)(task, panel);
}

int64_t BytesOfPageBF16(const KvLayout& layout) { return KvPageBytesBF16(layout); }
int64_t BytesOfPageQ8(const KvLayout& layout) { return LayoutQ8(layout).end; }

template <const IsaFunctions& kIsa>
KernelTable TableBF16(std::string_view name, Isa isa) {
  return {
      .name = name,
      .arithmetic = Arithmetic::kBF16,
      .isa = isa,
      .kv_type = KvType::kBF16,
      .packed_layout = PackedLayoutBF16,
      .panel_bytes = PanelBytesBF16,
      .pack_panels = PackPanelsBF16,
      .unpack_row = UnpackRowBF16,
      .operand_type = OperandOfBF16,
      .matmul = MatmulByLayout<kIsa, nullptr, nullptr>,
      .rows_together = isa == Isa::kAmx ? 512 : 64,
      .to_operand = kIsa.to_operand,
      .rms_norm = kIsa.rms_norm,
      .layer_norm = kIsa.layer_norm,
      .rope = kIsa.rope,
      .gated_activation = kIsa.gated_activation,
      .activate = kIsa.activate,
      .xielu = kIsa.xielu,
      .sigmoid = kIsa.sigmoid,
      .soft_cap = kIsa.soft_cap,
      .scale = kIsa.scale,
      .add = kIsa.add,
      .multiply = kIsa.multiply,
      .multiply_add = kIsa.multiply_add,
      .softmax = kIsa.softmax,
      .dense_dot = kIsa.dense_dot,
      .recurrence = kIsa.recurrence,
      .convolution = kIsa.convolution,
      .kv_page_bytes = BytesOfPageBF16,
      .kv_write = kIsa.kv_bf16.write,
      .attention_scratch_bytes = kIsa.attention_scratch_bytes,
      .attention = kIsa.kv_bf16.attention,
      .attend_spans = kIsa.kv_bf16.attend_spans,
      .merge_spans = kIsa.merge_spans,
  };
}

template <const IsaFunctions& kIsa, Matmul kMatmulInt8>
KernelTable TableInt8(std::string_view name, Isa isa) {
  KernelTable table = TableBF16<kIsa>(name, isa);
  table.arithmetic = Arithmetic::kInt8;
  table.operand_type = OperandOfInt8;
  table.matmul = MatmulByLayout<kIsa, kMatmulInt8, nullptr>;
  return table;
}

template <const IsaFunctions& kIsa, Matmul kMatmulPair>
KernelTable TableBF16Pair(std::string_view name, Isa isa) {
  KernelTable table = TableBF16<kIsa>(name, isa);
  table.arithmetic = Arithmetic::kBF16Pair;
  table.matmul = MatmulByLayout<kIsa, kMatmulPair, kMatmulPair>;
  return table;
}

template <const IsaFunctions& kIsa, Matmul kMatmulInt8, Matmul kMatmulPair>
KernelTable TableInt8Pair(std::string_view name, Isa isa) {
  KernelTable table = TableBF16<kIsa>(name, isa);
  table.arithmetic = Arithmetic::kInt8Pair;
  table.operand_type = OperandOfInt8;
  table.matmul = MatmulByLayout<kIsa, kMatmulInt8, kMatmulPair>;
  return table;
}

template <const IsaFunctions& kIsa>
KernelTable WithKvQ8(KernelTable table) {
  table.kv_type = KvType::kQ8;
  table.kv_page_bytes = BytesOfPageQ8;
  table.kv_write = kIsa.kv_q8.write;
  table.attention = kIsa.kv_q8.attention;
  table.attend_spans = kIsa.kv_q8.attend_spans;
  return table;
}

template <const IsaFunctions& kIsa>
KernelTable TableF32(Isa isa) {
  KernelTable table = TableBF16<kIsa>("f32/blas", isa);
  table.arithmetic = Arithmetic::kF32;
  table.kv_type = KvType::kF32;
  table.packed_layout = f32::PackedLayout;
  table.panel_bytes = f32::PanelBytes;
  table.pack_panels = f32::PackPanels;
  table.unpack_row = f32::UnpackRow;
  table.operand_type = OperandOfF32;
  table.matmul = f32::Matmul;
  table.rows_together = std::numeric_limits<int64_t>::max();
  table.kv_page_bytes = f32::KvPageBytes;
  table.kv_write = f32::KvWrite;
  table.attention_scratch_bytes = f32::AttentionScratchBytes;
  table.attention = f32::Attention;
  table.attend_spans = nullptr;
  table.merge_spans = nullptr;
  return table;
}

struct TableNames {
  std::string_view bf16;
  std::string_view int8;
  std::string_view bf16_pair;
  std::string_view int8_pair;
};

template <const IsaFunctions& kIsa, Matmul kMatmulInt8, Matmul kMatmulPair>
const KernelTable& Table(Arithmetic arithmetic, KvType kv_type, const TableNames& names, Isa isa) {
  static const KernelTable f32 = TableF32<kIsa>(isa);
  static const KernelTable bf16 = TableBF16<kIsa>(names.bf16, isa);
  static const KernelTable int8 = TableInt8<kIsa, kMatmulInt8>(names.int8, isa);
  static const KernelTable pair = TableBF16Pair<kIsa, kMatmulPair>(names.bf16_pair, isa);
  static const KernelTable int8_pair =
      TableInt8Pair<kIsa, kMatmulInt8, kMatmulPair>(names.int8_pair, isa);
  static const KernelTable bf16_q8 = WithKvQ8<kIsa>(bf16);
  static const KernelTable int8_q8 = WithKvQ8<kIsa>(int8);
  static const KernelTable pair_q8 = WithKvQ8<kIsa>(pair);
  static const KernelTable int8_pair_q8 = WithKvQ8<kIsa>(int8_pair);
  const bool q8 = kv_type == KvType::kQ8;
  switch (arithmetic) {
    case Arithmetic::kF32:
      return f32;
    case Arithmetic::kBF16:
      return q8 ? bf16_q8 : bf16;
    case Arithmetic::kInt8:
      return q8 ? int8_q8 : int8;
    case Arithmetic::kBF16Pair:
      return q8 ? pair_q8 : pair;
    case Arithmetic::kInt8Pair:
      return q8 ? int8_pair_q8 : int8_pair;
  }
  return bf16;
}

#if defined(__x86_64__)
const KernelTable& TableAvx2(Arithmetic arithmetic, KvType kv_type) {
  if (DetectCpu().avx_vnni) {
    static constexpr TableNames kNames = {"bf16/avx2", "int8/avx2 with VNNI", "bf16pair/avx2",
                                          "int8+bf16pair/avx2 with VNNI"};
    return Table<avx2::kFunctionsWithVnni, avx_vnni::MatmulInt8, avx2::MatmulBF16Pair>(
        arithmetic, kv_type, kNames, Isa::kAvx2);
  }
  static constexpr TableNames kNames = {"bf16/avx2", "int8/avx2", "bf16pair/avx2",
                                        "int8+bf16pair/avx2"};
  return Table<avx2::kFunctions, avx2::MatmulInt8, avx2::MatmulBF16Pair>(arithmetic, kv_type,
                                                                         kNames, Isa::kAvx2);
}

// Of bf16pair by FMAs.
const KernelTable& TableAvx512WithoutBF16(Arithmetic arithmetic, KvType kv_type) {
  if (DetectCpu().avx512_vnni) {
    static constexpr TableNames kNames = {"bf16/avx512", "int8/avx512",
                                          "bf16pair/avx512 without BF16",
                                          "int8+bf16pair/avx512 without BF16"};
    return Table<avx512::kFunctionsWithVnni, avx512_vnni::MatmulInt8, avx512::MatmulBF16Pair>(
        arithmetic, kv_type, kNames, Isa::kAvx512);
  }
  static constexpr TableNames kNames = {"bf16/avx512", "int8/avx512 without VNNI",
                                        "bf16pair/avx512 without BF16",
                                        "int8+bf16pair/avx512 without VNNI and BF16"};
  return Table<avx512::kFunctions, avx2::MatmulInt8, avx512::MatmulBF16Pair>(arithmetic, kv_type,
                                                                             kNames, Isa::kAvx512);
}

const KernelTable& TableAvx512WithBF16(Arithmetic arithmetic, KvType kv_type) {
  static constexpr TableNames kNames = {"bf16/avx512", "int8/avx512", "bf16pair/avx512",
                                        "int8+bf16pair/avx512"};
  return Table<avx512::kFunctionsWithVnni, avx512_vnni::MatmulInt8, avx512_bf16::MatmulBF16Pair>(
      arithmetic, kv_type, kNames, Isa::kAvx512);
}

// Whether vdpbf16ps multiplies clearly more a second than FMAs do: twice as much on Zen 4, half as
// much on Emerald Rapids. The most of some short runs, in turn, so that what else runs has no say.
bool PairsAreFaster() {
  constexpr int64_t kRounds = 100;  // some microseconds
  constexpr int kRuns = 16;
  double pairs = 0;
  double fmas = 0;
  for (int run = 0; run < kRuns; ++run) {
    pairs = std::max(pairs, OperationsPerSecond(avx512_bf16::kPairPeak, kRounds));
    fmas = std::max(fmas, OperationsPerSecond(avx512::kFloatPeak, kRounds));
  }
  return pairs > 1.25 * fmas;
}

// Whether this processor has vdpbf16ps (and VNNI, which all that have it do), it is faster than
// FMAs and computes what they do.
bool PairsServe() {
  const CpuFeatures cpu = DetectCpu();
  if (!cpu.avx512_bf16 || !cpu.avx512_vnni || !PairsAreFaster()) return false;
  const KernelTable& pairs = TableAvx512WithBF16(Arithmetic::kBF16Pair, KvType::kBF16);
  const KernelTable& fmas = TableAvx512WithoutBF16(Arithmetic::kBF16Pair, KvType::kBF16);
  // With the second magnitude many products, and some sums, are denormal.
  if (SameProducts(pairs, fmas) && SameProducts(pairs, fmas, 0x1p-118F)) return true;
  Log(LogLevel::kWarning,
      "AVX-512 BF16: this processor's results differ from the definition; FMAs serve instead");
  return false;
}

bool PairsServeHere() {
  static const bool pairs_serve = PairsServe();
  return pairs_serve;
}

const KernelTable& TableAvx512(Arithmetic arithmetic, KvType kv_type) {
  return PairsServeHere() ? TableAvx512WithBF16(arithmetic, kv_type)
                          : TableAvx512WithoutBF16(arithmetic, kv_type);
}

const KernelTable& TableAmx(Arithmetic arithmetic, KvType kv_type) {
  static constexpr TableNames kNames = {"bf16/amx", "int8/amx", "bf16pair/avx512 with AMX",
                                        "int8+bf16pair/avx512 with AMX"};
  return Table<avx512::kFunctionsWithAmx, amx::MatmulInt8, avx512_bf16::MatmulBF16Pair>(
      arithmetic, kv_type, kNames, Isa::kAmx);
}

// Whether this processor has tiles, this process may use them and they multiply as defined, and so
// does what serves where tiles do not.
bool TilesServe() {
  const CpuFeatures cpu = DetectCpu();
  if (!cpu.amx_bf16 || !cpu.amx_int8 || !cpu.avx512_vnni || !cpu.avx512_bf16) return false;
  if (!RequestTiles()) return false;
  for (const Arithmetic arithmetic :
       {Arithmetic::kBF16, Arithmetic::kInt8, Arithmetic::kBF16Pair}) {
    const KernelTable& amx = TableAmx(arithmetic, KvType::kBF16);
    const KernelTable& avx512 = TableAvx512WithoutBF16(arithmetic, KvType::kBF16);
    if (SameProducts(amx, avx512) && SameAttention(amx, avx512)) continue;
    Log(LogLevel::kWarning,
        "AMX: this processor's {} results differ from the definition; AVX-512 serves instead",
        NameOf(arithmetic));
    return false;
  }
  return true;
}

const KernelTable& TableAmxOrAvx512(Arithmetic arithmetic, KvType kv_type) {
  static const bool tiles_serve = TilesServe();
  return tiles_serve ? TableAmx(arithmetic, kv_type) : TableAvx512(arithmetic, kv_type);
}
#endif

}  // namespace

const KernelTable& KernelsFor(Arithmetic arithmetic, Isa isa, KvType kv_type) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:
      return TableAmxOrAvx512(arithmetic, kv_type);
    case Isa::kAvx512:
      return TableAvx512(arithmetic, kv_type);
    case Isa::kAvx2:
      return TableAvx2(arithmetic, kv_type);
#else
    case Isa::kAmx:
    case Isa::kAvx512:
    case Isa::kAvx2:
#endif
    case Isa::kScalar:
      break;
  }
  static constexpr TableNames kNames = {"bf16/scalar", "int8/scalar", "bf16pair/scalar",
                                        "int8+bf16pair/scalar"};
  return Table<scalar::kFunctions, scalar::MatmulInt8, scalar::MatmulBF16Pair>(
      arithmetic, kv_type, kNames, Isa::kScalar);
}

bool MultipliesBF16([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAmx && KernelsFor(Arithmetic::kBF16, isa).isa == Isa::kAmx) return true;
  return (isa == Isa::kAmx || isa == Isa::kAvx512) && PairsServeHere();
#else
  return false;
#endif
}

Arithmetic AutoArithmetic(Isa isa) {
  const bool has_tiles = KernelsFor(Arithmetic::kBF16, isa).isa == Isa::kAmx;
  return has_tiles ? Arithmetic::kInt8 : Arithmetic::kInt8Pair;
}

}  // namespace weft
