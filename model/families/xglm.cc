// XGLM (https://arxiv.org/abs/2112.10668): positions are sinusoids.
#include <cmath>

#include "base/exact_math.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

// Halves of sines and cosines, of wavelengths from 2 pi to 20,000 pi.
std::vector<float> XglmSinusoids(int64_t positions, int64_t size) {
  const int64_t half = size / 2;
  std::vector<float> table;
  table.reserve(static_cast<size_t>(positions * size));
  std::vector<double> frequencies;
  for (int64_t i = 0; i < half; ++i) {
    frequencies.push_back(
        exact::Pow(10000, -static_cast<double>(i) / static_cast<double>(half - 1)));
  }
  for (int64_t position = 0; position < positions; ++position) {
    const auto at = static_cast<double>(position);
    for (const double f : frequencies) table.push_back(static_cast<float>(exact::Sin(at * f)));
    for (const double f : frequencies) table.push_back(static_cast<float>(exact::Cos(at * f)));
  }
  return table;
}

}  // namespace

ModelDescription DescribeXglm(Hyperparameters& h) {
  h.SetHfDefaults({{"tie_word_embeddings", true}});
  ModelSpec spec = ReadSizes(h, "xglm", NormKind::kLayer,
                             {.layer_count = "num_layers",
                              .hidden_size = "d_model",
                              .head_count = "attention_heads",
                              .kv_head_count = ""});
  SetNoRope(spec);
  if (h.Bool({"", "scale_embedding"}, true)) {
    spec.embedding.multiplier = std::sqrt(static_cast<float>(spec.hidden_size));
  }
  ReadDenseMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluExact), spec,
               /*is_gated=*/false, "ffn_dim");
  h.RefuseUnless({"", "add_cross_attention"}, false);
  // No tensor says how many there are, so that a file must not ask for more than any such model
  // has.
  constexpr int64_t kMostElements = int64_t{1} << 25;
  spec.embedding.position_offset = 2;
  spec.embedding.position_count = spec.context_length + 2;
  DecoderTensors tensors = {.attention_norm = {"", "self_attn_layer_norm"},
                            .attention_output = {"", "self_attn.out_proj"},
                            .mlp_norm = {"", "final_layer_norm"},
                            .up = {"", "fc1"},
                            .down = {"", "fc2"},
                            .head_norm = {"", "model.layer_norm"},
                            .norm_bias = true,
                            .qkv_bias = true,
                            .attention_output_bias = true,
                            .mlp_bias = true};
  if (spec.hidden_size % 2 != 0 || spec.hidden_size < 4) {
    h.Reject(ErrorCode::kUnsupported, {"", "d_model"}, "must be even and above 2");
  } else if (spec.embedding.position_count > kMostElements / spec.hidden_size) {
    h.Reject(ErrorCode::kUnsupported, {"", "max_position_embeddings"},
             "makes a table of more than 2^25 sinusoids");
  } else {
    tensors.sinusoids = [positions = spec.embedding.position_count, size = spec.hidden_size] {
      return XglmSinusoids(positions, size);
    };
  }
  return WithParameters(h, tensors, std::move(spec));
}

}  // namespace weft
