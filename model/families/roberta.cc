// RoBERTa (https://arxiv.org/abs/1907.11692) and XLM-R (https://arxiv.org/abs/1911.02116), BERT
// under other names; and Jina's XLM-R (https://arxiv.org/abs/2409.10173), under flash-attn's, with
// RoPE or without.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "model/families/bert.h"

namespace weft {
namespace {

int64_t ReadPadding(Hyperparameters& h) {
  return h.Int({"", "pad_token_id"}, {0, ConfigLimits::kPositions}, 1);
}

void AddRobertaClassifier(Hyperparameters& h, ModelDescription& description) {
  AddClassifier(h, Pooling::kFirst,
                {{.name = "classifier.dense", .activation = PooledActivation::kTanh},
                 {.name = "classifier.out_proj"}},
                description);
}

DecoderTensors FlashTensors() {
  return {.hf_base = "roberta.",
          .hf_layers = "roberta.encoder.layers",
          .embedding = {"token_embd", "roberta.embeddings.word_embeddings"},
          .positions = {"", "roberta.embeddings.position_embeddings"},
          .token_types = {"token_types", "roberta.embeddings.token_type_embeddings"},
          .embedding_norm = {"token_embd_norm", "roberta.emb_ln"},
          .attention_norm = {"attn_output_norm", "norm1"},
          .qkv = {.name = {"attn_qkv", "mixer.Wqkv"}},
          .attention_output = {"attn_output", "mixer.out_proj"},
          .mlp_norm = {"layer_output_norm", "norm2"},
          .up = {"ffn_up", "mlp.fc1"},
          .down = {"ffn_down", "mlp.fc2"},
          .norm_bias = true,
          .qkv_bias = true,
          .attention_output_bias = true,
          .mlp_bias = true};
}

// PyTorch has a weight that something is added to, as the adapters of tasks are, under a name of
// its own. The adapters are left out: without a task none counts.
void AllowAdapters(ModelDescription& description) {
  constexpr std::string_view kWeight = "weight";
  ParameterList& list = description.parameters;
  for (std::vector<Parameter>* parameters : {&list.matrices, &list.tables}) {
    for (Parameter& parameter : *parameters) {
      std::vector<TensorSource> adapted;
      for (const TensorSource& source : parameter.sources) {
        if (!source.name.ends_with(kWeight)) continue;
        const std::string owner = source.name.substr(0, source.name.size() - kWeight.size());
        list.unused_prefixes.push_back(owner + "parametrizations.weight.0.lora_");
        adapted.push_back(source);
        adapted.back().name = owner + "parametrizations.weight.original";
      }
      parameter.sources.insert(parameter.sources.end(), adapted.begin(), adapted.end());
    }
  }
}

ModelDescription DescribeFlash(Hyperparameters& h, bool has_rope) {
  ModelSpec spec = ReadEncoderSizes(h, "jina-roberta", NormKind::kLayer, {.kv_head_count = ""});
  spec.embedding.norm = spec.head.norm;
  SetSumNorms(spec);
  if (has_rope) {
    spec.ropes = {ReadRope(h, spec, RopePairing::kHalves)};
  } else {
    SetNoRope(spec);
    spec.embedding.position_count = spec.context_length;
    SetPositionsBehindPadding(h, ReadPadding(h), spec);
  }
  spec.embedding.type_count = ReadTypeCount(h, 1);
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false);
  ModelDescription description = WithoutHeads(WithParameters(h, FlashTensors(), std::move(spec)),
                                              {"roberta.pooler.", "pooler.", "lm_head."});
  if (!h.is_gguf()) AllowAdapters(description);
  return description;
}

// As published, by the configuration's own class.
ModelDescription DescribeFlash(Hyperparameters& h) {
  constexpr Field kPositions = {"", "position_embedding_type"};
  const std::string positions = h.String(kPositions, "absolute");
  const bool has_rope = positions == "rotary";
  if (!has_rope && positions != "absolute") {
    h.Reject(ErrorCode::kUnsupported, kPositions,
             "is " + Quoted(positions) + ", expected absolute or rotary");
  }
  if (has_rope) h.SetHfDefaults({{"rope_theta", h.Positive({"", "rotary_emb_base"}, 10000)}});
  return DescribeFlash(h, has_rope);
}

ModelDescription DescribePlain(Hyperparameters& h) {
  ModelSpec spec = ReadBert(h, "roberta", {.kv_head_count = ""});
  h.RefuseUnless({"", "position_embedding_type"}, std::string("absolute"));
  SetPositionsBehindPadding(h, ReadPadding(h), spec);
  spec.embedding.type_count = ReadTypeCount(h, 2);
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false);
  DecoderTensors tensors = BertTensors("roberta.", "roberta.encoder.layer");
  tensors.embedding = {"", "roberta.embeddings.word_embeddings"};
  tensors.positions = {"", "roberta.embeddings.position_embeddings"};
  tensors.token_types = {"", "roberta.embeddings.token_type_embeddings"};
  tensors.embedding_norm = {"", "roberta.embeddings.LayerNorm"};
  ModelDescription description = WithoutHeads(WithParameters(h, tensors, std::move(spec)),
                                              {"roberta.pooler.", "pooler.", "lm_head."});
  description.masked_head = MaskedHeadLike(h, description.spec,
                                           {.dense = "lm_head.dense",
                                            .norm = "lm_head.layer_norm",
                                            .decoder = "lm_head.decoder",
                                            .bias = "lm_head.bias"});
  description.masked_head->activation = ActivationKind::kGeluExact;
  return description;
}

}  // namespace

ModelDescription DescribeRoberta(Hyperparameters& h) {
  const bool is_flash =
      h.String({"", "auto_map.AutoConfig"}, "").ends_with("XLMRobertaFlashConfig");
  ModelDescription description = is_flash ? DescribeFlash(h) : DescribePlain(h);
  AddRobertaClassifier(h, description);
  return description;
}

ModelDescription DescribeJinaEmbeddingsV3(Hyperparameters& h) {
  h.SetHfDefaults({{"rope_theta", 20000.0}});
  ModelDescription description = DescribeFlash(h, /*has_rope=*/true);
  AddRobertaClassifier(h, description);
  return description;
}

}  // namespace weft
