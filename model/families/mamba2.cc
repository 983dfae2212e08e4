// Mamba-2 (https://arxiv.org/abs/2405.21060): a state space a layer, and nothing besides.
#include <utility>

#include "model/families/decoder.h"

namespace weft {

ModelDescription DescribeMamba2(Hyperparameters& h) {
  // There is no end to the positions; llama.cpp's converter has the same number.
  h.SetHfDefaults({{"max_position_embeddings", int64_t{1} << 20},
                   {"num_heads", int64_t{128}},
                   {"head_dim", int64_t{64}},
                   {"state_size", int64_t{128}},
                   {"n_groups", int64_t{8}},
                   {"expand", int64_t{2}},
                   {"conv_kernel", int64_t{4}},
                   {"layer_norm_epsilon", 1e-5}});
  h.RefuseUnless({"", "hidden_act"}, std::string("silu"));
  ModelSpec spec = ReadSizes(h, "mamba2", NormKind::kRms,
                             {.epsilon = "layer_norm_epsilon", .has_attention = false});
  const StateSpaceSpec space = ReadStateSpace(h, spec,
                                              {.head_count = "num_heads",
                                               .head_dim = "head_dim",
                                               .expand = "expand",
                                               .group_count = "n_groups",
                                               .state_dim = "state_size",
                                               .conv_width = "conv_kernel"});
  for (LayerSpec& layer : spec.layers) {
    SetStateSpace(space, layer);
    layer.mlp_norm = {};
  }
  DecoderTensors tensors;
  tensors.hf_base = "backbone.";
  tensors.hf_layers = "backbone.layers";
  tensors.hf_state_space = "mixer.";
  tensors.embedding = {"token_embd", "backbone.embeddings"};
  tensors.attention_norm = {"attn_norm", "norm"};
  tensors.head_norm = {"output_norm", "backbone.norm_f"};
  tensors.state_space_conv_bias = ReadStateSpaceConvBias(h, spec, "use_conv_bias");
  tensors.state_space_bias = h.Bool({"", "use_bias"}, false);
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
