// The kernel tables: which function of which translation unit serves which entry.
#include <mutex>

#include "model/kernels/f32_kernels.h"
#include "model/kernels/isa_functions.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kv_page.h"
#include "model/kernels/packing.h"

namespace weft {
namespace {

template <const IsaFunctions& kIsa>
void MatmulBF16(const MatmulTask& task) {
  kIsa.matmul(task, task.weights->panel(task.first_panel));
}

int64_t KvPageBytes(int64_t block_size, int64_t head_dim) {
  return KvPageBytesBF16(block_size, head_dim);
}

template <const IsaFunctions& kIsa>
KernelTable TableBF16(std::string_view name, Isa isa) {
  return {
      .name = name,
      .arithmetic = Arithmetic::kBF16,
      .isa = isa,
      .operand_type = DataType::kBF16,
      .kv_type = DataType::kBF16,
      .packed_layout = PackedLayoutBF16,
      .panel_bytes = PanelBytesBF16,
      .pack_panels = PackPanelsBF16,
      .unpack_row = UnpackRowBF16,
      .matmul = MatmulBF16<kIsa>,
      .to_operand = kIsa.to_operand,
      .rms_norm = kIsa.rms_norm,
      .rms_norm_to_operand = kIsa.rms_norm_to_operand,
      .rope = kIsa.rope,
      .gated_activation_to_operand = kIsa.gated_activation_to_operand,
      .add = kIsa.add,
      .multiply_add = kIsa.multiply_add,
      .softmax = kIsa.softmax,
      .dense_dot = kIsa.dense_dot,
      .kv_page_bytes = KvPageBytes,
      .kv_write = kIsa.kv_write,
      .attention_scratch_bytes = kIsa.attention_scratch_bytes,
      .attention = kIsa.attention,
  };
}

// An operand row of float32 is the row itself, padded.
void PadOperandF32(int64_t n, float* out) {
  for (int64_t i = n; i < OperandColumns(n); ++i) out[i] = 0;
}

template <const IsaFunctions& kIsa>
void RmsNormToOperandF32(const float* x, const float* weight, int64_t n, float epsilon, void* out) {
  auto* operand = static_cast<float*>(out);
  kIsa.rms_norm(x, weight, n, epsilon, operand);
  PadOperandF32(n, operand);
}

template <const IsaFunctions& kIsa>
void GatedActivationToOperandF32(const float* gate, const float* up, int64_t n,
                                 ActivationKind activation, void* out) {
  auto* operand = static_cast<float*>(out);
  kIsa.gated_activation(gate, up, n, activation, operand);
  PadOperandF32(n, operand);
}

template <const IsaFunctions& kIsa>
KernelTable TableF32(Isa isa) {
  KernelTable table = TableBF16<kIsa>("f32/blas", isa);
  table.arithmetic = Arithmetic::kF32;
  table.operand_type = DataType::kF32;
  table.kv_type = DataType::kF32;
  table.packed_layout = f32::PackedLayout;
  table.panel_bytes = f32::PanelBytes;
  table.pack_panels = f32::PackPanels;
  table.unpack_row = f32::UnpackRow;
  table.matmul = f32::Matmul;
  table.to_operand = f32::ToOperand;
  table.rms_norm_to_operand = RmsNormToOperandF32<kIsa>;
  table.gated_activation_to_operand = GatedActivationToOperandF32<kIsa>;
  table.kv_page_bytes = f32::KvPageBytes;
  table.kv_write = f32::KvWrite;
  table.attention_scratch_bytes = f32::AttentionScratchBytes;
  table.attention = f32::Attention;
  return table;
}

template <const IsaFunctions& kIsa>
const KernelTable& Table(Arithmetic arithmetic, std::string_view bf16_name, Isa isa) {
  static const KernelTable bf16 = TableBF16<kIsa>(bf16_name, isa);
  static const KernelTable f32 = TableF32<kIsa>(isa);
  return arithmetic == Arithmetic::kBF16 ? bf16 : f32;
}

}  // namespace

const KernelTable& KernelsFor(Arithmetic arithmetic, Isa isa) {
  if (arithmetic == Arithmetic::kF32) {
    static std::once_flag blas_is_set;
    std::call_once(blas_is_set, f32::UseOneBlasThread);
  }
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:  // no kernels of its own yet
    case Isa::kAvx512:
      return Table<avx512::kFunctions>(arithmetic, "bf16/avx512", Isa::kAvx512);
    case Isa::kAvx2:
      return Table<avx2::kFunctions>(arithmetic, "bf16/avx2", Isa::kAvx2);
#else
    case Isa::kAmx:
    case Isa::kAvx512:
    case Isa::kAvx2:
#endif
    case Isa::kScalar:
      break;
  }
  return Table<scalar::kFunctions>(arithmetic, "bf16/scalar", Isa::kScalar);
}

}  // namespace weft
