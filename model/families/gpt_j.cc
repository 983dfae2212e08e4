// GPT-J (https://github.com/kingoflolz/mesh-transformer-jax): attention and MLP read the same norm,
// neighbours are rotated.
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeGptJ(Hyperparameters& h) {
  ModelSpec spec = ReadSizes(h, "gptj", NormKind::kLayer, kGpt2SizeKeys);
  SetParallel(spec);
  spec.ropes = {{.pairing = RopePairing::kNeighbours,
                 .rotary_dim = h.Int({"", "rotary_dim"}, {2, ConfigLimits::kHeadDim}, 64)}};
  ReadFourfoldMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluTanh), "n_inner",
                  spec);
  return WithParameters(h,
                        {.hf_base = "transformer.",
                         .hf_layers = "transformer.h",
                         .embedding = {"", "transformer.wte"},
                         .attention_norm = {"", "ln_1"},
                         .query = {"", "attn.q_proj"},
                         .key = {"", "attn.k_proj"},
                         .value = {"", "attn.v_proj"},
                         .attention_output = {"", "attn.out_proj"},
                         .mlp_norm = {"", "ln_1"},
                         .up = {"", "mlp.fc_in"},
                         .down = {"", "mlp.fc_out"},
                         .head_norm = {"", "transformer.ln_f"},
                         .norm_bias = true,
                         .mlp_bias = true,
                         .head_bias = true},
                        std::move(spec));
}

}  // namespace weft
