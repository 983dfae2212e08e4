// gte v1.5 (https://arxiv.org/abs/2407.19669), with which Snowflake's arctic-embed v2 shares its
// code: BERT with RoPE and gated MLPs.
#include <string>
#include <utility>
#include <vector>

#include "base/exact_math.h"
#include "model/families/bert.h"

namespace weft {
namespace {

// NTK's scaling (https://kexue.fm/archives/9706) whatever the length: a wider base and slower
// pairs, or pairs slower by exp(a k^b), k = 1, 2, ..., the last of them by the whole factor.
RopeSpec ReadNtkRope(Hyperparameters& h, const ModelSpec& spec) {
  constexpr Field kMixed = {"", "rope_scaling.mixed_b"};
  RopeSpec rope;
  rope.rotary_dim = spec.layers.front().attention.key_dim;
  rope.base = h.Positive({"", "rope_theta"}, 10000);
  const double factor = h.Positive({"", "rope_scaling.factor"});
  const int64_t pairs = rope.rotary_dim / 2;
  if (!h.Has(kMixed)) {
    rope.base *= factor;
    const double slower = exact::Pow(factor, 2 / static_cast<double>(rope.rotary_dim));
    rope.frequency_divisors.assign(static_cast<size_t>(pairs), static_cast<float>(slower));
    return rope;
  }
  const double power = h.Positive(kMixed);
  for (int64_t pair = 1; pair <= pairs; ++pair) {
    const double share = exact::Pow(static_cast<double>(pair) / static_cast<double>(pairs), power);
    rope.frequency_divisors.push_back(static_cast<float>(exact::Pow(factor, share)));
  }
  return rope;
}

RopeSpec ReadGteRope(Hyperparameters& h, const ModelSpec& spec) {
  h.ExpectObject({"", "rope_scaling"});
  if (h.String({"", "rope_scaling.type"}, "") == "ntk") return ReadNtkRope(h, spec);
  return ReadRope(h, spec, RopePairing::kHalves);
}

DecoderTensors GteTensors(bool is_own) {
  DecoderTensors tensors = {.attention_norm = {"", "attn_ln"},
                            .query = {"", "attention.q_proj"},
                            .key = {"", "attention.k_proj"},
                            .value = {"", "attention.v_proj"},
                            .qkv = {.name = {"", "attention.qkv_proj"}},
                            .attention_output = {"", "attention.o_proj"},
                            .mlp_norm = {"", "mlp_ln"},
                            .gate_up = {.name = {"", "mlp.up_gate_proj"}},
                            .up_before_gate = true,
                            .down = {"", "mlp.down_proj"},
                            .norm_bias = true,
                            .qkv_bias = true,
                            .attention_output_bias = true,
                            .mlp_down_bias = true};
  if (is_own) {
    tensors.hf_base = "new.";
    tensors.hf_layers = "new.encoder.layer";
    tensors.embedding.hf = "new.embeddings.word_embeddings";
    tensors.token_types.hf = "new.embeddings.token_type_embeddings";
    tensors.embedding_norm.hf = "new.embeddings.LayerNorm";
  } else {
    tensors.hf_base = "gte.";
    tensors.hf_layers = "gte.encoder.layer";
    tensors.embedding.hf = "gte.embeddings.word_embeddings";
    tensors.token_types.hf = "gte.embeddings.token_type_embeddings";
    tensors.embedding_norm.hf = "gte.embeddings.LayerNorm";
  }
  return tensors;
}

}  // namespace

ModelDescription DescribeGte(Hyperparameters& h) {
  // The code that checkpoints were published with has a name of its own for the model in them.
  const bool is_own = h.String({"", "model_type"}, "") == "new";
  // transformers' class and that of the checkpoints' own code differ in the base, which all state.
  h.SetHfDefaults({{"rope_theta", h.Has({"", "rope_parameters"}) ? 160000.0 : 10000.0}});
  ModelSpec spec = ReadBert(h, "gte", {.kv_head_count = ""});
  spec.embedding.position_count = 0;
  h.RefuseUnless({"", "position_embedding_type"}, std::string("rope"));
  h.RefuseUnless({"", "layer_norm_type"}, std::string("layer_norm"));
  h.RefuseUnless({"", "logn_attention_scale"}, false);
  for (LayerSpec& layer : spec.layers) layer.attention.rope = 0;
  spec.ropes = {ReadGteRope(h, spec)};
  spec.embedding.type_count = ReadTypeCount(h, 1);
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec);
  ModelDescription description =
      WithoutHeads(WithParameters(h, GteTensors(is_own), std::move(spec)),
                   {is_own ? "new.pooler." : "gte.pooler.", "pooler.", "lm_head."});
  AddClassifier(h, Pooling::kFirst,
                {{.name = is_own ? "new.pooler.dense" : "gte.pooler.dense",
                  .activation = PooledActivation::kTanh},
                 {.name = "classifier"}},
                description);
  return description;
}

}  // namespace weft
