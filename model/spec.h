// What a model computes, as plain data: no files, no weights. A family's file writes it, everything
// else reads it. D is the hidden size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/kernels/kinds.h"
#include "model/parameters.h"
#include "model/recurrent_spec.h"
#include "model/rope_spec.h"
#include "model/spec_parts.h"

namespace weft {

// What a norm of queries and keys runs over, and with what weights.
enum class HeadNorm {
  kEachHead,     // a head, with the same weights for all
  kEachHeadOwn,  // a head, with weights of its own
  kAllHeads,     // all heads as one row
};

// What becomes of scores beside their scale, in this order.
struct ScoreSpec {
  float soft_cap = 0;               // 0: none
  TableId slopes = TableId::kNone;  // (head_count): ALiBi
  // (head_count, DistanceBiasFloats(bias_reach)): by relative positions. Layers may share a table.
  TableId distance_bias = TableId::kNone;
  int64_t bias_reach = 0;
  TableId sinks = TableId::kNone;  // (head_count)
};

// Queries are multiplied by 1 + scale * ln(1 + floor((position + offset) / length)).
struct QueryScaleSpec {
  float scale = 0;  // 0: they are not
  int64_t length = 1;
  int64_t offset = 0;
};

// Grouped-query attention over the earlier positions of a sequence and its own, or, where it is
// cross-attention, over all positions of its source.
struct AttentionSpec {
  static constexpr int kNoRope = -1;
  static constexpr int64_t kOwnKv = -1;

  int64_t head_count = 0;
  int64_t kv_head_count = 0;  // divides head_count
  int64_t key_dim = 0;        // elements of a head's query and key
  int64_t value_dim = 0;      // elements of a head's value and result
  float scale = 0;            // of the scores
  int64_t window = 0;         // 0: none; otherwise position p sees (p - window, p]
  int64_t lookahead = 0;      // in an encoder, how many positions behind its own a position sees
  int64_t chunk = 0;  // 0: none; otherwise pieces of so many positions see nothing of others
  bool reads_source = false;  // cross-attention: keys and values are of the encoder's hidden states
  int rope = 0;               // which of ModelSpec::ropes, or kNoRope
  LinearSpec query = {};      // (query_size, D)
  LinearSpec key = {};        // (key_size, D)
  LinearSpec value = {};      // (value_size, D)
  LinearSpec output = {};     // (D, attended_size)
  float multiplier = 1;       // of what attention gives, before that
  LinearSpec output_gate = {};   // (attended_size, D): what attention gives times its sigmoid
  bool values_are_keys = false;  // before their norm and RoPE, in place of a projection
  bool value_in_key = false;     // a value is the first value_dim elements of its finished key
  // The earlier layer whose keys and values this one reads, having none of its own, or kOwnKv.
  int64_t kv_layer = kOwnKv;
  float clip = 0;  // 0: none; otherwise queries, keys and values stay in [-clip, clip]
  NormSpec query_norm = {};
  NormSpec key_norm = {};
  NormSpec value_norm = {};  // of each head, without weights
  HeadNorm head_norm = HeadNorm::kEachHead;
  bool norms_after_rope = false;
  QueryScaleSpec query_scale = {};  // after norms and RoPE
  ScoreSpec score = {};

  explicit operator bool() const { return head_count > 0; }
  int64_t query_size() const { return head_count * key_dim; }
  int64_t key_size() const { return kv_head_count * key_dim; }
  int64_t value_size() const { return kv_head_count * value_dim; }
  int64_t attended_size() const { return head_count * value_dim; }

  // Attention's tasks are groups of heads: those that share a key-value head, or, where these are
  // many, some of them, so that there are tasks for all threads.
  int64_t heads_per_group() const {
    constexpr int64_t kMost = 16;
    constexpr int64_t kFew = 4;
    const int64_t sharing = head_count / kv_head_count;
    for (int64_t heads = std::min(sharing, kMost); heads >= kFew; --heads) {
      if (sharing % heads == 0) return heads;
    }
    return sharing;
  }
  int64_t group_count() const { return head_count / heads_per_group(); }
};

// Latent attention (https://arxiv.org/abs/2405.04434): keys and values of all heads are products
// with one latent vector a position. Computed as grouped-query attention with one key-value head,
// of which this is the way in and out: its key is the latent and a rotated part, its value the
// latent, and a head's query and result pass that head's matrices instead.
struct LatentSpec {
  int64_t rank = 0;                // of the latent
  int64_t query_rank = 0;          // 0: queries have no latent
  int64_t plain_dim = 0;           // elements of a head's query that are not rotated
  int64_t rotated_dim = 0;         // and of those that are, which follow
  int64_t value_dim = 0;           // elements of a head's result
  LinearSpec query_down = {};      // (query_rank, D)
  NormSpec query_norm = {};        // of the queries' latent
  LinearSpec query = {};           // (heads * (plain + rotated), query_rank or D)
  LinearSpec down = {};            // (rank + rotated, D)
  NormSpec norm = {};              // of the latent
  StackId key = StackId::kNone;    // (rank, plain_dim) a head
  StackId value = StackId::kNone;  // (value_dim, rank) a head

  int64_t head_query_dim() const { return plain_dim + rotated_dim; }
};

// down(activation(gate(x)) * up(x)), or, without a gate, down(activation(up(x))). Of no width: the
// layer has no MLP.
struct DenseMlpSpec {
  int64_t width = 0;
  ActivationKind activation = ActivationKind::kSilu;
  bool is_gated = true;
  float gate_multiplier = 1;  // of gate(x)
  float multiplier = 1;       // of what `down` reads
  LinearSpec gate = {};       // (width, D)
  LinearSpec up = {};         // (width, D)
  LinearSpec down = {};       // (D, width)
  // Of kXielu, (1) each: what training learned, of which the softplus counts.
  TableId xielu_positive = TableId::kNone;
  TableId xielu_negative = TableId::kNone;
};

// kSparseMixer: https://arxiv.org/abs/2409.12136; each expert's weight is its share in a softmax of
// those that are not chosen yet and not far below the best of them.
enum class RouterScore { kSoftmax, kSigmoid, kSparseMixer };

// Experts in groups of equal size, of which a row takes some, and its experts from these alone.
inline constexpr size_t kMaxExpertGroups = 64;
struct ExpertGroups {
  int64_t count = 1;
  int64_t per_token = 1;
  bool best_two = false;  // a group counts as the sum of its best two experts, not as its best one
};

// Which experts a row takes, and with what weights.
struct RouterSpec {
  TableId weight = TableId::kNone;  // (experts, D)
  TableId bias = TableId::kNone;    // (experts): of the logits
  RouterScore score = RouterScore::kSoftmax;
  bool softmax_before_choice = true;    // over all experts, then choose; or over the chosen
  TableId correction = TableId::kNone;  // (experts): added to scores for the choice alone
  ExpertGroups groups = {};
  // Sparse mixer: (best - score) / max(|score|, best) of those that count, at most.
  float mixer_distance = 0;
  bool renormalize = false;               // divide the chosen weights by their sum
  float scale = 1;                        // of the weights
  TableId expert_scale = TableId::kNone;  // (experts): of a chosen expert's weight, at the end
  bool weighs_input = false;  // the weights multiply what experts read, not what they give
  NormSpec norm = {};  // of the residual stream, if the router reads that and not what experts read
};

// A mixture of MLPs (https://arxiv.org/abs/1701.06538), with gates or without.
struct MixtureSpec {
  int64_t expert_count = 0;
  int64_t experts_per_token = 0;
  int64_t width = 0;  // of one expert
  ActivationKind activation = ActivationKind::kSilu;
  bool is_gated = true;
  RouterSpec router = {};
  StackId gate = StackId::kNone;       // (width, D) each
  StackId up = StackId::kNone;         // (width, D)
  StackId down = StackId::kNone;       // (D, width)
  TableId gate_bias = TableId::kNone;  // (experts, width)
  TableId up_bias = TableId::kNone;    // (experts, width)
  TableId down_bias = TableId::kNone;  // (experts, D)
  TableId bias = TableId::kNone;       // (D): of what a row's experts give together
  DenseMlpSpec shared = {};            // that every row passes, too; width 0: none
  float shared_multiplier = 1;         // of what the shared one gives, where it has no gate
  // Of Gemma 4, whose two halves have norms of their own: the shared one reads the layer's, the
  // experts read this one, and each half's output is normed before they are added.
  NormSpec experts_norm = {};
  NormSpec experts_output_norm = {};
  NormSpec shared_output_norm = {};
  TableId shared_gate = TableId::kNone;  // (1, D): times the sigmoid of this product with the row
};

using MlpSpec = std::variant<DenseMlpSpec, MixtureSpec>;

// At the end of a layer: x += norm(projection(GELU(gate(x)) * input)), where the input is the
// layer's part of what PerLayerEmbeddingSpec gives a token.
struct PerLayerInputSpec {
  LinearSpec gate = {};        // (P, D)
  LinearSpec projection = {};  // (D, P)
  NormSpec norm = {};
  explicit operator bool() const { return static_cast<bool>(norm); }
};

// x += m * attention_output_norm(attention(attention_norm(x)))
// x += cross(cross_norm(x)), in the decoder of an encoder-decoder
// x += m * mlp_output_norm(mlp(mlp_norm(x)))
// with m the residual multiplier; in a parallel layer attention and MLP begin from the same x.
// Another mixer, or two, may be in attention's place. Where attention's output norm is of the sum,
// it is attention_output_norm(attention(x) + x). Where norms come behind the sum, x =
// attention_sum_norm(x), x = cross_sum_norm(x) and x = mlp_sum_norm(x) follow. A layer may lack its
// mixers or its MLP (Nemotron-H, where a layer is one block); then it lacks that part's norms, too.
struct LayerSpec {
  NormSpec attention_norm = {};
  AttentionSpec attention = {};
  std::optional<LatentSpec> latent = {};  // the way into `attention`, in place of its projections
  // In place of `attention`, which has no heads. A state space may also be beside it, and read the
  // same.
  std::optional<ShortConvSpec> short_conv = {};
  std::optional<DeltaNetSpec> delta_net = {};
  std::optional<StateSpaceSpec> state_space = {};
  NormSpec attention_output_norm = {};
  bool output_norm_of_sum = false;
  NormSpec attention_sum_norm = {};
  NormSpec cross_norm = {};
  std::optional<AttentionSpec> cross = {};
  NormSpec cross_sum_norm = {};
  NormSpec mlp_norm = {};
  MlpSpec mlp = {};
  NormSpec mlp_output_norm = {};
  NormSpec mlp_sum_norm = {};
  PerLayerInputSpec per_layer_input = {};
  bool has_output_scale = false;
  TableId output_scale = TableId::kNone;  // (1): of the stream, at the layer's end
  float residual_multiplier = 1;
  bool is_parallel = false;

  // nullptr: the layer's MLP is dense, or there is none.
  const MixtureSpec* mixture() const { return std::get_if<MixtureSpec>(&mlp); }
  bool has_mlp() const { return mixture() != nullptr || std::get<DenseMlpSpec>(mlp).width > 0; }
  // How many read what attention_norm gives.
  int mixer_count() const {
    return (attention ? 1 : 0) + (short_conv ? 1 : 0) + (delta_net ? 1 : 0) + (state_space ? 1 : 0);
  }
};

// Gemma's second embedding, of `size` numbers a layer: for layer l of a token,
// (multiplier * token[l] + norm(projection_multiplier * projection(embedding)[l])) / sqrt(2).
struct PerLayerEmbeddingSpec {
  int64_t size = 0;                   // P; 0: none
  MatrixId tokens = MatrixId::kNone;  // (vocabulary, layers * P)
  float multiplier = 1;
  LinearSpec projection = {};  // (layers * P, D)
  float projection_multiplier = 1;
  NormSpec norm = {};  // of P
};

// E is D, or where there are projections, of tokens' embeddings before all else and of hidden
// states behind the last norm, less.
struct EmbeddingSpec {
  MatrixId tokens = MatrixId::kNone;  // (vocabulary, E)
  int64_t size = 0;                   // E; 0: D
  LinearSpec projection = {};         // (D, E)
  float multiplier = 1;
  // Added: a table of (position_count, D), position 0 at `position_offset`.
  int64_t position_count = 0;  // 0: none
  int64_t position_offset = 0;
  TableId positions = TableId::kNone;
  // Added: the row of (type_count, D) that a position's text has: 0, or 1 of a second text.
  int64_t type_count = 0;  // 0: none
  TableId types = TableId::kNone;
  NormSpec norm = {};
  PerLayerEmbeddingSpec per_layer = {};
};

// linear(projection_norm(activation(projection(norm(x))))); activation and projection_norm are
// those of heads for masked tokens.
struct HeadSpec {
  NormSpec norm = {};
  LinearSpec projection = {};  // (E, D)
  std::optional<ActivationKind> activation = {};
  NormSpec projection_norm = {};
  LinearSpec linear = {};  // (vocabulary, E); the weights are the embedding's, if they are tied
  float multiplier = 1;    // of the logits
  float soft_cap = 0;      // of the logits, after that; 0: none
};

// What an embedding is made of: the hidden state of one position, or of all of them the mean, in
// each element the largest, or the mean weighted by their places, 1, 2, ... (SGPT,
// https://arxiv.org/abs/2202.08904).
enum class Pooling { kLast, kFirst, kMean, kMax, kWeightedMean };

enum class PooledActivation { kNone, kTanh, kRelu, kGelu };

// What a model makes of a prompt in place of text.
enum class PooledOutput {
  kEmbedding,    // of the hidden states, pooled: ModelSpec::embedding_layers of that vector
  kLabels,       // likewise, by the classifier: a logit a label
  kTokenLogits,  // the head's logits of some tokens, at the prompt's last position
  kSparse,       // a weight for every token of the vocabulary, few of them above 0; SparseSpec
};

// A layer behind the pooling, in float32: norm(activation(weight * x + bias)).
struct PooledLayerSpec {
  int64_t input_size = 0;
  int64_t output_size = 0;
  TableId weight = TableId::kNone;  // (output_size, input_size)
  TableId bias = TableId::kNone;    // (output_size)
  PooledActivation activation = PooledActivation::kNone;
  NormSpec norm = {};  // none, or a layer norm
};

// What makes a label's score of its logit: the softmax over all of them, the logistic function of
// each, or nothing.
enum class LabelActivation { kSoftmax, kLogistic, kNone };

// Sequence classification: a logit for each label.
struct ClassifierSpec {
  Pooling pooling = Pooling::kFirst;
  LabelActivation activation = LabelActivation::kSoftmax;
  std::vector<PooledLayerSpec> layers = {};  // the last one gives the logits
  std::vector<std::string> labels = {};
};

// SPLADE (https://arxiv.org/abs/2109.10086): a token's weight is log(1 + max(logit, 0)), of the
// largest logit that any position has for it.
struct SparseSpec {
  int log_count = 1;  // 2: of the weight log(1 + weight) again
};

// How an encoder-decoder's text begins, and what it never has.
struct TargetSpec {
  std::vector<TokenId> prefix = {};  // not empty: what is there before the first token is chosen
  std::vector<TokenId> banned = {};
  // What stands before a source's text, by the name of the task.
  std::map<std::string, std::string, std::less<>> task_prefixes = {};
};

struct ModelSpec {
  std::string architecture;  // the family's name for people: "llama", "qwen3moe", ...
  // Positions see those behind them, too: a text is computed whole, nothing of it is kept, and
  // nothing is generated.
  bool is_encoder = false;
  // Of an encoder-decoder (https://arxiv.org/abs/1706.03762): what computes a sequence's source,
  // whose normed hidden states the cross-attention of every layer reads. It is as wide, and its ids
  // are of the same ParameterList. nullptr: the model has none.
  std::shared_ptr<const ModelSpec> encoder = {};
  TargetSpec target = {};  // of such a model
  std::string name;        // the model's; from the file
  int64_t vocab_size = 0;
  int64_t context_length = 0;  // that the model was trained for
  int64_t hidden_size = 0;
  EmbeddingSpec embedding = {};
  std::vector<RopeSpec> ropes = {};
  std::vector<LayerSpec> layers = {};
  HeadSpec head = {};
  Pooling pooling = Pooling::kLast;
  std::vector<PooledLayerSpec> embedding_layers = {};  // from what is pooled to an embedding
  std::optional<ClassifierSpec> classifier = {};
  std::optional<SparseSpec> sparse = {};  // of an encoder with a masked-language head
  // Layers of the checkpoint that guess tokens further ahead, without which all is computed.
  int64_t prediction_layer_count = 0;

  int64_t layer_count() const { return std::ssize(layers); }
  bool has_tied_head() const { return head.linear.weights == embedding.tokens; }
  int64_t embedding_size() const {
    return embedding_layers.empty() ? hidden_size : embedding_layers.back().output_size;
  }
  bool has_head() const { return static_cast<bool>(head.linear); }
  bool generates() const { return has_head() && !is_encoder; }
  bool makes(PooledOutput output) const {
    switch (output) {
      case PooledOutput::kEmbedding:
        return encoder == nullptr;
      case PooledOutput::kLabels:
        return classifier.has_value();
      case PooledOutput::kTokenLogits:
        return generates() && encoder == nullptr;
      case PooledOutput::kSparse:
        return sparse.has_value();
    }
    return false;
  }
  // The most of any layer; 0: the model has no experts.
  int64_t expert_count() const {
    int64_t count = 0;
    for (const LayerSpec& layer : layers) {
      if (const MixtureSpec* mixture = layer.mixture()) {
        count = std::max(count, mixture->expert_count);
      }
    }
    return count;
  }
  // Whether a row passes only those matrices of the stack that its router chooses.
  bool holds_experts(StackId stack) const {
    return std::ranges::any_of(layers, [&](const LayerSpec& layer) {
      const MixtureSpec* mixture = layer.mixture();
      return mixture != nullptr &&
             (stack == mixture->gate || stack == mixture->up || stack == mixture->down);
    });
  }
};

}  // namespace weft
