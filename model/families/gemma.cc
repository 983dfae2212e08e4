// Gemma (https://arxiv.org/abs/2403.08295), 2 (https://arxiv.org/abs/2408.00118) and 3
// (https://arxiv.org/abs/2503.19786), their text, VaultGemma (https://arxiv.org/abs/2510.15001) and
// EmbeddingGemma (https://arxiv.org/abs/2509.20354), which is the third as an encoder.
#include <cmath>

#include "model/families/decoder.h"

namespace weft {
namespace {

DecoderTensors Tensors() {
  return {.mlp_norm = {"ffn_norm", "pre_feedforward_layernorm"}, .hf_norms_less_one = true};
}

// What both have. Files of llama.cpp do not have the scale of scores: it is that of 27B, or follows
// from the head.
ModelSpec ReadGemma(Hyperparameters& h, std::string_view name, int64_t layers_of_27b,
                    bool is_encoder = false) {
  h.SetHfDefaults({{"hidden_activation", std::string("gelu_pytorch_tanh")},
                   {"query_pre_attn_scalar", 256.0},
                   {"sliding_window", int64_t{4096}},
                   {"tie_word_embeddings", true},
                   {"head_dim", int64_t{256}},
                   {"num_attention_heads", int64_t{8}},
                   {"num_key_value_heads", int64_t{4}}});
  ModelSpec spec = is_encoder ? ReadEncoderSizes(h, name, NormKind::kRms) : ReadSizes(h, name);
  SetOutputNorms(spec);
  spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  ReadDenseMlp(h, ActivationKind::kGeluTanh, spec);
  h.RefuseUnless({"", "hidden_activation"}, std::string("gelu_pytorch_tanh"));
  h.Ignore({"", "hidden_act"});  // of the first release; transformers does not read it, either
  const AttentionSpec& heads = spec.layers.front().attention;
  const bool is_27b = h.is_gguf() && spec.layer_count() == layers_of_27b;
  const int64_t scaled_by = is_27b ? spec.hidden_size / heads.head_count : heads.key_dim;
  const auto scale = static_cast<float>(
      1 / std::sqrt(h.Positive({"", "query_pre_attn_scalar"}, static_cast<double>(scaled_by))));
  const float score_cap = ReadCap(h, {"attn_logit_softcapping", "attn_logit_softcapping"});
  spec.head.soft_cap = ReadCap(h, {"final_logit_softcapping", "final_logit_softcapping"});
  for (LayerSpec& layer : spec.layers) {
    layer.attention.scale = scale;
    layer.attention.score.soft_cap = score_cap;
  }
  return spec;
}

void SetGemma3Defaults(Hyperparameters& h) {
  h.SetHfDefaults({{"max_position_embeddings", int64_t{131072}},
                   {"rope_theta", 1e6},
                   {"vocab_size", int64_t{262208}}});
}

void ReadGemma3Attention(Hyperparameters& h, ModelSpec& spec) {
  SetQkNorm(HeadNorm::kEachHead, spec);
  const int64_t period = h.Int({"", "sliding_window_pattern"}, {1, ConfigLimits::kLayers}, 6);
  ReadWindows(h, AllButEvery(period, spec.layer_count()), spec);
  const RopeSpec global = ReadRope(h, spec, RopePairing::kHalves);
  SetRopesByWindow(global, ReadLocalRope(h, global, spec, 10000.0), spec);
}

}  // namespace

ModelDescription DescribeGemma(Hyperparameters& h) {
  h.SetHfDefaults({{"head_dim", int64_t{256}}, {"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "gemma");
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  ReadDenseMlp(h, ActivationKind::kGeluTanh, spec);
  h.RefuseUnless({"", "hidden_activation"}, std::string("gelu_pytorch_tanh"));
  // The first release says "gelu", and means the other, as transformers knows.
  if (h.String({"", "hidden_act"}, "gelu") != "gelu") {
    h.RefuseUnless({"", "hidden_act"}, std::string("gelu_pytorch_tanh"));
  }
  return WithParameters(h, {.hf_norms_less_one = true}, std::move(spec));
}

ModelDescription DescribeGemma2(Hyperparameters& h) {
  h.SetHfDefaults({{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30.0}});
  ModelSpec spec = ReadGemma(h, "gemma2", /*layers_of_27b=*/46);
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadWindows(h, AllButEvery(2, spec.layer_count()), spec);
  return WithParameters(h, Tensors(), std::move(spec));
}

// As the second, without the norms of what attention and MLP give.
ModelDescription DescribeVaultGemma(Hyperparameters& h) {
  h.SetHfDefaults({{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30.0}});
  ModelSpec spec = ReadGemma(h, "vaultgemma", /*layers_of_27b=*/0);
  for (LayerSpec& layer : spec.layers) layer.attention_output_norm = layer.mlp_output_norm = {};
  spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  ReadWindows(h, AllButEvery(2, spec.layer_count()), spec);
  return WithParameters(h, Tensors(), std::move(spec));
}

ModelDescription DescribeGemma3(Hyperparameters& h) {
  SetGemma3Defaults(h);
  ModelSpec spec = ReadGemma(h, "gemma3", /*layers_of_27b=*/62);
  ReadGemma3Attention(h, spec);
  return WithParameters(h, Tensors(), std::move(spec));
}

ModelDescription DescribeGemmaEmbedding(Hyperparameters& h) {
  SetGemma3Defaults(h);
  ModelSpec spec = ReadGemma(h, "gemma-embedding", /*layers_of_27b=*/0, /*is_encoder=*/true);
  ReadGemma3Attention(h, spec);
  // The window is that of both sides together.
  for (LayerSpec& layer : spec.layers) {
    AttentionSpec& attention = layer.attention;
    if (attention.window == 0) continue;
    attention.lookahead = attention.window / 2;
    attention.window = attention.lookahead + 1;
  }
  constexpr Field kBothWays = {"", "use_bidirectional_attention"};
  if (!h.is_gguf() && !h.Bool(kBothWays, false)) {
    h.Reject(ErrorCode::kUnsupported, kBothWays, "is not true: a decoder without its head");
  }
  return WithParameters(h, Tensors(), std::move(spec));
}

}  // namespace weft
