// ModernBERT (https://arxiv.org/abs/2412.13663): RoPE, gated MLPs, norms without biases before the
// halves, and windows in all layers but every third.
#include <algorithm>
#include <utility>
#include <vector>

#include "model/families/bert.h"

namespace weft {
namespace {

// The layers that see a part of the text, by config.json's list or by the period of those that see
// all of it, of which the first layer is one.
void ReadLocalLayers(Hyperparameters& h, ModelSpec& spec) {
  const int64_t width =
      h.Int({"attention.sliding_window", "local_attention"}, {2, ConfigLimits::kPositions}, 128);
  const int64_t period = h.Int({"attention.sliding_window_pattern", "global_attn_every_n_layers"},
                               {1, ConfigLimits::kLayers}, 3);
  std::vector<bool> is_local;
  for (int64_t i = 0; i < spec.layer_count(); ++i) is_local.push_back(i % period != 0);
  if (!h.is_gguf()) is_local = ReadSlidingLayers(h, is_local);
  for (size_t i = 0; i < is_local.size(); ++i) {
    if (!is_local[i]) continue;
    AttentionSpec& attention = spec.layers[i].attention;
    attention.lookahead = width / 2;
    attention.window = attention.lookahead + 1;
  }
}

}  // namespace

ModelDescription DescribeModernBert(Hyperparameters& h) {
  ModelSpec spec = ReadEncoderSizes(h, "modernbert", NormKind::kLayer,
                                    {.kv_head_count = "", .epsilon = "norm_eps"});
  spec.embedding.norm = spec.head.norm;
  ReadLocalLayers(h, spec);
  // Before version 5 of transformers the bases had names of their own.
  h.SetHfDefaults({{"rope_theta", h.Positive({"", "global_rope_theta"}, 160000)}});
  const RopeSpec global = ReadRope(h, spec, RopePairing::kHalves);
  const double local_base = h.Positive({"", "local_rope_theta"}, 10000);
  SetRopesByWindow(global, ReadLocalRope(h, global, spec, local_base), spec);
  ReadDenseMlp(h, ReadActivation(h, "hidden_activation", ActivationKind::kGeluExact), spec);
  h.RefuseUnless({"hidden_activation", ""}, std::string("gelu"));
  h.RefuseUnless({"", "norm_bias"}, false);
  const bool bias = h.Bool({"", "attention_bias"}, false);
  spec.layers.front().attention_norm = {};
  ModelDescription description =
      WithParameters(h,
                     {.embedding = {"token_embd", "model.embeddings.tok_embeddings"},
                      .embedding_norm = {"token_embd_norm", "model.embeddings.norm"},
                      .attention_norm = {"attn_norm", "attn_norm"},
                      .qkv = {.name = {"attn_qkv", "attn.Wqkv"}},
                      .attention_output = {"attn_output", "attn.Wo"},
                      .mlp_norm = {"ffn_norm", "mlp_norm"},
                      .gate_up = {.name = {"ffn_up", "mlp.Wi"}},
                      .down = {"ffn_down", "mlp.Wo"},
                      .head_norm = {"output_norm", "model.final_norm"},
                      .qkv_bias = bias,
                      .attention_output_bias = bias,
                      .mlp_bias = h.Bool({"", "mlp_bias"}, false)},
                     std::move(spec));
  // Of what it was trained with: no part of embeddings.
  description.parameters.unused_prefixes = {"head.", "decoder."};
  const bool has_dense_bias = h.Bool({"", "classifier_bias"}, false);
  description.masked_head =
      MaskedHeadLike(h, description.spec,
                     {.dense = "head.dense",
                      .norm = "head.norm",
                      .decoder = "decoder",
                      .has_dense_bias = has_dense_bias,
                      .has_norm_bias = false,
                      .has_decoder_bias = h.Bool({"", "decoder_bias"}, true)});
  description.masked_head->activation =
      ReadActivation(h, "classifier_activation", ActivationKind::kGeluExact);
  if (!h.has_classifier()) return description;
  h.RefuseUnless({"", "classifier_activation"}, std::string("gelu"));
  const bool of_first = h.String({"", "classifier_pooling"}, "cls") == "cls";
  AddClassifier(h, of_first ? Pooling::kFirst : Pooling::kMean,
                {{.name = "head.dense",
                  .activation = PooledActivation::kGelu,
                  .has_bias = has_dense_bias,
                  .norm = "head.norm"},
                 {.name = "classifier"}},
                description);
  return description;
}

}  // namespace weft
