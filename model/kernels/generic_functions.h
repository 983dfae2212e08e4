// The functions above, gathered. Included inside an unnamed namespace of each instruction set's
// translation unit.
#pragma once

constexpr IsaFunctions kGenericFunctions = {
    .matmul = Matmul,
    .to_operand = ToOperand,
    .rms_norm = RmsNorm,
    .rms_norm_to_operand = RmsNormToOperand,
    .rope = Rope,
    .gated_activation = GatedActivation,
    .gated_activation_to_operand = GatedActivationToOperand,
    .add = AddRow,
    .multiply_add = MultiplyAddRow,
    .softmax = Softmax,
    .dense_dot = DenseDot,
    .kv_write = KvWrite,
    .attention_scratch_bytes = AttentionScratchBytes,
    .attention = Attention,
};
