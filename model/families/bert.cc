// BERT (https://arxiv.org/abs/1810.04805), and the many sentence encoders that are made of it
// (https://arxiv.org/abs/1908.10084).
#include <utility>

#include "model/families/decoder.h"

namespace weft {
namespace {

// In GGUF the table of types says how many there are.
int64_t ReadTypeCount(Hyperparameters& h) {
  constexpr int64_t kMostTypes = 1024;
  if (!h.is_gguf()) return h.Int({"", "type_vocab_size"}, {1, kMostTypes});
  const auto types = h.tensors().find("token_types.weight");
  if (types == h.tensors().end()) return 0;
  if (types->second.rank == 2) return types->second.dims[0];
  h.RejectTensor("token_types.weight", "is not a matrix");
  return 0;
}

}  // namespace

ModelDescription DescribeBert(Hyperparameters& h) {
  h.SetHfDefaults({{"layer_norm_eps", 1e-12}, {"type_vocab_size", int64_t{2}}});
  ModelSpec spec = ReadEncoderSizes(h, "bert", NormKind::kLayer, {.kv_head_count = ""});
  h.RefuseUnless({"", "position_embedding_type"}, std::string("absolute"));
  SetNoRope(spec);
  spec.embedding.norm = spec.head.norm;
  spec.embedding.position_count = spec.context_length;
  spec.embedding.type_count = ReadTypeCount(h);
  SetSumNorms(spec);
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false);
  ModelDescription description =
      WithParameters(h,
                     {.hf_base = "bert.",
                      .hf_layers = "bert.encoder.layer",
                      .embedding = {"token_embd", "bert.embeddings.word_embeddings"},
                      .positions = {"position_embd", "bert.embeddings.position_embeddings"},
                      .token_types = {"token_types", "bert.embeddings.token_type_embeddings"},
                      .embedding_norm = {"token_embd_norm", "bert.embeddings.LayerNorm"},
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
                      .mlp_bias = true},
                     std::move(spec));
  // Of what it was trained with: no part of embeddings.
  description.parameters.unused_prefixes = {"bert.pooler.", "pooler.", "cls."};
  return description;
}

}  // namespace weft
