// A decoder's tensors: their names, shapes and orders in either format.
#include <cmath>
#include <string>
#include <utility>

#include "model/families/decoder.h"
#include "model/families/recurrent_lister.h"
#include "model/kernels/kernels.h"

namespace weft {
namespace {

class ParameterLister : private RecurrentLister {
 public:
  // Behind what is in `list`.
  ParameterLister(Hyperparameters& h, const DecoderTensors& names, ModelSpec& spec,
                  ParameterList list = {})
      : RecurrentLister(h, names, spec, std::move(list)), spec_(spec) {}

  // `has_head`: for tokens.
  ParameterList List(bool has_head, bool tied_head) {
    const int64_t vocabulary = spec_.vocab_size;
    EmbeddingSpec& embedding = spec_.embedding;
    const int64_t size = embedding.size > 0 ? embedding.size : hidden_;
    if (embedding.tokens == MatrixId::kNone) {
      embedding.tokens = Matrix(Source(names_.embedding, ".weight"), vocabulary, size);
    }
    if (embedding.size > 0) {
      embedding.projection = Linear(names_.embedding_projection, hidden_, size, false, {});
    }
    if (embedding.position_count > 0) {
      embedding.positions =
          names_.sinusoids
              ? Values(names_.sinusoids, embedding.position_count * hidden_)
              : Table(Source(names_.positions, ".weight"), embedding.position_count, hidden_);
    }
    if (embedding.type_count > 0) {
      embedding.types = Table(Source(names_.token_types, ".weight"), embedding.type_count, hidden_);
    }
    ListNorm(names_.embedding_norm, hidden_, embedding.norm);
    if (embedding.per_layer.size > 0) ListPerLayer(embedding.per_layer);
    if (!names_.alibi_slopes.empty()) {
      const TableId slopes = Values(names_.alibi_slopes);
      for (LayerSpec& layer : spec_.layers) layer.attention.score.slopes = slopes;
    }
    if (names_.relative_bias.buckets.count > 0) ListRelativeBias(names_.relative_bias);
    for (size_t layer = 0; layer < spec_.layers.size(); ++layer) {
      prefix_ = std::string(gguf_ ? names_.gguf_layers : names_.hf_layers) + "." +
                std::to_string(layer) + ".";
      layer_ = layer;
      ListLayer(spec_.layers[layer]);
    }
    prefix_.clear();
    ListNorm(names_.head_norm, hidden_, spec_.head.norm);
    if (embedding.size > 0) {
      spec_.head.projection = Linear(names_.head_projection, size, hidden_, false, {});
    }
    if (!has_head) return std::move(list_);
    LinearSpec& head = spec_.head.linear;
    head.weights =
        tied_head ? embedding.tokens : Matrix(Source(names_.head, ".weight"), vocabulary, size);
    if (names_.head_bias) head.bias = Table(Source(names_.head, ".bias"), vocabulary);
    return std::move(list_);
  }

 private:
  void ListLayer(LayerSpec& layer) {
    ListNorm(names_.attention_norm, hidden_, layer.attention_norm);
    if (layer.short_conv) ListShortConv(*layer.short_conv);
    if (layer.delta_net) ListDeltaNet(*layer.delta_net);
    if (layer.state_space) ListStateSpace(*layer.state_space);
    if (layer.latent) {
      ListLatent(layer.attention, *layer.latent);
    } else if (layer.attention) {
      ListAttention(layer.attention);
    }
    ListNorm(names_.attention_output_norm, hidden_, layer.attention_output_norm);
    ListNorm(names_.attention_norm, hidden_, layer.attention_sum_norm);
    if (layer.cross) ListCross(layer);
    ListNorm(names_.mlp_norm, hidden_, layer.mlp_norm);
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.mlp)) {
      ListMixture(*mixture);
    } else if (layer.has_mlp()) {
      ListMlp(std::get<DenseMlpSpec>(layer.mlp));
    }
    ListNorm(names_.mlp_output_norm, hidden_, layer.mlp_output_norm);
    if (PerLayerInputSpec& input = layer.per_layer_input; input) {
      const int64_t size = spec_.embedding.per_layer.size;
      input.gate = Linear({"inp_gate", "per_layer_input_gate"}, size, hidden_, false, {});
      input.projection = Linear({"proj", "per_layer_projection"}, hidden_, size, false, {});
      ListNorm({"post_norm", "post_per_layer_input_norm"}, hidden_, input.norm);
    }
    if (layer.has_output_scale) {
      layer.output_scale = Table(Sources({{"layer_output_scale.weight"}}, {{"layer_scalar"}}), 1);
    }
    ListNorm(names_.mlp_norm, hidden_, layer.mlp_sum_norm);
  }

  void ListPerLayer(PerLayerEmbeddingSpec& embedding) {
    const int64_t width = spec_.layer_count() * embedding.size;
    embedding.tokens =
        Matrix(Source({"per_layer_token_embd", "model.embed_tokens_per_layer"}, ".weight"),
               spec_.vocab_size, width);
    embedding.projection = Linear({"per_layer_model_proj", "model.per_layer_model_projection"},
                                  width, hidden_, false, {});
    ListNorm({"per_layer_proj_norm", "model.per_layer_projection_norm"}, embedding.size,
             embedding.norm);
  }

  // --- attention ---

  void ListRelativeBias(const RelativeBiasTensor& bias) {
    const RelativeBuckets buckets = bias.buckets;
    const int64_t heads = spec_.layers.front().attention.head_count;
    const TableId table = Table(Source(bias.name, ".weight"), buckets.count, heads);
    list_.tables.back().expand = [=](const std::vector<float>& learned) {
      return DistanceBias(buckets, heads, learned);
    };
    list_.tables.back().expanded_count = heads * DistanceBiasFloats(buckets.max_distance);
    for (LayerSpec& layer : spec_.layers) {
      layer.attention.score.distance_bias = table;
      layer.attention.score.bias_reach = buckets.max_distance;
    }
  }

  void ListAttention(AttentionSpec& a) {
    ListQkv(a);
    if (names_.sinks) {
      a.score.sinks = Table(Sources({{"attn_sinks.weight"}}, {{"self_attn.sinks"}}), a.head_count);
    }
    if (a.kv_layer != AttentionSpec::kOwnKv) a.key_norm = {};
    ListHeadNorm(names_.query_norm, a, a.head_count, a.query_norm);
    ListHeadNorm(names_.key_norm, a, a.kv_head_count, a.key_norm);
    a.output = Linear(names_.attention_output, hidden_, a.attended_size(),
                      names_.attention_output_bias, {});
  }

  void ListCross(LayerSpec& layer) {
    AttentionSpec& a = *layer.cross;
    const bool bias = names_.qkv_bias;
    ListNorm(names_.cross_norm, hidden_, layer.cross_norm);
    a.query = Linear(names_.cross_query, a.query_size(), hidden_, bias, {});
    a.key = Linear(names_.cross_key, a.key_size(), hidden_, bias, {});
    a.value = Linear(names_.cross_value, a.value_size(), hidden_, bias, {});
    a.output =
        Linear(names_.cross_output, hidden_, a.attended_size(), names_.attention_output_bias, {});
    ListNorm(names_.cross_norm, hidden_, layer.cross_sum_norm);
  }

  void ListHeadNorm(TensorName name, const AttentionSpec& a, int64_t heads, NormSpec& norm) {
    if (!norm || NameIn(name).empty()) return;
    if (a.head_norm == HeadNorm::kEachHeadOwn) {
      norm.weight = Table(Source(name, ".weight"), heads, a.key_dim);
    } else {
      const bool all_heads = a.head_norm == HeadNorm::kAllHeads;
      norm.weight = Table(Source(name, ".weight"), all_heads ? heads * a.key_dim : a.key_dim);
    }
    list_.tables.back().plus = NormPlus();
    if (!names_.qk_norm_bias) return;
    Parameter bias = list_.tables.back();
    bias.sources = Source(name, ".bias");
    list_.tables.push_back(std::move(bias));
    norm.bias = static_cast<TableId>(list_.tables.size() - 1);
  }

  // The matrices of heads are tensors of their own in new files of llama.cpp, those of keys already
  // transposed; elsewhere each head's are rows of one tensor, those of its keys before its values.
  void ListLatent(AttentionSpec& a, LatentSpec& latent) {
    const int64_t query_rows = a.head_count * latent.head_query_dim();
    if (latent.query_rank > 0) {
      latent.query_down =
          Linear({"attn_q_a", "self_attn.q_a_proj"}, latent.query_rank, hidden_, false, {});
      ListNorm({"attn_q_a_norm", "self_attn.q_a_layernorm"}, latent.query_rank, latent.query_norm);
      latent.query =
          Linear({"attn_q_b", "self_attn.q_b_proj"}, query_rows, latent.query_rank, false, {});
    } else {
      latent.query = Linear(names_.query, query_rows, hidden_, false, {});
    }
    latent.down = Linear({"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                         latent.rank + latent.rotated_dim, hidden_, false, {});
    ListNorm({"attn_kv_a_norm", "self_attn.kv_a_layernorm"}, latent.rank, latent.norm);
    TensorSource key = {.name = "attn_kv_b.weight",
                        .is_transposed = true,
                        .entry_rows = latent.plain_dim + latent.value_dim};
    TensorSource value = {
        .name = "attn_kv_b.weight", .entry_rows = key.entry_rows, .entry_first = latent.plain_dim};
    TensorSource hf_key = key;
    TensorSource hf_value = value;
    hf_key.name = hf_value.name = "self_attn.kv_b_proj.weight";
    latent.key = Stack(Sources({{"attn_k_b.weight"}, key}, {hf_key}), a.head_count, latent.rank,
                       latent.plain_dim);
    latent.value = Stack(Sources({{"attn_v_b.weight"}, value}, {hf_value}), a.head_count,
                         latent.value_dim, latent.rank);
    a.output = Linear(names_.attention_output, hidden_, a.head_count * latent.value_dim, false, {});
  }

  void ListQkv(AttentionSpec& a) {
    const bool has_qkv = a.kv_layer == AttentionSpec::kOwnKv && !a.values_are_keys;
    Placing query = {.fused = has_qkv ? names_.qkv.name : TensorName{},
                     .fused_rows = a.query_size() + a.key_size() + a.value_size()};
    Placing key = query;
    Placing value = query;
    key.rows.first = a.query_size();
    value.rows.first = a.query_size() + a.key_size();
    key.continues_loop = value.continues_loop = true;
    if ((gguf_ ? names_.qkv.gguf : names_.qkv.hf) == Fusion::kByKvHead) {
      const int64_t queries = a.query_size() / a.kv_head_count;
      const int64_t stride = query.fused_rows / a.kv_head_count;
      query.rows = {.first = 0, .run = queries, .stride = stride};
      key.rows = {.first = queries, .run = a.key_dim, .stride = stride};
      value.rows = {.first = queries + a.key_dim, .run = a.value_dim, .stride = stride};
    }
    if (names_.output_gate) return ListGatedQkv(a);
    a.query = Linear(names_.query, a.query_size(), hidden_, names_.qkv_bias, query);
    if (a.kv_layer != AttentionSpec::kOwnKv) return;
    a.key = Linear(names_.key, a.key_size(), hidden_, names_.qkv_bias, key);
    if (a.values_are_keys) return;
    a.value = Linear(names_.value, a.value_size(), hidden_, names_.qkv_bias, value);
  }

  void ListGatedQkv(AttentionSpec& a) {
    const int64_t stride = a.key_dim + a.value_dim;
    Placing query = {.fused = names_.query,
                     .rows = {.first = 0, .run = a.key_dim, .stride = stride},
                     .fused_rows = a.head_count * stride};
    a.query = Linear(names_.query, a.query_size(), hidden_, false, query);
    a.key = Linear(names_.key, a.key_size(), hidden_, false, {.continues_loop = true});
    a.value = Linear(names_.value, a.value_size(), hidden_, false, {.continues_loop = true});
    query.rows = {.first = a.key_dim, .run = a.value_dim, .stride = stride};
    query.continues_loop = true;
    a.output_gate = Linear(names_.query, a.attended_size(), hidden_, false, query);
  }

  // --- MLPs ---

  void ListMlp(DenseMlpSpec& mlp) {
    Placing gate = {.fused = mlp.is_gated ? names_.gate_up.name : TensorName{},
                    .fused_rows = 2 * mlp.width};
    Placing up = gate;
    (names_.up_before_gate ? gate : up).rows.first = mlp.width;
    if (mlp.is_gated) mlp.gate = Linear(names_.gate, mlp.width, hidden_, names_.mlp_bias, gate);
    mlp.up = Linear(names_.up, mlp.width, hidden_, names_.mlp_bias, up);
    mlp.down = Linear(names_.down, hidden_, mlp.width, names_.mlp_bias || names_.mlp_down_bias, {});
    if (mlp.activation == ActivationKind::kXielu) {
      mlp.xielu_positive = Xielu(names_.xielu_positive, "mlp.act_fn.alpha_p");
      mlp.xielu_negative = Xielu(names_.xielu_negative, "mlp.act_fn.alpha_n");
    }
  }
  TableId Xielu(const std::vector<float>& of_layers, std::string_view hf) {
    return gguf_ ? Values({of_layers[layer_]}) : Table(Source({"", hf}, ""), 1);
  }

  // Experts come one tensor an expert, or stacked (experts, rows, columns); transformers 5 may
  // stack gate and up into one, which Llama 4 has transposed.
  void ListMixture(MixtureSpec& mixture) {
    mixture.router.weight =
        Table(Sources({{"ffn_gate_inp.weight"}}, {{"mlp.gate.weight"},
                                                  {"block_sparse_moe.gate.weight"},
                                                  {"mlp.gate.wg.weight"},
                                                  {"feed_forward.router.weight"},
                                                  {"feed_forward.gate.weight"},
                                                  {"router.proj.weight"},
                                                  {"block_sparse_moe.router.layer.weight"},
                                                  {"mlp.router.weight"},
                                                  {"mlp.router.layer.weight"},
                                                  {"mixer.gate.weight"}}),
              mixture.expert_count, hidden_);
    if (names_.expert_biases) ListExpertBiases(mixture);
    if (names_.router_correction) {
      mixture.router.correction =
          Table(Sources({{"exp_probs_b.bias"}}, {{"mlp.gate.e_score_correction_bias"},
                                                 {"block_sparse_moe.e_score_correction_bias"},
                                                 {"mlp.moe_statics.e_score_correction_bias"},
                                                 {"feed_forward.expert_bias"},
                                                 {"mixer.gate.e_score_correction_bias"}}),
                mixture.expert_count);
    }
    if (!NameIn(names_.experts_bias).empty()) {
      mixture.bias = Table(Source(names_.experts_bias, ""), hidden_);
    }
    if (mixture.is_gated) {
      ListExperts(mixture);
    } else {
      ListPlainExperts(mixture);
    }
    if (mixture.experts_norm) {
      ListMixtureBeside(mixture);
    } else if (mixture.shared.width > 0) {
      ListShared(mixture);
    }
  }

  // Stacks or a matrix each, by the names of their publishers; the last ones are mlx-lm's.
  void ListExperts(MixtureSpec& mixture) {
    const int64_t width = mixture.width;
    const RowOrder second = {.first = width};
    if (!gguf_ && names_.hf_interleaved_gate_up) return ListInterleavedExperts(mixture);
    mixture.gate = Stack(Sources({{"ffn_gate_exps.weight"},
                                  {"ffn_gate.{}.weight"},
                                  {"ffn_gate_up_exps.weight", {}, 2 * width}},
                                 {{"mlp.experts.{}.gate_proj.weight"},
                                  {"block_sparse_moe.experts.{}.w1.weight"},
                                  {"feed_forward.experts.{}.w1.weight"},
                                  {"mlp.experts.gate_up_proj", {}, 2 * width},
                                  {"experts.gate_up_proj", {}, 2 * width},
                                  {"block_sparse_moe.input_linear.weight", {}, 2 * width},
                                  {"feed_forward.experts.gate_up_proj", {}, 2 * width, true},
                                  {"mlp.switch_mlp.gate_proj.weight"},
                                  {"block_sparse_moe.switch_mlp.gate_proj.weight"}}),
                         mixture.expert_count, width, hidden_);
    mixture.up = Stack(Sources({{"ffn_up_exps.weight"},
                                {"ffn_up.{}.weight"},
                                {"ffn_gate_up_exps.weight", second, 2 * width}},
                               {{"mlp.experts.{}.up_proj.weight"},
                                {"block_sparse_moe.experts.{}.w3.weight"},
                                {"feed_forward.experts.{}.w3.weight"},
                                {"mlp.experts.gate_up_proj", second, 2 * width},
                                {"experts.gate_up_proj", second, 2 * width},
                                {"block_sparse_moe.input_linear.weight", second, 2 * width},
                                {"feed_forward.experts.gate_up_proj", second, 2 * width, true},
                                {"mlp.switch_mlp.up_proj.weight"},
                                {"block_sparse_moe.switch_mlp.up_proj.weight"}}),
                       mixture.expert_count, width, hidden_);
    mixture.down = Stack(Sources({{"ffn_down_exps.weight"}, {"ffn_down.{}.weight"}},
                                 {{"mlp.experts.{}.down_proj.weight"},
                                  {"block_sparse_moe.experts.{}.w2.weight"},
                                  {"feed_forward.experts.{}.w2.weight"},
                                  {"mlp.experts.down_proj"},
                                  {"experts.down_proj"},
                                  {"block_sparse_moe.output_linear.weight"},
                                  {"feed_forward.experts.down_proj", {}, 0, true},
                                  {"mlp.switch_mlp.down_proj.weight"},
                                  {"block_sparse_moe.switch_mlp.down_proj.weight"}}),
                         mixture.expert_count, hidden_, width);
  }

  // Those without gates. MegaBlocks has all of them in a tensor of two dimensions.
  void ListPlainExperts(MixtureSpec& mixture) {
    const int64_t width = mixture.width;
    mixture.up = Stack(
        Sources({{"ffn_up_exps.weight"}}, {{.name = "mlp.experts.mlp.w1", .entry_rows = width},
                                           {"mixer.experts.{}.up_proj.weight"},
                                           {"mixer.experts.up_proj"}}),
        mixture.expert_count, width, hidden_);
    mixture.down =
        Stack(Sources({{"ffn_down_exps.weight"}},
                      {{.name = "mlp.experts.mlp.w2", .is_transposed = true, .entry_rows = width},
                       {"mixer.experts.{}.down_proj.weight"},
                       {"mixer.experts.down_proj"}}),
              mixture.expert_count, hidden_, width);
  }

  // gpt-oss as it was published, in MXFP4, or unpacked and transposed.
  void ListInterleavedExperts(MixtureSpec& mixture) {
    const int64_t width = mixture.width;
    const auto gate_up = [&](int64_t first) {
      const RowOrder every_second = {.first = first, .run = 1, .stride = 2};
      return Sources({}, {{"mlp.experts.gate_up_proj_blocks", every_second, 2 * width},
                          {"mlp.experts.gate_up_proj", every_second, 2 * width, true}});
    };
    mixture.gate = Stack(gate_up(0), mixture.expert_count, width, hidden_);
    mixture.up = Stack(gate_up(1), mixture.expert_count, width, hidden_);
    mixture.down = Stack(
        Sources({}, {{"mlp.experts.down_proj_blocks"}, {"mlp.experts.down_proj", {}, 0, true}}),
        mixture.expert_count, hidden_, width);
  }

  void ListExpertBiases(MixtureSpec& mixture) {
    const int64_t experts = mixture.expert_count;
    const int64_t width = mixture.width;
    const auto gate_up = [&](std::string_view gguf, int64_t first) {
      return Sources({{.name = std::string(gguf)}},
                     {{.name = "mlp.experts.gate_up_proj_bias",
                       .columns = {.first = first, .run = 1, .stride = 2},
                       .tensor_columns = 2 * width}});
    };
    mixture.router.bias = Table(Sources({{"ffn_gate_inp.bias"}}, {{"mlp.router.bias"}}), experts);
    mixture.gate_bias = Table(gate_up("ffn_gate_exps.bias", 0), experts, width);
    mixture.up_bias = Table(gate_up("ffn_up_exps.bias", 1), experts, width);
    mixture.down_bias = Table(Sources({{"ffn_down_exps.bias"}}, {{"mlp.experts.down_proj_bias"}}),
                              experts, hidden_);
  }

  void ListShared(MixtureSpec& mixture) {
    if (names_.shared_gate) {
      mixture.shared_gate = Table(
          Sources({{"ffn_gate_inp_shexp.weight"}}, {{"mlp.shared_expert_gate.weight"}}), hidden_);
    }
    const int64_t shared = mixture.shared.width;
    const TensorSource fused_gate = {"shared_mlp.input_linear.weight", {}, 2 * shared};
    const TensorSource fused_up = {fused_gate.name, {.first = shared}, 2 * shared};
    if (mixture.shared.is_gated) {
      mixture.shared.gate = {SharedMatrix("gate", fused_gate, shared, hidden_)};
    }
    mixture.shared.up = {SharedMatrix("up", fused_up, shared, hidden_)};
    mixture.shared.down = {
        SharedMatrix("down", {"shared_mlp.output_linear.weight"}, hidden_, shared)};
  }

  // One MLP beside the experts, however many the file says that it is.
  MatrixId SharedMatrix(const std::string& name, const TensorSource& granite, int64_t rows,
                        int64_t columns) {
    const std::string hf = "." + name + "_proj.weight";
    return Matrix(Sources({{"ffn_" + name + "_shexp.weight"}}, {{"mlp.shared_experts" + hf},
                                                                {"mlp.shared_expert" + hf},
                                                                {"mlp.shared_mlp" + hf},
                                                                {"mixer.shared_experts" + hf},
                                                                {"feed_forward.shared_expert" + hf},
                                                                granite}),
                  rows, columns);
  }

  // Gemma 4's experts beside an MLP.
  void ListMixtureBeside(MixtureSpec& mixture) {
    RouterSpec& router = mixture.router;
    router.norm.weight = Table(Sources({{"ffn_gate_inp.scale"}}, {{"router.scale"}}), hidden_);
    list_.tables.back().times = 1 / std::sqrt(static_cast<float>(hidden_));
    router.expert_scale = Table(Sources({{"ffn_down_exps.scale"}}, {{"router.per_expert_scale"}}),
                                mixture.expert_count);
    ListNorm({"pre_ffw_norm_2", "pre_feedforward_layernorm_2"}, hidden_, mixture.experts_norm);
    ListNorm({"post_ffw_norm_2", "post_feedforward_layernorm_2"}, hidden_,
             mixture.experts_output_norm);
    ListNorm({"post_ffw_norm_1", "post_feedforward_layernorm_1"}, hidden_,
             mixture.shared_output_norm);
    ListMlp(mixture.shared);
  }

  ModelSpec& spec_;
  size_t layer_ = 0;
};

bool HasTiedHead(Hyperparameters& h) {
  return h.is_gguf() ? !h.tensors().contains("output.weight")
                     : h.Bool({"", "tie_word_embeddings"}, false);
}

// llama.cpp has, of the matrix that makes logits, the rows of a ranker's answers.
bool IsGgufRanker(const Hyperparameters& h) {
  return h.is_gguf() && h.tensors().contains("cls.output.weight");
}

}  // namespace

ModelDescription WithParameters(Hyperparameters& h, const DecoderTensors& tensors, ModelSpec spec) {
  const bool tied_head = HasTiedHead(h);
  const bool is_encoder = spec.is_encoder;
  if (!is_encoder && IsGgufRanker(h)) h.set_has_classifier();
  const bool has_head = !is_encoder && !h.has_classifier() && !h.is_headless();
  ModelDescription description{std::move(spec), {}};
  description.parameters = ParameterLister(h, tensors, description.spec).List(has_head, tied_head);
  if (is_encoder) return description;
  const std::string_view name = h.is_gguf() ? "cls.output" : "score";
  AddClassifier(h, Pooling::kLast, {{.name = name, .has_bias = false}}, description);
  return description;
}

ModelDescription WithParameters(Hyperparameters& h, const DecoderTensors& encoder_tensors,
                                ModelSpec encoder, const DecoderTensors& tensors, ModelSpec spec) {
  const bool tied_head = HasTiedHead(h);
  ParameterList list = ParameterLister(h, encoder_tensors, encoder).List(false, false);
  spec.embedding.tokens = encoder.embedding.tokens;
  spec.encoder = std::make_shared<const ModelSpec>(std::move(encoder));
  ModelDescription description{std::move(spec), {}};
  description.parameters =
      ParameterLister(h, tensors, description.spec, std::move(list)).List(true, tied_head);
  return description;
}

}  // namespace weft
