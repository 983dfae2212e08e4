// MPNet (https://arxiv.org/abs/2004.09297): BERT with a bias of scores by relative position, which
// all layers share.
#include <utility>

#include "model/families/bert.h"

namespace weft {

ModelDescription DescribeMpnet(Hyperparameters& h) {
  constexpr int64_t kPadding = 1;  // whatever pad_token_id says
  constexpr RelativeBuckets kBuckets = {.count = 32, .max_distance = 128};
  ModelSpec spec = ReadBert(h, "mpnet", {.kv_head_count = ""});
  SetPositionsBehindPadding(h, kPadding, spec);
  h.RefuseUnless({"", "relative_attention_num_buckets"}, kBuckets.count);
  ReadDenseMlp(h, ReadActivation(h, "hidden_act", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false);
  DecoderTensors tensors = BertTensors("mpnet.", "mpnet.encoder.layer");
  tensors.embedding = {"", "mpnet.embeddings.word_embeddings"};
  tensors.positions = {"", "mpnet.embeddings.position_embeddings"};
  tensors.embedding_norm = {"", "mpnet.embeddings.LayerNorm"};
  tensors.relative_bias = {.name = {"", "mpnet.encoder.relative_attention_bias"},
                           .buckets = kBuckets};
  tensors.attention_norm = {"", "attention.LayerNorm"};
  tensors.query = {"", "attention.attn.q"};
  tensors.key = {"", "attention.attn.k"};
  tensors.value = {"", "attention.attn.v"};
  tensors.attention_output = {"", "attention.attn.o"};
  ModelDescription description = WithoutHeads(WithParameters(h, tensors, std::move(spec)),
                                              {"mpnet.pooler.", "pooler.", "lm_head."});
  description.masked_head = MaskedHeadLike(h, description.spec,
                                           {.dense = "lm_head.dense",
                                            .norm = "lm_head.layer_norm",
                                            .decoder = "lm_head.decoder",
                                            .bias = "lm_head.bias"});
  description.masked_head->activation = ActivationKind::kGeluExact;
  AddClassifier(h, Pooling::kFirst,
                {{.name = "classifier.dense", .activation = PooledActivation::kTanh},
                 {.name = "classifier.out_proj"}},
                description);
  return description;
}

}  // namespace weft
