// gpt-oss (https://arxiv.org/abs/2508.10925).
#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeGptOss(Hyperparameters& h) {
  h.SetHfDefaults({{"head_dim", int64_t{64}},
                   {"num_key_value_heads", int64_t{8}},
                   {"rms_norm_eps", 1e-5},
                   {"rope_theta", 150000.0},
                   {"sliding_window", int64_t{128}}});
  ModelSpec spec = ReadSizes(h, "gpt-oss");
  RopeSpec rope = ReadRope(h, spec, RopePairing::kHalves);
  if (h.is_gguf()) rope.truncates = false;  // of which GGUF has no key
  spec.ropes = {rope};
  ReadMixture(h, /*renormalizes=*/false, spec);
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  h.RefuseUnless({"", "swiglu_alpha"}, 1.702);
  h.RefuseUnless({"", "swiglu_limit"}, 7.0);
  h.RefuseUnless({"", "attention_bias"}, true);
  std::vector<bool> sliding;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    auto& mixture = std::get<MixtureSpec>(spec.layers[i].mlp);
    mixture.router.softmax_before_choice = false;
    mixture.activation = ActivationKind::kClampedSwiglu;
    sliding.push_back(i % 2 == 0);
  }
  ReadWindows(h, sliding, spec);
  return WithParameters(h,
                        {.mlp_norm = {"post_attention_norm", "post_attention_layernorm"},
                         .qkv_bias = true,
                         .attention_output_bias = true,
                         .sinks = true,
                         .expert_biases = true,
                         .hf_interleaved_gate_up = true},
                        std::move(spec));
}

}  // namespace weft
