// BART (https://arxiv.org/abs/1910.13461) and what is built like it: mBART
// (https://arxiv.org/abs/2001.08210), M2M100 and NLLB (https://arxiv.org/abs/2010.11125,
// https://arxiv.org/abs/2207.04672), Marian (https://arxiv.org/abs/1804.00344), Pegasus
// (https://arxiv.org/abs/1912.08777): encoder-decoders whose attention knows no positions, but for
// what is added to the embeddings.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/families/decoder.h"

namespace weft {
namespace {

enum class Positions { kLearned, kSinusoids, kSinusoidsByHalves };

// In what they differ.
struct BartKind {
  std::string_view architecture;
  bool norms_sums = false;  // or norms what attention and MLP read
  bool norms_embedding = false;
  Positions positions = Positions::kLearned;
  int64_t position_offset = 0;  // positions in the table that no token has
  std::string_view hf_activation = "gelu";
  TokenId start = 2;  // what config.json means that does not say
};

std::string_view HalfOf(const ModelSpec& spec) { return spec.is_encoder ? "encoder" : "decoder"; }

// What an encoder and a decoder have in common.
void ReadHalf(Hyperparameters& h, const BartKind& kind, ModelSpec& spec) {
  SetNoRope(spec);
  const NormSpec norm = spec.head.norm;
  if (kind.norms_sums) SetSumNorms(spec);
  if (kind.norms_embedding) spec.embedding.norm = norm;
  if (h.Bool({"", "scale_embedding"}, false)) {
    spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  }
  ReadDenseMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false, std::string(HalfOf(spec)) + "_ffn_dim");
}

HfSizeKeys SizeKeys(bool is_encoder) {
  return {.layer_count = is_encoder ? "encoder_layers" : "decoder_layers",
          .hidden_size = "d_model",
          .head_count = is_encoder ? "encoder_attention_heads" : "decoder_attention_heads",
          .kv_head_count = ""};
}

// Names, and positions.
DecoderTensors TensorsOf(Hyperparameters& h, const BartKind& kind, ModelSpec& spec) {
  const bool is_encoder = spec.is_encoder;
  DecoderTensors tensors = {
      .hf_layers = is_encoder ? "model.encoder.layers" : "model.decoder.layers",
      .embedding = {"", "model.shared"},
      .positions = {"",
                    is_encoder ? "model.encoder.embed_positions" : "model.decoder.embed_positions"},
      .embedding_norm = {"", is_encoder ? "model.encoder.layernorm_embedding"
                                        : "model.decoder.layernorm_embedding"},
      .attention_norm = {"", "self_attn_layer_norm"},
      .attention_output = {"", "self_attn.out_proj"},
      .cross_norm = {"", "encoder_attn_layer_norm"},
      .cross_query = {"", "encoder_attn.q_proj"},
      .cross_key = {"", "encoder_attn.k_proj"},
      .cross_value = {"", "encoder_attn.v_proj"},
      .cross_output = {"", "encoder_attn.out_proj"},
      .mlp_norm = {"", "final_layer_norm"},
      .up = {"", "fc1"},
      .down = {"", "fc2"},
      .head_norm = {"", is_encoder ? "model.encoder.layer_norm" : "model.decoder.layer_norm"},
      .norm_bias = true,
      .qkv_bias = true,
      .attention_output_bias = true,
      .mlp_bias = true};
  const int64_t half = spec.hidden_size / 2;
  switch (kind.positions) {
    case Positions::kLearned:
      spec.embedding.position_offset = kind.position_offset;
      spec.embedding.position_count = spec.context_length + kind.position_offset;
      break;
    case Positions::kSinusoids:
      SetSinusoids(h, kind.position_offset, half - 1, spec, tensors);
      break;
    case Positions::kSinusoidsByHalves:
      SetSinusoids(h, kind.position_offset, half, spec, tensors);
      break;
  }
  return tensors;
}

ModelDescription DescribeLikeBart(Hyperparameters& h, const BartKind& kind) {
  h.SetHfDefaults({{"tie_word_embeddings", true},
                   {"activation_function", std::string(kind.hf_activation)},
                   {"max_position_embeddings", int64_t{1024}}});
  h.RefuseUnless({"", "is_encoder_decoder"}, true);
  h.RefuseUnless({"", "is_decoder"}, false);
  h.RefuseUnless({"", "share_encoder_decoder_embeddings"}, true);
  ModelSpec encoder = ReadEncoderSizes(h, kind.architecture, NormKind::kLayer, SizeKeys(true));
  ReadHalf(h, kind, encoder);
  ModelSpec spec = ReadSizes(h, kind.architecture, NormKind::kLayer, SizeKeys(false));
  ReadHalf(h, kind, spec);
  SetCrossAttention(spec);
  ReadTarget(h, kind.start, spec);
  const DecoderTensors encoder_tensors = TensorsOf(h, kind, encoder);
  const DecoderTensors tensors = TensorsOf(h, kind, spec);
  ModelDescription description =
      WithParameters(h, encoder_tensors, std::move(encoder), tensors, std::move(spec));
  ParameterList& list = description.parameters;
  // Checkpoints name the one table of embeddings by one or several of its uses.
  std::vector<TensorSource>& sources =
      list.matrices[static_cast<size_t>(description.spec.embedding.tokens)].sources;
  for (const std::string name : {"model.encoder.embed_tokens", "model.decoder.embed_tokens"}) {
    sources.push_back({.name = name + ".weight"});
    list.unused_prefixes.push_back(name);
    // Sinusoids, which some have kept.
    if (kind.positions != Positions::kLearned) {
      const std::string half = name.substr(0, name.rfind('.'));
      list.unused_prefixes.push_back(half + ".embed_positions");
    }
  }
  if (description.spec.has_tied_head()) {
    sources.push_back({.name = "lm_head.weight"});
    list.unused_prefixes.emplace_back("lm_head.weight");
  }
  list.tables.push_back({.sources = {{.name = "final_logits_bias"}},
                         .rows = description.spec.vocab_size,
                         .is_optional = true});
  description.spec.head.linear.bias = static_cast<TableId>(list.tables.size() - 1);
  return description;
}

}  // namespace

ModelDescription DescribeBart(Hyperparameters& h) {
  h.RefuseUnless({"", "normalize_before"}, false);
  return DescribeLikeBart(
      h,
      {.architecture = "bart", .norms_sums = true, .norms_embedding = true, .position_offset = 2});
}

ModelDescription DescribeMBart(Hyperparameters& h) {
  return DescribeLikeBart(h,
                          {.architecture = "mbart", .norms_embedding = true, .position_offset = 2});
}

ModelDescription DescribeM2M100(Hyperparameters& h) {
  h.SetHfDefaults({{"scale_embedding", true}});
  return DescribeLikeBart(h, {.architecture = "m2m100",
                              .positions = Positions::kSinusoids,
                              .position_offset = 2,
                              .hf_activation = "relu"});
}

ModelDescription DescribeMarian(Hyperparameters& h) {
  return DescribeLikeBart(h, {.architecture = "marian",
                              .norms_sums = true,
                              .positions = Positions::kSinusoidsByHalves,
                              .start = 58100});
}

ModelDescription DescribePegasus(Hyperparameters& h) {
  return DescribeLikeBart(
      h, {.architecture = "pegasus", .positions = Positions::kSinusoidsByHalves, .start = 0});
}

}  // namespace weft
