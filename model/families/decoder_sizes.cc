// A decoder's sizes, windows and MLPs, by the words of either format.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/exact_math.h"
#include "base/quoted.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

int64_t ReadVocabularySize(Hyperparameters& h) {
  if (!h.is_gguf()) return h.Int({"", "vocab_size"}, {1, Limits::kVocabulary});
  const auto embedding = h.tensors().find("token_embd.weight");
  if (embedding == h.tensors().end() || embedding->second.rank != 2) {
    h.RejectTensor("token_embd.weight", embedding == h.tensors().end()
                                            ? "is missing, expected a matrix"
                                            : "is not a matrix");
    return 1;
  }
  const int64_t rows = embedding->second.dims[0];
  if (rows > Limits::kVocabulary) {
    h.RejectTensor("token_embd.weight",
                   fmt::format("has {} rows, expected at most {}", rows, Limits::kVocabulary));
    return 1;
  }
  return rows;
}

AttentionSpec ReadHeads(Hyperparameters& h, int64_t hidden_size, const HfSizeKeys& keys) {
  const Field head_count = {"attention.head_count", keys.head_count};
  const Field head_dim = {"attention.key_length", keys.head_dim};
  AttentionSpec attention;
  attention.head_count = h.Int(head_count, {1, Limits::kHeads});
  if (!h.Has(head_dim) && hidden_size % attention.head_count != 0) {
    h.Reject(ErrorCode::kInvalidArgument, head_count,
             fmt::format("is {}, expected a divisor of the hidden size {}", attention.head_count,
                         hidden_size));
  }
  attention.key_dim = h.Int(head_dim, {1, Limits::kHeadDim}, hidden_size / attention.head_count);
  attention.value_dim =
      h.Int({"attention.value_length", ""}, {1, Limits::kHeadDim}, attention.key_dim);
  attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.key_dim));
  return attention;
}

// The epsilon of all norms.
float ReadEpsilon(Hyperparameters& h, NormKind norm, std::optional<std::string_view> hf_key) {
  const bool is_rms = norm == NormKind::kRms;
  if (h.is_gguf()) {
    Field own = {"attention.layer_norm_rms_epsilon", ""};
    Field other = {"attention.layer_norm_epsilon", ""};
    if (!is_rms) std::swap(own, other);
    // Where config.json has both, so has the file. And llama.cpp's converter takes any norm_eps
    // for that of RMS norms, and Nemotron-H's layer_norm_epsilon for that of others.
    if (!h.Has(own) && h.Has(other)) return static_cast<float>(h.Positive(other));
    h.Ignore(other);
    return static_cast<float>(h.Positive(own));
  }
  const std::string_view key = hf_key.value_or(is_rms ? "rms_norm_eps" : "layer_norm_eps");
  return static_cast<float>(h.Positive({"", key}, is_rms ? 1e-6 : 1e-5));
}

// As llama.cpp numbers them; rankers (4) have other keys besides.
Pooling ReadGgufPooling(Hyperparameters& h, Pooling otherwise) {
  constexpr Pooling kKinds[] = {Pooling::kMean, Pooling::kFirst, Pooling::kLast};
  const int64_t kind = h.Int({"pooling_type", ""}, {0, 4}, 0);
  return kind >= 1 && kind <= 3 ? kKinds[kind - 1] : otherwise;
}

ModelSpec ReadAnySizes(Hyperparameters& h, std::string_view architecture, NormKind norm,
                       const HfSizeKeys& keys) {
  ModelSpec spec;
  spec.architecture = architecture;
  spec.vocab_size = ReadVocabularySize(h);
  spec.context_length = h.Int({"context_length", keys.context_length}, {1, Limits::kPositions});
  const int64_t layer_count =
      h.Int({keys.gguf_layer_count, keys.layer_count}, {1, Limits::kLayers});
  spec.hidden_size = h.Int({"embedding_length", keys.hidden_size}, {1, Limits::kWidth});
  LayerSpec layer;
  layer.attention.rope = AttentionSpec::kNoRope;
  if (keys.has_attention) layer.attention = ReadHeads(h, spec.hidden_size, keys);
  layer.attention_norm = layer.mlp_norm =
      spec.head.norm = {.kind = norm, .epsilon = ReadEpsilon(h, norm, keys.epsilon)};
  spec.layers.assign(static_cast<size_t>(layer_count), layer);
  if (!keys.has_attention) return spec;
  const std::vector<int64_t> kv_head_counts = h.IntPerLayer(
      {"attention.head_count_kv", keys.kv_head_count}, {keys.fewest_kv_heads, Limits::kHeads},
      layer_count, layer.attention.head_count);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].attention.kv_head_count = kv_head_counts[i];
  }
  return spec;
}

}  // namespace

ModelSpec ReadSizes(Hyperparameters& h, std::string_view architecture, NormKind norm,
                    const HfSizeKeys& keys) {
  ModelSpec spec = ReadAnySizes(h, architecture, norm, keys);
  h.RefuseUnless({"attention.causal", "is_causal"}, true);
  spec.pooling = ReadGgufPooling(h, Pooling::kLast);
  return spec;
}

ModelSpec ReadEncoderSizes(Hyperparameters& h, std::string_view architecture, NormKind norm,
                           const HfSizeKeys& keys) {
  ModelSpec spec = ReadAnySizes(h, architecture, norm, keys);
  h.RefuseUnless({"attention.causal", "is_causal"}, false);
  h.RefuseUnless({"", "is_decoder"}, false);
  h.RefuseUnless({"", "add_cross_attention"}, false);
  h.Ignore({"classifier.pooling_type", ""});  // whose layers GGUF does not have
  spec.is_encoder = true;
  for (LayerSpec& layer : spec.layers) layer.attention.lookahead = spec.context_length;
  spec.pooling = ReadGgufPooling(h, Pooling::kMean);
  return spec;
}

void DropPredictionLayers(Hyperparameters& h, ModelSpec& spec,
                          std::vector<std::string>& unused_prefixes) {
  const int64_t count = h.Int({"nextn_predict_layers", "num_nextn_predict_layers"},
                              {0, h.is_gguf() ? spec.layer_count() - 1 : Limits::kLayers}, 0);
  if (h.is_gguf()) spec.layers.resize(static_cast<size_t>(spec.layer_count() - count));
  spec.prediction_layer_count = count;
  for (int64_t i = 0; i < count; ++i) {
    unused_prefixes.push_back(
        fmt::format("{}.{}.", h.is_gguf() ? "blk" : "model.layers", spec.layer_count() + i));
  }
}

void SetQkNorm(HeadNorm head_norm, ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    layer.attention.head_norm = head_norm;
    layer.attention.query_norm = layer.attention.key_norm = layer.attention_norm;
  }
}

int64_t ReadTypeCount(Hyperparameters& h, int64_t hf_default) {
  constexpr int64_t kMostTypes = 1024;
  if (!h.is_gguf()) return h.Int({"", "type_vocab_size"}, {0, kMostTypes}, hf_default);
  const auto types = h.tensors().find("token_types.weight");
  if (types == h.tensors().end()) return 0;
  if (types->second.rank == 2) return types->second.dims[0];
  h.RejectTensor("token_types.weight", "is not a matrix");
  return 0;
}

void ReadTarget(Hyperparameters& h, TokenId start, ModelSpec& spec) {
  const Range ids = {0, spec.vocab_size - 1};
  const int64_t first = h.Int({"decoder_start_token_id", "decoder_start_token_id"}, ids, start);
  spec.target.prefix = {static_cast<TokenId>(first)};
  constexpr Field kForced = {"", "forced_bos_token_id"};
  if (h.Has(kForced)) spec.target.prefix.push_back(static_cast<TokenId>(h.Int(kForced, ids)));
}

void SetCrossAttention(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    layer.cross_norm = layer.attention_norm;
    layer.cross_sum_norm = layer.attention_sum_norm;
    layer.cross = layer.attention;
    layer.cross->reads_source = true;
  }
}

void SetSumNorms(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    layer.attention_sum_norm = std::exchange(layer.attention_norm, {});
    layer.mlp_sum_norm = std::exchange(layer.mlp_norm, {});
  }
  spec.head.norm = {};
}

void SetOutputNorms(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    layer.attention_output_norm = layer.mlp_output_norm = layer.attention_norm;
  }
}

void SetNoRope(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.attention.rope = AttentionSpec::kNoRope;
}

void SetParallel(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.is_parallel = true;
}

bool ReadSwitch(Hyperparameters& h, std::string_view gguf_tensor, std::string_view hf_key,
                bool hf_default) {
  return h.is_gguf() ? h.tensors().contains("blk.0." + std::string(gguf_tensor))
                     : h.Bool({"", hf_key}, hf_default);
}

std::string_view HfKey(const Hyperparameters& h, std::initializer_list<std::string_view> names) {
  const auto* found = std::ranges::find_if(names, [&](std::string_view name) {
    return h.Has({"", name});
  });
  return found == names.end() ? *names.begin() : *found;
}

ActivationKind ReadActivation(Hyperparameters& h, std::string_view hf_key,
                              ActivationKind otherwise) {
  static constexpr std::pair<std::string_view, ActivationKind> kWords[] = {
      {"gelu", ActivationKind::kGeluExact},    {"gelu_fast", ActivationKind::kGeluTanh},
      {"gelu_new", ActivationKind::kGeluTanh}, {"gelu_pytorch_tanh", ActivationKind::kGeluTanh},
      {"relu", ActivationKind::kRelu},         {"relu2", ActivationKind::kReluSquared},
      {"silu", ActivationKind::kSilu},         {"swish", ActivationKind::kSilu},
  };
  const Field field = {"", hf_key};
  if (!h.Has(field)) return otherwise;
  const std::string word = h.String(field, "");
  for (const auto& [known, activation] : kWords) {
    if (word == known) return activation;
  }
  h.Reject(ErrorCode::kUnsupported, field,
           fmt::format("is {}, expected gelu, gelu_fast, gelu_new, gelu_pytorch_tanh, relu, relu2 "
                       "or silu",
                       Quoted(word)));
  return otherwise;
}

float ReadCap(Hyperparameters& h, Field field) {
  return h.Has(field) ? static_cast<float>(h.Positive(field)) : 0.0F;
}

std::vector<float> AlibiSlopes(int64_t head_count, double max_bias) {
  // Of a number of heads that is no power of two, the rest lie between those of the power below.
  int64_t power = 1;
  while (2 * power <= head_count) power *= 2;
  std::vector<float> slopes;
  for (int64_t i = 0; i < head_count; ++i) {
    const double exponent =
        i < power ? static_cast<double>(i + 1) / static_cast<double>(power)
                  : static_cast<double>(2 * (i - power) + 1) / static_cast<double>(2 * power);
    slopes.push_back(static_cast<float>(exact::Pow(2, -max_bias * exponent)));
  }
  return slopes;
}

std::vector<bool> AllButEvery(int64_t period, int64_t layer_count) {
  std::vector<bool> layers;
  for (int64_t layer = 0; layer < layer_count; ++layer) layers.push_back((layer + 1) % period != 0);
  return layers;
}

// GGUF has a bool a layer, or the period after which a layer has no window; config.json a word a
// layer.
std::vector<bool> ReadSlidingLayers(Hyperparameters& h, const std::vector<bool>& otherwise) {
  const auto layer_count = static_cast<int64_t>(otherwise.size());
  constexpr Field kPattern = {"attention.sliding_window_pattern", "layer_types"};
  if (!h.Has(kPattern)) return otherwise;
  if (h.is_gguf()) {
    if (!h.IsList(kPattern)) return AllButEvery(h.Int(kPattern, {1, Limits::kLayers}), layer_count);
    std::vector<bool> listed = h.Bools(kPattern);
    if (listed.size() == otherwise.size()) return listed;
  } else {
    const std::vector<std::string> words = h.Strings(kPattern);
    std::vector<bool> listed;
    for (const std::string& word : words) {
      if (word != "sliding_attention" && word != "full_attention") {
        h.Reject(ErrorCode::kUnsupported, kPattern,
                 fmt::format("has {}, expected sliding_attention or full_attention", Quoted(word)));
      }
      listed.push_back(word == "sliding_attention");
    }
    if (listed.size() == otherwise.size()) return listed;
  }
  h.Reject(ErrorCode::kInvalidArgument, kPattern,
           fmt::format("is no list of {}, one a layer", layer_count));
  return otherwise;
}

void ReadWindows(Hyperparameters& h, const std::vector<bool>& sliding_layers, ModelSpec& spec) {
  const int64_t window =
      h.Int({"attention.sliding_window", "sliding_window"}, {0, Limits::kPositions}, 0);
  const std::vector<bool> sliding = ReadSlidingLayers(h, sliding_layers);
  for (size_t i = 0; i < sliding.size(); ++i) {
    if (sliding[i]) spec.layers[i].attention.window = window;
  }
}

void ReadDenseMlp(Hyperparameters& h, ActivationKind activation, ModelSpec& spec, bool is_gated,
                  std::string_view hf_width) {
  const std::vector<int64_t> widths =
      h.IntPerLayer({"feed_forward_length", hf_width}, {1, Limits::kWidth}, spec.layer_count());
  for (size_t i = 0; i < widths.size(); ++i) {
    spec.layers[i].mlp =
        DenseMlpSpec{.width = widths[i], .activation = activation, .is_gated = is_gated};
  }
}

void ReadFourfoldMlp(Hyperparameters& h, ActivationKind activation, std::string_view hf_width,
                     ModelSpec& spec) {
  const int64_t width = h.Int({"feed_forward_length", hf_width}, {1, Limits::kWidth},
                              std::min(4 * spec.hidden_size, Limits::kWidth));
  for (LayerSpec& layer : spec.layers) {
    layer.mlp = DenseMlpSpec{.width = width, .activation = activation, .is_gated = false};
  }
}

}  // namespace weft
