// T5 (https://arxiv.org/abs/1910.10683), its version 1.1, and what is trained from that: Flan-T5
// (https://arxiv.org/abs/2210.11416), mT5 (https://arxiv.org/abs/2010.11934). Attention knows
// positions by a bias of its scores, which are not scaled.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

struct T5Mlp {
  ActivationKind activation = ActivationKind::kRelu;
  bool is_gated = false;
};

// In GGUF the tensors say which of the two that were published it is.
T5Mlp ReadT5Mlp(Hyperparameters& h) {
  constexpr T5Mlp kGatedGelu = {ActivationKind::kGeluTanh, true};
  constexpr std::pair<std::string_view, T5Mlp> kWords[] = {
      {"relu", {}},
      {"gated-gelu", kGatedGelu},
      {"gated-relu", {ActivationKind::kRelu, true}},
      {"gated-silu", {ActivationKind::kSilu, true}},
  };
  if (h.is_gguf()) return h.tensors().contains("enc.blk.0.ffn_gate.weight") ? kGatedGelu : T5Mlp{};
  constexpr Field kField = {"", "feed_forward_proj"};
  const std::string word = h.String(kField, "relu");
  for (const auto& [known, mlp] : kWords) {
    if (word == known) return mlp;
  }
  h.Reject(ErrorCode::kUnsupported, kField,
           "is " + Quoted(word) + ", expected relu, gated-gelu, gated-relu or gated-silu");
  return {};
}

HfSizeKeys T5SizeKeys(bool is_encoder) {
  return {.context_length = "n_positions",
          .layer_count = is_encoder ? "num_layers" : "num_decoder_layers",
          .gguf_layer_count = is_encoder ? "block_count" : "decoder_block_count",
          .hidden_size = "d_model",
          .head_count = "num_heads",
          .head_dim = "d_kv",
          .kv_head_count = "",
          .epsilon = "layer_norm_epsilon"};
}

// What an encoder and a decoder have in common.
void ReadT5Half(Hyperparameters& h, ModelSpec& spec) {
  SetNoRope(spec);
  for (LayerSpec& layer : spec.layers) layer.attention.scale = 1;
  const T5Mlp mlp = ReadT5Mlp(h);
  ReadDenseMlp(h, mlp.activation, spec, mlp.is_gated, "d_ff");
}

RelativeBuckets ReadT5Buckets(Hyperparameters& h, bool is_causal) {
  constexpr int64_t kMostBuckets = 4096;
  constexpr int64_t kMostDistance = 65536;
  RelativeBuckets buckets;
  // At least two of their own on each side.
  buckets.count = h.Int({"attention.relative_buckets_count", "relative_attention_num_buckets"},
                        {8, kMostBuckets}, 32);
  buckets.max_distance =
      h.Int({"", "relative_attention_max_distance"}, {buckets.count, kMostDistance},
            std::max<int64_t>(buckets.count, 128));
  buckets.is_causal = is_causal;
  return buckets;
}

DecoderTensors T5Tensors(Hyperparameters& h, bool is_encoder, bool is_gated) {
  DecoderTensors tensors = {
      .hf_base = "",
      .hf_layers = is_encoder ? "encoder.block" : "decoder.block",
      .gguf_layers = is_encoder ? "enc.blk" : "dec.blk",
      .embedding = {"token_embd", "shared"},
      .attention_norm = {"attn_norm", "layer.0.layer_norm"},
      .query = {"attn_q", "layer.0.SelfAttention.q"},
      .key = {"attn_k", "layer.0.SelfAttention.k"},
      .value = {"attn_v", "layer.0.SelfAttention.v"},
      .attention_output = {"attn_o", "layer.0.SelfAttention.o"},
      .cross_norm = {"cross_attn_norm", "layer.1.layer_norm"},
      .cross_query = {"cross_attn_q", "layer.1.EncDecAttention.q"},
      .cross_key = {"cross_attn_k", "layer.1.EncDecAttention.k"},
      .cross_value = {"cross_attn_v", "layer.1.EncDecAttention.v"},
      .cross_output = {"cross_attn_o", "layer.1.EncDecAttention.o"},
      .mlp_norm = {"ffn_norm", is_encoder ? "layer.1.layer_norm" : "layer.2.layer_norm"},
      .gate = {"ffn_gate",
               is_encoder ? "layer.1.DenseReluDense.wi_0" : "layer.2.DenseReluDense.wi_0"},
      .down = {"ffn_down", is_encoder ? "layer.1.DenseReluDense.wo" : "layer.2.DenseReluDense.wo"},
      .head_norm = {is_encoder ? "enc.output_norm" : "dec.output_norm",
                    is_encoder ? "encoder.final_layer_norm" : "decoder.final_layer_norm"}};
  tensors.up = {"ffn_up",
                is_gated
                    ? (is_encoder ? "layer.1.DenseReluDense.wi_1" : "layer.2.DenseReluDense.wi_1")
                    : (is_encoder ? "layer.1.DenseReluDense.wi" : "layer.2.DenseReluDense.wi")};
  tensors.relative_bias = {
      .name = {is_encoder ? "enc.blk.0.attn_rel_b" : "dec.blk.0.attn_rel_b",
               is_encoder ? "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"
                          : "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
      .buckets = ReadT5Buckets(h, !is_encoder)};
  return tensors;
}

// Checkpoints name the one table of embeddings by one or several of its uses.
void AddEmbeddingNames(const Hyperparameters& h, ModelDescription& description) {
  if (h.is_gguf()) return;
  ParameterList& list = description.parameters;
  const MatrixId tokens = description.spec.embedding.tokens;
  for (const char* name : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}) {
    list.matrices[static_cast<size_t>(tokens)].sources.push_back({.name = name});
    list.unused_prefixes.emplace_back(name);
  }
}

ModelSpec ReadT5Encoder(Hyperparameters& h) {
  h.SetHfDefaults({{"n_positions", int64_t{512}}, {"layer_norm_epsilon", 1e-6}});
  ModelSpec encoder = ReadEncoderSizes(h, "t5", NormKind::kRms, T5SizeKeys(true));
  ReadT5Half(h, encoder);
  return encoder;
}

bool IsGated(const ModelSpec& spec) {
  return std::get<DenseMlpSpec>(spec.layers.front().mlp).is_gated;
}

}  // namespace

ModelDescription DescribeT5(Hyperparameters& h) {
  h.RefuseUnless({"", "is_encoder_decoder"}, true);
  ModelSpec encoder = ReadT5Encoder(h);
  // As many layers as the encoder has where the file does not say.
  HfSizeKeys keys = T5SizeKeys(false);
  if (!h.Has({keys.gguf_layer_count, keys.layer_count})) {
    keys.layer_count = "num_layers";
    keys.gguf_layer_count = "block_count";
  }
  ModelSpec spec = ReadSizes(h, "t5", NormKind::kRms, keys);
  ReadT5Half(h, spec);
  SetCrossAttention(spec);
  ReadTarget(h, 0, spec);
  const DecoderTensors encoder_tensors = T5Tensors(h, true, IsGated(encoder));
  const DecoderTensors tensors = T5Tensors(h, false, IsGated(spec));
  ModelDescription description =
      WithParameters(h, encoder_tensors, std::move(encoder), tensors, std::move(spec));
  // 1.0 uses its embeddings as the head, scaled; 1.1 has a head of its own.
  ModelSpec& made = description.spec;
  if (h.Bool({"", "scale_decoder_outputs"}, made.has_tied_head())) {
    made.head.multiplier = 1 / std::sqrt(static_cast<float>(made.hidden_size));
  }
  AddEmbeddingNames(h, description);
  ParameterList& list = description.parameters;
  if (made.has_tied_head()) list.unused_prefixes.emplace_back("lm_head.weight");
  // The decoder's attention to the encoder had a table once that was never read.
  list.unused_prefixes.emplace_back("decoder.block.0.layer.1.EncDecAttention.relative_");
  return description;
}

ModelDescription DescribeT5Encoder(Hyperparameters& h) {
  ModelSpec encoder = ReadT5Encoder(h);
  const DecoderTensors tensors = T5Tensors(h, true, IsGated(encoder));
  ModelDescription description = WithParameters(h, tensors, std::move(encoder));
  AddEmbeddingNames(h, description);
  return description;
}

}  // namespace weft
