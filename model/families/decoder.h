// What most decoder-only families share: hyperparameters under the usual keys, a layer's parts
// under the usual names. A family's file says in what it differs.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/families.h"
#include "model/relative_position.h"

namespace weft {

// A tensor's name in each format, without what stands before it in a layer ("blk.3.",
// "model.layers.3.") and without ".weight" or ".bias". Empty: that format does not have it.
struct TensorName {
  std::string_view gguf;
  std::string_view hf;
};

// Several projections in one tensor: all rows of the first, then those of the next; or, of queries,
// keys and values, all that belongs to a key-value head, then to the next.
enum class Fusion { kInRows, kByKvHead };

// A checkpoint may have this tensor, or one for each projection.
struct FusedName {
  TensorName name = {};  // in a format that has it
  Fusion gguf = Fusion::kInRows;
  Fusion hf = Fusion::kInRows;
};

// A table (buckets, heads) of scores by relative position, which all layers share.
struct RelativeBiasTensor {
  TensorName name = {};
  RelativeBuckets buckets = {};  // count 0: there is none
};

// The tensors of a decoder, by default those of Llama. Which norms, gates and experts there are
// says the ModelSpec; a norm without a name has no weights. A norm of a sum is called like the norm
// that would stand before the block. A norm of heads with weights of their own may be a tensor a
// head: "{}" stands for its index.
struct DecoderTensors {
  // What names in safetensors begin with, unless the checkpoint is that of the model without its
  // head; empty: always as they are here.
  std::string_view hf_base = "model.";
  // What else names may begin with in the place of that; empty: nothing.
  std::string_view hf_other_base = {};
  std::string_view hf_layers = "model.layers";
  std::string_view gguf_layers = "blk";
  TensorName embedding = {"token_embd", "model.embed_tokens"};
  TensorName embedding_projection = {};
  TensorName positions = {"position_embd", ""};
  TensorName token_types = {"token_types", ""};
  TensorName embedding_norm = {"token_embd_norm", ""};
  RelativeBiasTensor relative_bias = {};
  TensorName attention_norm = {"attn_norm", "input_layernorm"};
  TensorName query = {"attn_q", "self_attn.q_proj"};
  TensorName key = {"attn_k", "self_attn.k_proj"};
  TensorName value = {"attn_v", "self_attn.v_proj"};
  FusedName qkv = {};
  TensorName query_norm = {"attn_q_norm", "self_attn.q_norm"};
  TensorName key_norm = {"attn_k_norm", "self_attn.k_norm"};
  TensorName attention_output = {"attn_output", "self_attn.o_proj"};
  TensorName attention_output_norm = {"post_attention_norm", "post_attention_layernorm"};
  std::string_view hf_state_space = "mamba.";  // what the names of its parts begin with
  TensorName cross_norm = {};
  TensorName cross_query = {};
  TensorName cross_key = {};
  TensorName cross_value = {};
  TensorName cross_output = {};
  TensorName mlp_norm = {"ffn_norm", "post_attention_layernorm"};
  TensorName gate = {"ffn_gate", "mlp.gate_proj"};
  TensorName up = {"ffn_up", "mlp.up_proj"};
  FusedName gate_up = {};
  bool up_before_gate = false;  // there
  TensorName down = {"ffn_down", "mlp.down_proj"};
  TensorName mlp_output_norm = {"post_ffw_norm", "post_feedforward_layernorm"};
  TensorName head_norm = {"output_norm", "model.norm"};
  TensorName head_projection = {};
  TensorName head = {"output", "lm_head"};

  // Tables that no checkpoint has.
  std::vector<float> alibi_slopes = {};                // a head: the same in all layers
  std::function<std::vector<float>()> sinusoids = {};  // instead of learned positions
  // In GGUF xIELU's numbers are hyperparameters: one a layer.
  std::vector<float> xielu_positive = {};
  std::vector<float> xielu_negative = {};

  bool norm_bias = false;  // of layer norms, but for those of queries and keys
  bool qk_norm_bias = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool mlp_down_bias = false;  // of its last matrix alone
  bool head_bias = false;
  bool sinks = false;                   // of attention
  bool output_gate = false;             // of attention: each head's rows are behind its queries'
  bool short_conv_bias = false;         // of all three parts of a short convolution
  bool state_space_conv_bias = false;   // of a state space's convolution
  bool state_space_bias = false;        // of its first and last matrix
  bool expert_biases = false;           // of the router, and of what experts multiply
  TensorName experts_bias = {};         // of what a row's experts give together
  bool hf_interleaved_gate_up = false;  // of experts: gate and up are every second row of MXFP4's
  bool router_correction = false;       // added to scores for the choice of experts
  bool shared_gate = false;             // of the expert that all rows pass
  bool hf_norms_less_one = false;       // safetensors hold each norm's weight less 1
  bool hf_transposed = false;           // safetensors have a layer's matrices as (inputs, outputs)
};

// config.json's keys of sizes, and the one of GGUF's that is not always the same.
struct HfSizeKeys {
  std::string_view context_length = "max_position_embeddings";
  std::string_view layer_count = "num_hidden_layers";
  std::string_view gguf_layer_count = "block_count";
  std::string_view hidden_size = "hidden_size";
  std::string_view head_count = "num_attention_heads";
  std::string_view head_dim = "head_dim";
  std::string_view kv_head_count = "num_key_value_heads";
  std::optional<std::string_view> epsilon =
      {};                       // of norms; otherwise rms_norm_eps, or layer_norm_eps
  int64_t fewest_kv_heads = 1;  // 0: layers without attention have none
  bool has_attention = true;    // in some layers
};

// Those of GPT-2 and what was made after it.
inline constexpr HfSizeKeys kGpt2SizeKeys = {.context_length = "n_positions",
                                             .layer_count = "n_layer",
                                             .hidden_size = "n_embd",
                                             .head_count = "n_head",
                                             .kv_head_count = "",
                                             .epsilon = "layer_norm_epsilon"};

// Positions, widths, and equal layers with attention and a norm before each of their halves, but
// for their MLPs, windows and parameters. The layers' rope is ModelSpec::ropes[0].
ModelSpec ReadSizes(Hyperparameters& h, std::string_view architecture,
                    NormKind norm = NormKind::kRms, const HfSizeKeys& keys = {});

// The same of an encoder, whose positions see all others, and whose hidden states are pooled.
ModelSpec ReadEncoderSizes(Hyperparameters& h, std::string_view architecture,
                           NormKind norm = NormKind::kLayer, const HfSizeKeys& keys = {});

// How many kinds of texts an encoder tells apart: rows of GGUF's table token_types, or
// config.json's type_vocab_size.
int64_t ReadTypeCount(Hyperparameters& h, int64_t hf_default);

// A layer of a classifier's head, by its name in transformers.
struct ClassifierLayer {
  std::string_view name;
  PooledActivation activation = PooledActivation::kNone;
  bool has_bias = true;
  std::string_view norm = {};  // a layer norm's name, without a bias; empty: none
};

// Of a checkpoint that has a classifier: these layers over what is pooled so, each as wide as the
// model but the last, which has a row a label of config.json. Of others nothing.
void AddClassifier(Hyperparameters& h, Pooling pooling,
                   std::initializer_list<ClassifierLayer> layers, ModelDescription& description);

// Norms behind the sums in place of those before the halves, and none before the head.
void SetSumNorms(ModelSpec& spec);

// A norm of queries and keys, like those of the layers.
void SetQkNorm(HeadNorm head_norm, ModelSpec& spec);

// Layers without RoPE.
void SetNoRope(ModelSpec& spec);

// The tokens with which an encoder-decoder's text begins, by config.json or GGUF. `start`: where
// neither says.
void ReadTarget(Hyperparameters& h, TokenId start, ModelSpec& spec);

// A decoder's layers also read an encoder's hidden states, with attention and norms like those that
// they have.
void SetCrossAttention(ModelSpec& spec);

// Positions are sinusoids, up to the context's end behind `offset` that no token has: all the sines
// before all the cosines, with wavelengths of 2 pi 10000^(i / divisor).
void SetSinusoids(Hyperparameters& h, int64_t offset, int64_t divisor, ModelSpec& spec,
                  DecoderTensors& tensors);

// Attention and MLP read the same x.
void SetParallel(ModelSpec& spec);

// What config.json has a switch for, and GGUF by having a tensor in its first layer.
bool ReadSwitch(Hyperparameters& h, std::string_view gguf_tensor, std::string_view hf_key,
                bool hf_default);

// The one of a key's names that config.json has; the first, if it has none.
std::string_view HfKey(const Hyperparameters& h, std::initializer_list<std::string_view> names);

// config.json's word for an activation; in GGUF, and where there is none, `otherwise`.
ActivationKind ReadActivation(Hyperparameters& h, std::string_view hf_key,
                              ActivationKind otherwise);

// A soft cap: above 0, or 0 where the file has none.
float ReadCap(Hyperparameters& h, Field field);

// Norms of what attention and MLP give, like those before them.
void SetOutputNorms(ModelSpec& spec);

// Takes away the last layers of a GGUF file that guess tokens further ahead, which it counts among
// the others, and adds to `unused_prefixes` how their tensors begin in either format.
void DropPredictionLayers(Hyperparameters& h, ModelSpec& spec,
                          std::vector<std::string>& unused_prefixes);

// The rotation of the layers' heads, its scaling included; config.json's of its layers without a
// window.
RopeSpec ReadRope(Hyperparameters& h, const ModelSpec& spec, RopePairing gguf_pairing);

// The rotation in layers with a window, where it is another than in the rest, `global`: without
// scaling, and at this base where the file does not say.
RopeSpec ReadLocalRope(Hyperparameters& h, const RopeSpec& global, const ModelSpec& spec,
                       double base);

// Layers with a window rotate by `local`, the rest by `global`. After ReadWindows.
void SetRopesByWindow(const RopeSpec& global, const RopeSpec& local, ModelSpec& spec);

// The layers with a window, where the file lists them; otherwise these.
std::vector<bool> ReadSlidingLayers(Hyperparameters& h, const std::vector<bool>& otherwise);

// The window, in those layers that the file lists; where it lists none, in those that are true
// here.
void ReadWindows(Hyperparameters& h, const std::vector<bool>& sliding_layers, ModelSpec& spec);

// All layers but every `period`-th.
std::vector<bool> AllButEvery(int64_t period, int64_t layer_count);

// The slopes of ALiBi (https://arxiv.org/abs/2108.12409) for any number of heads.
std::vector<float> AlibiSlopes(int64_t head_count, double max_bias);

// An MLP of this kind in every layer; with a gate, or without.
void ReadDenseMlp(Hyperparameters& h, ActivationKind activation, ModelSpec& spec,
                  bool is_gated = true, std::string_view hf_width = "intermediate_size");

// One without a gate, of four times the hidden size where the file does not say.
void ReadFourfoldMlp(Hyperparameters& h, ActivationKind activation, std::string_view hf_width,
                     ModelSpec& spec);

// A mixture in every layer. The second argument: whether weights are divided by their sum where the
// file does not say; the last: what scores are made of where it does not say that.
void ReadMixture(Hyperparameters& h, bool renormalizes, ModelSpec& spec,
                 RouterScore score = RouterScore::kSoftmax);

// A dense MLP in place of the mixture, in these layers.
void ReadDenseLayers(Hyperparameters& h, const std::vector<bool>& is_dense, ModelSpec& spec,
                     std::string_view hf_width = "intermediate_size");

// The layers that the file says are dense: listed, or so many first ones; `otherwise` of them where
// it does not say.
std::vector<bool> ReadLeadingDense(Hyperparameters& h, const ModelSpec& spec, int64_t otherwise,
                                   std::string_view hf_key = "first_k_dense_replace");

// config.json's keys of state spaces, and where that has none.
struct HfStateSpaceKeys {
  std::string_view head_count = "mamba_n_heads";
  std::string_view head_dim = "mamba_d_head";  // "auto": of so many times the hidden size a share
  std::string_view values = {};
  std::string_view expand = "mamba_expand";
  std::string_view group_count = "mamba_n_groups";
  std::string_view state_dim = "mamba_d_state";
  std::string_view conv_width = "mamba_d_conv";
};

// A state space with a gated norm over groups of heads.
StateSpaceSpec ReadStateSpace(Hyperparameters& h, const ModelSpec& spec,
                              const HfStateSpaceKeys& keys = {});

// Whether the convolution of state spaces has a bias.
bool ReadStateSpaceConvBias(Hyperparameters& h, const ModelSpec& spec, std::string_view hf_key);

// The layers with a recurrence in place of attention, as GGUF has it: those without key-value
// heads.
std::vector<bool> LayersWithoutKvHeads(const ModelSpec& spec);

// The same by config.json's words for them and for attention, one a layer; the first ones are those
// that an error expects.
std::vector<bool> ReadRecurrentLayers(Hyperparameters& h, const ModelSpec& spec, Field types,
                                      std::initializer_list<std::string_view> recurrence,
                                      std::initializer_list<std::string_view> attention);

// A state space in place of a layer's attention.
void SetStateSpace(const StateSpaceSpec& state_space, LayerSpec& layer);

// Whether any layer of a GGUF file has this tensor.
bool HasGgufTensor(const Hyperparameters& h, const ModelSpec& spec, std::string_view name);

// Lists the parameters of a model whose layers are complete but for them. In place of the head of a
// decoder that is a classifier there is "score", over its last position.
ModelDescription WithParameters(Hyperparameters& h, const DecoderTensors& tensors, ModelSpec spec);

// Those of an encoder and of the decoder behind it, whose tokens have the encoder's embeddings.
ModelDescription WithParameters(Hyperparameters& h, const DecoderTensors& encoder_tensors,
                                ModelSpec encoder, const DecoderTensors& tensors, ModelSpec spec);

}  // namespace weft
