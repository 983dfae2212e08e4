// Jina's BERT (https://arxiv.org/abs/2310.19923): BERT with ALiBi in place of positions and gated
// MLPs; and what followed it, with norms of queries and keys and one more behind attention.
#include <string>
#include <utility>

#include "base/quoted.h"
#include "model/families/bert.h"

namespace weft {
namespace {

// Its own code has the same names for both; config.json says which of the two it is written for.
bool HasQkNorm(Hyperparameters& h, const ModelSpec& spec) {
  if (h.is_gguf()) return HasGgufTensor(h, spec, "attn_q_norm.weight");
  const std::string code = h.String({"", "auto_map.AutoModel"}, "");
  return (code.empty() ? h.String({"", "_name_or_path"}, "") : code)
             .find("jina-bert-v2-qk-post-norm") != std::string::npos;
}

ActivationKind ReadGate(Hyperparameters& h) {
  constexpr Field kField = {"", "feed_forward_type"};
  const std::string word = h.String(kField, h.is_gguf() ? "geglu" : "original");
  if (word != "geglu" && word != "reglu") {
    h.Reject(ErrorCode::kUnsupported, kField, "is " + Quoted(word) + ", expected geglu or reglu");
  }
  return word == "reglu" ? ActivationKind::kRelu : ActivationKind::kGeluExact;
}

// x = attention_sum_norm(x + attention_output_norm(x + attention(x))). In GGUF the one matrix of
// gate and up has its rows as the checkpoint has them, too, whatever llama.cpp takes for the gate
// there.
void SetQkPostNorm(ModelSpec& spec, DecoderTensors& tensors) {
  for (LayerSpec& layer : spec.layers) {
    AttentionSpec& attention = layer.attention;
    attention.head_norm = HeadNorm::kAllHeads;
    attention.query_norm = attention.key_norm = layer.attention_output_norm =
        layer.attention_sum_norm;
    layer.output_norm_of_sum = true;
  }
  tensors.query_norm = {"attn_q_norm", "attention.self.layer_norm_q"};
  tensors.key_norm = {"attn_k_norm", "attention.self.layer_norm_k"};
  tensors.qk_norm_bias = true;
  tensors.attention_output_norm = tensors.attention_norm;
  tensors.attention_norm = {"attn_norm_2", "layer_norm_1"};
  tensors.mlp_norm = {"layer_output_norm", "layer_norm_2"};
  tensors.gate_up.name.hf = "mlp.up_gated_layer";
  tensors.up_before_gate = true;
  tensors.down.hf = "mlp.down_layer";
}

}  // namespace

ModelDescription DescribeJinaBert(Hyperparameters& h) {
  constexpr double kMaxBias = 8;
  ModelSpec spec = ReadBert(h, "jina-bert-v2", {.kv_head_count = ""});
  spec.embedding.position_count = 0;
  h.RefuseUnless({"", "position_embedding_type"}, std::string("alibi"));
  if (!h.is_gguf() && !h.Has({"", "position_embedding_type"})) {
    h.Reject(ErrorCode::kUnsupported, {"", "position_embedding_type"},
             "is missing, expected alibi");
  }
  h.RefuseUnless({"attention.max_alibi_bias", ""}, kMaxBias);
  spec.embedding.type_count = ReadTypeCount(h, 2);
  ReadDenseMlp(h, ReadGate(h), spec);
  h.Ignore({"", "hidden_act"});  // of heads for training
  DecoderTensors tensors = BertTensors("bert.", "bert.encoder.layer");
  tensors.embedding = {"token_embd", "bert.embeddings.word_embeddings"};
  tensors.token_types = {"token_types", "bert.embeddings.token_type_embeddings"};
  tensors.embedding_norm = {"token_embd_norm", "bert.embeddings.LayerNorm"};
  tensors.mlp_norm = {"layer_output_norm", "mlp.layernorm"};
  // Once the two were tensors of their own in GGUF.
  tensors.gate = {"ffn_gate", ""};
  tensors.up = {"ffn_up", ""};
  const bool is_fused = !h.is_gguf() || !HasGgufTensor(h, spec, "ffn_gate.weight");
  if (is_fused) tensors.gate_up = {.name = {"ffn_up", "mlp.gated_layers"}};
  tensors.down = {"ffn_down", "mlp.wo"};
  tensors.mlp_bias = false;
  tensors.mlp_down_bias = true;
  tensors.alibi_slopes = AlibiSlopes(spec.layers.front().attention.head_count, kMaxBias);
  if (HasQkNorm(h, spec)) SetQkPostNorm(spec, tensors);
  ModelDescription description = WithoutHeads(WithParameters(h, tensors, std::move(spec)),
                                              {"bert.pooler.", "pooler.", "cls."});
  AddClassifier(h, Pooling::kFirst,
                {{.name = "bert.pooler.dense", .activation = PooledActivation::kTanh},
                 {.name = "classifier"}},
                description);
  return description;
}

}  // namespace weft
