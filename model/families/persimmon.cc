// Persimmon (https://www.adept.ai/blog/persimmon-8b): layer norms of queries and keys, with biases.
#include <string>
#include <utility>

#include "model/families/decoder.h"

namespace weft {
namespace {

// Beside the weights, which are listed already.
void ListBias(NormSpec& norm, ParameterList& list) {
  constexpr std::string_view kWeight = "weight";
  Parameter bias = list.tables[static_cast<size_t>(norm.weight)];
  for (TensorSource& source : bias.sources) {
    source.name.replace(source.name.rfind(kWeight), kWeight.size(), "bias");
  }
  list.tables.push_back(std::move(bias));
  norm.bias = static_cast<TableId>(list.tables.size() - 1);
}

}  // namespace

ModelDescription DescribePersimmon(Hyperparameters& h) {
  h.SetHfDefaults({{"partial_rotary_factor", 0.5}});
  ModelSpec spec = ReadSizes(h, "persimmon", NormKind::kLayer, {.kv_head_count = ""});
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kReluSquared), spec,
               /*is_gated=*/false);
  const bool has_qk_norm = h.Bool({"", "qk_layernorm"}, true);
  if (has_qk_norm) SetQkNorm(HeadNorm::kEachHead, spec);
  ModelDescription description =
      WithParameters(h,
                     {.qkv = {.name = {"", "self_attn.query_key_value"}, .hf = Fusion::kByKvHead},
                      .query_norm = {"", "self_attn.q_layernorm"},
                      .key_norm = {"", "self_attn.k_layernorm"},
                      .attention_output = {"", "self_attn.dense"},
                      .up = {"", "mlp.dense_h_to_4h"},
                      .down = {"", "mlp.dense_4h_to_h"},
                      .head_norm = {"", "model.final_layernorm"},
                      .norm_bias = true,
                      .qkv_bias = true,
                      .attention_output_bias = true,
                      .mlp_bias = true},
                     std::move(spec));
  if (!has_qk_norm) return description;
  for (LayerSpec& layer : description.spec.layers) {
    ListBias(layer.attention.query_norm, description.parameters);
    ListBias(layer.attention.key_norm, description.parameters);
  }
  return description;
}

}  // namespace weft
