// GPT-J (https://github.com/kingoflolz/mesh-transformer-jax): attention and MLP read the same norm,
// neighbours are rotated. CodeGen (https://arxiv.org/abs/2203.13474) has its queries, values and
// keys in one tensor.
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "model/families/decoder.h"

namespace weft {
namespace {

ModelSpec ReadGptJ(Hyperparameters& h, std::string_view name) {
  ModelSpec spec = ReadSizes(h, name, NormKind::kLayer, kGpt2SizeKeys);
  SetParallel(spec);
  spec.ropes = {{.pairing = RopePairing::kNeighbours,
                 .rotary_dim = h.Int({"", "rotary_dim"}, {2, ConfigLimits::kHeadDim}, 64)}};
  ReadFourfoldMlp(h, ReadActivation(h, "activation_function", ActivationKind::kGeluTanh), "n_inner",
                  spec);
  return spec;
}

DecoderTensors GptJTensors() {
  return {.hf_base = "transformer.",
          .hf_layers = "transformer.h",
          .embedding = {"", "transformer.wte"},
          .attention_norm = {"", "ln_1"},
          .query = {"", "attn.q_proj"},
          .key = {"", "attn.k_proj"},
          .value = {"", "attn.v_proj"},
          .attention_output = {"", "attn.out_proj"},
          .mlp_norm = {"", "ln_1"},
          .up = {"", "mlp.fc_in"},
          .down = {"", "mlp.fc_out"},
          .head_norm = {"", "transformer.ln_f"},
          .norm_bias = true,
          .mlp_bias = true,
          .head_bias = true};
}

// CodeGen was trained on so many devices, and the tensor has the rows of each: queries, values,
// keys.
constexpr int64_t kDevices = 4;

void PlaceRows(const LinearSpec& linear, int64_t place, ParameterList& list) {
  Parameter& matrix = list.matrices[static_cast<size_t>(linear.weights)];
  const int64_t rows = matrix.rows / kDevices;
  for (TensorSource& source : matrix.sources) {
    const bool is_fused = source.tensor_rows > 0;
    if (is_fused) source.rows = {.first = place * rows, .run = rows, .stride = 3 * rows};
  }
}

}  // namespace

ModelDescription DescribeGptJ(Hyperparameters& h) {
  ModelSpec spec = ReadGptJ(h, "gptj");
  return WithParameters(h, GptJTensors(), std::move(spec));
}

ModelDescription DescribeCodeGen(Hyperparameters& h) {
  ModelSpec spec = ReadGptJ(h, "codegen");
  const int64_t head_count = spec.layers.front().attention.head_count;
  if (head_count % kDevices != 0) {
    h.Reject(ErrorCode::kUnsupported, {"", "n_head"},
             fmt::format("is {}, expected a multiple of {}", head_count, kDevices));
  }
  DecoderTensors tensors = GptJTensors();
  tensors.qkv.name = {"", "attn.qkv_proj"};
  ModelDescription description = WithParameters(h, tensors, std::move(spec));
  for (const LayerSpec& layer : description.spec.layers) {
    PlaceRows(layer.attention.query, 0, description.parameters);
    PlaceRows(layer.attention.value, 1, description.parameters);
    PlaceRows(layer.attention.key, 2, description.parameters);
  }
  return description;
}

}  // namespace weft
