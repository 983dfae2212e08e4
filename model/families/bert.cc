// BERT (https://arxiv.org/abs/1810.04805), the many sentence encoders that are made of it
// (https://arxiv.org/abs/1908.10084), and DistilBERT (https://arxiv.org/abs/1910.01108), which
// differs from it in names.
#include "model/families/bert.h"

#include <utility>

#include <fmt/core.h>

namespace weft {

ModelSpec ReadBert(Hyperparameters& h, std::string_view architecture, const HfSizeKeys& keys) {
  h.SetHfDefaults({{"layer_norm_eps", 1e-12}});
  ModelSpec spec = ReadEncoderSizes(h, architecture, NormKind::kLayer, keys);
  SetNoRope(spec);
  spec.embedding.norm = spec.head.norm;
  spec.embedding.position_count = spec.context_length;
  SetSumNorms(spec);
  return spec;
}

void SetPositionsBehindPadding(Hyperparameters& h, int64_t padding, ModelSpec& spec) {
  spec.embedding.position_offset = padding + 1;
  if (spec.context_length <= spec.embedding.position_offset) {
    h.Reject(ErrorCode::kInvalidArgument, {"", "max_position_embeddings"},
             fmt::format("is {}, which leaves no position behind the {} of padding",
                         spec.context_length, spec.embedding.position_offset));
    return;
  }
  spec.context_length -= spec.embedding.position_offset;
}

DecoderTensors BertTensors(std::string_view base, std::string_view layers) {
  return {.hf_base = base,
          .hf_layers = layers,
          .attention_norm = {"attn_output_norm", "attention.output.LayerNorm"},
          .query = {"attn_q", "attention.self.query"},
          .key = {"attn_k", "attention.self.key"},
          .value = {"attn_v", "attention.self.value"},
          .attention_output = {"attn_output", "attention.output.dense"},
          .mlp_norm = {"layer_output_norm", "output.LayerNorm"},
          .up = {"ffn_up", "intermediate.dense"},
          .down = {"ffn_down", "output.dense"},
          .norm_bias = true,
          .qkv_bias = true,
          .attention_output_bias = true,
          .mlp_bias = true};
}

MaskedHead MaskedHeadLike(Hyperparameters& h, const ModelSpec& spec, MaskedHead names) {
  names.activation = std::get<DenseMlpSpec>(spec.layers.front().mlp).activation;
  names.norm_spec = spec.embedding.norm;
  names.is_tied = h.Bool({"", "tie_word_embeddings"}, true);
  return names;
}

// Without what it was trained with, which is no part of embeddings.
ModelDescription WithoutHeads(ModelDescription description,
                              std::vector<std::string> unused_prefixes) {
  description.parameters.unused_prefixes = std::move(unused_prefixes);
  return description;
}

namespace {

// llama.cpp has RoBERTa's and DistilBERT's classifiers whole, but of BERT's the last layer alone.
void AddGgufClassifier(Hyperparameters& h, ModelDescription& description) {
  constexpr std::string_view kLast = "cls.output.weight";
  if (!h.is_gguf() || !h.tensors().contains(kLast)) return;
  if (!h.tensors().contains("cls.weight")) {
    h.RejectTensor(kLast,
                   "is a classifier's, whose pooler the file leaves out: it is in the "
                   "safetensors that it was made of");
  }
  h.set_has_classifier();
  const bool is_distil = description.spec.embedding.type_count == 0;
  AddClassifier(
      h, Pooling::kFirst,
      {{.name = "cls", .activation = is_distil ? PooledActivation::kRelu : PooledActivation::kTanh},
       {.name = "cls.output"}},
      description);
}

}  // namespace

ModelDescription DescribeBert(Hyperparameters& h) {
  ModelSpec spec = ReadBert(h, "bert", {.kv_head_count = ""});
  h.RefuseUnless({"", "position_embedding_type"}, std::string("absolute"));
  spec.embedding.type_count = ReadTypeCount(h, 2);
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false);
  DecoderTensors tensors = BertTensors("bert.", "bert.encoder.layer");
  tensors.embedding = {"token_embd", "bert.embeddings.word_embeddings"};
  tensors.positions = {"position_embd", "bert.embeddings.position_embeddings"};
  tensors.token_types = {"token_types", "bert.embeddings.token_type_embeddings"};
  tensors.embedding_norm = {"token_embd_norm", "bert.embeddings.LayerNorm"};
  ModelDescription description = WithoutHeads(WithParameters(h, tensors, std::move(spec)),
                                              {"bert.pooler.", "pooler.", "cls."});
  description.masked_head = MaskedHeadLike(h, description.spec,
                                           {.dense = "cls.predictions.transform.dense",
                                            .norm = "cls.predictions.transform.LayerNorm",
                                            .decoder = "cls.predictions.decoder",
                                            .bias = "cls.predictions.bias"});
  AddClassifier(h, Pooling::kFirst,
                {{.name = "bert.pooler.dense", .activation = PooledActivation::kTanh},
                 {.name = "classifier"}},
                description);
  AddGgufClassifier(h, description);
  return description;
}

ModelDescription DescribeDistilBert(Hyperparameters& h) {
  ModelSpec spec = ReadBert(h, "distilbert",
                            {.layer_count = "n_layers",
                             .hidden_size = "dim",
                             .head_count = "n_heads",
                             .kv_head_count = ""});
  ReadDenseMlp(h, ReadActivation(h, "activation", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false, "hidden_dim");
  DecoderTensors tensors = BertTensors("distilbert.", "distilbert.transformer.layer");
  tensors.embedding = {"", "distilbert.embeddings.word_embeddings"};
  tensors.positions = {"", "distilbert.embeddings.position_embeddings"};
  tensors.embedding_norm = {"", "distilbert.embeddings.LayerNorm"};
  tensors.attention_norm = {"", "sa_layer_norm"};
  tensors.query = {"", "attention.q_lin"};
  tensors.key = {"", "attention.k_lin"};
  tensors.value = {"", "attention.v_lin"};
  tensors.attention_output = {"", "attention.out_lin"};
  tensors.mlp_norm = {"", "output_layer_norm"};
  tensors.up = {"", "ffn.lin1"};
  tensors.down = {"", "ffn.lin2"};
  ModelDescription description =
      WithoutHeads(WithParameters(h, tensors, std::move(spec)), {"vocab_"});
  description.masked_head = MaskedHeadLike(
      h, description.spec,
      {.dense = "vocab_transform", .norm = "vocab_layer_norm", .decoder = "vocab_projector"});
  AddClassifier(
      h, Pooling::kFirst,
      {{.name = "pre_classifier", .activation = PooledActivation::kRelu}, {.name = "classifier"}},
      description);
  return description;
}

}  // namespace weft
