// GLM-4 (https://arxiv.org/abs/2406.12793) and GLM-4-0414, which has norms behind both blocks, too.
#include "model/families/decoder.h"

namespace weft {
namespace {

ModelSpec ReadGlm(Hyperparameters& h, std::string_view name) {
  h.SetHfDefaults({{"rms_norm_eps", 1.5625e-7},
                   {"partial_rotary_factor", 0.5},
                   {"head_dim", int64_t{128}},
                   {"num_key_value_heads", int64_t{2}}});
  ModelSpec spec = ReadSizes(h, name);
  RopeSpec rope = ReadRope(h, spec, RopePairing::kNeighbours);
  rope.pairing = RopePairing::kNeighbours;  // of safetensors, too
  spec.ropes = {rope};
  ReadDenseMlp(h, ActivationKind::kSilu, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  return spec;
}

constexpr FusedName kGateUp = {.name = {"ffn_up", "mlp.gate_up_proj"}};

}  // namespace

ModelDescription DescribeGlm(Hyperparameters& h) {
  ModelSpec spec = ReadGlm(h, "chatglm");
  // Files made of the first release, which transformers does not know, have the three in one.
  DecoderTensors tensors = {.qkv = {.name = {"attn_qkv", ""}}, .gate_up = kGateUp};
  tensors.qkv_bias = ReadSwitch(h, "attn_q.bias", "attention_bias", true) ||
                     h.tensors().contains("blk.0.attn_qkv.bias");
  return WithParameters(h, tensors, std::move(spec));
}

ModelDescription DescribeGlm4(Hyperparameters& h) {
  ModelSpec spec = ReadGlm(h, "glm4");
  SetOutputNorms(spec);
  DecoderTensors tensors = {
      .attention_output_norm = {"post_attention_norm", "post_self_attn_layernorm"},
      .gate_up = kGateUp,
      .mlp_output_norm = {"post_ffw_norm", "post_mlp_layernorm"}};
  tensors.qkv_bias = ReadSwitch(h, "attn_q.bias", "attention_bias", true);
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
