// Nemotron-H (https://arxiv.org/abs/2504.03624), with experts, too: a layer is one block, a state
// space, attention without positions or an MLP.
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/quoted.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

using Limits = ConfigLimits;

enum class Block { kStateSpace, kAttention, kMlp, kExperts };

// A letter a layer, or, since transformers 5, a word.
std::vector<std::string> ReadWords(Hyperparameters& h) {
  const Field pattern = {"", "hybrid_override_pattern"};
  const Field types = {"", HfKey(h, {"layers_block_type", "layer_types"})};
  if (h.Has(types)) {
    h.Ignore(pattern);  // says the same
    return h.Strings(types);
  }
  std::vector<std::string> words;
  for (const char letter : h.String(pattern, "")) words.emplace_back(1, letter);
  return words;
}

std::vector<Block> ReadHfBlocks(Hyperparameters& h, const std::vector<std::string>& words) {
  static constexpr std::pair<std::string_view, Block> kWords[] = {
      {"linear_attention", Block::kStateSpace},
      {"full_attention", Block::kAttention},
      {"mamba", Block::kStateSpace},
      {"attention", Block::kAttention},
      {"mlp", Block::kMlp},
      {"moe", Block::kExperts},
      {"M", Block::kStateSpace},
      {"*", Block::kAttention},
      {"-", Block::kMlp},
      {"E", Block::kExperts},
  };
  std::vector<Block> blocks;
  for (const std::string& word : words) {
    const auto* found =
        std::ranges::find(kWords, word, [](const auto& entry) { return entry.first; });
    if (found == std::end(kWords)) {
      const Field types = {
          "", HfKey(h, {"layers_block_type", "layer_types", "hybrid_override_pattern"})};
      h.Reject(ErrorCode::kUnsupported, types,
               fmt::format("has {}, expected mamba, attention, mlp or moe", Quoted(word)));
      return {};
    }
    blocks.push_back(found->second);
  }
  return blocks;
}

// In GGUF a layer has key-value heads, or a feed-forward length, or neither.
std::vector<Block> ReadGgufBlocks(Hyperparameters& h, const ModelSpec& spec, bool has_experts) {
  const std::vector<int64_t> widths =
      h.IntPerLayer({"feed_forward_length", ""}, {0, Limits::kWidth}, spec.layer_count());
  std::vector<Block> blocks;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] > 0) {
      blocks.push_back(has_experts ? Block::kExperts : Block::kMlp);
    } else {
      const bool has_attention = spec.layers[i].attention.kv_head_count > 0;
      blocks.push_back(has_attention ? Block::kAttention : Block::kStateSpace);
    }
  }
  return blocks;
}

MixtureSpec ReadExperts(Hyperparameters& h, ActivationKind activation, ModelSpec& spec) {
  // They read, and give, something narrower than the stream.
  h.RefuseUnless({"moe_latent_size", "moe_latent_size"}, std::monostate());
  ReadMixture(h, /*renormalizes=*/true, spec, RouterScore::kSigmoid);
  auto mixture = std::get<MixtureSpec>(spec.layers.front().mlp);
  mixture.activation = mixture.shared.activation = activation;
  mixture.is_gated = mixture.shared.is_gated = false;
  return mixture;
}

void SetBlock(Block block, const StateSpaceSpec& space, const MlpSpec& mlp, LayerSpec& layer) {
  if (block == Block::kStateSpace) SetStateSpace(space, layer);
  if (block == Block::kStateSpace || block == Block::kAttention) {
    layer.mlp_norm = {};
    layer.mlp = DenseMlpSpec{};
  } else {
    layer.attention_norm = {};
    layer.attention = {.rope = AttentionSpec::kNoRope};
    layer.mlp = mlp;
  }
}

void SetHfDefaults(Hyperparameters& h, int64_t layer_count) {
  h.SetHfDefaults({{"num_hidden_layers", layer_count},
                   {"max_position_embeddings", int64_t{4096}},
                   {"num_key_value_heads", int64_t{8}},
                   {"layer_norm_epsilon", 1e-5},
                   {"mamba_num_heads", int64_t{128}},
                   {"mamba_head_dim", int64_t{64}},
                   {"n_groups", int64_t{8}},
                   {"ssm_state_size", int64_t{128}},
                   {"conv_kernel", int64_t{4}}});
}

DecoderTensors TensorsOf(Hyperparameters& h, const ModelSpec& spec) {
  DecoderTensors tensors;
  tensors.hf_base = "backbone.";
  tensors.hf_other_base = "model.";
  tensors.hf_layers = "backbone.layers";
  tensors.hf_state_space = "mixer.";
  tensors.embedding = {"token_embd", "backbone.embeddings"};
  tensors.attention_norm = tensors.mlp_norm = {"attn_norm", "norm"};
  tensors.query = {"attn_q", "mixer.q_proj"};
  tensors.key = {"attn_k", "mixer.k_proj"};
  tensors.value = {"attn_v", "mixer.v_proj"};
  tensors.attention_output = {"attn_output", "mixer.o_proj"};
  tensors.up = {"ffn_up", "mixer.up_proj"};
  tensors.down = {"ffn_down", "mixer.down_proj"};
  tensors.head_norm = {"output_norm", "backbone.norm_f"};
  tensors.mlp_bias = h.Bool({"", "mlp_bias"}, false);
  tensors.router_correction = true;
  tensors.state_space_conv_bias = ReadStateSpaceConvBias(h, spec, "use_conv_bias");
  tensors.state_space_bias = h.Bool({"", "use_bias"}, false);
  return tensors;
}

}  // namespace

ModelDescription DescribeNemotronH(Hyperparameters& h) {
  const std::vector<std::string> words = ReadWords(h);
  SetHfDefaults(h, std::ssize(words));
  h.RefuseUnless({"", "mamba_hidden_act"}, std::string("silu"));
  HfSizeKeys keys = {.head_dim = HfKey(h, {"head_dim", "attention_head_dim"}),
                     .epsilon = "layer_norm_epsilon"};
  keys.fewest_kv_heads = h.is_gguf() ? 0 : 1;
  ModelSpec spec = ReadSizes(h, "nemotron_h", NormKind::kRms, keys);
  if (h.is_gguf()) (void)ReadRope(h, spec, RopePairing::kHalves);  // which nothing is turned by
  SetNoRope(spec);
  const Field expert_count = {"expert_count", ""};
  const bool may_have_experts = h.Has(expert_count) && !h.IsZero(expert_count);
  std::vector<Block> blocks =
      h.is_gguf() ? ReadGgufBlocks(h, spec, may_have_experts) : ReadHfBlocks(h, words);
  if (std::ssize(blocks) != spec.layer_count()) {
    h.Reject(ErrorCode::kInvalidArgument, {"", "num_hidden_layers"},
             fmt::format("is {}, but {} layers have a type", spec.layer_count(), blocks.size()));
    blocks.resize(spec.layers.size());
  }
  const ActivationKind activation =
      ReadActivation(h, "mlp_hidden_act", ActivationKind::kReluSquared);
  // transformers has time_step_min as the least step of a prompt, and of nothing behind it;
  // llama.cpp and Mamba's kernels do not, and neither is it here.
  const StateSpaceSpec space = ReadStateSpace(h, spec,
                                              {.head_count = "mamba_num_heads",
                                               .head_dim = "mamba_head_dim",
                                               .expand = {},
                                               .group_count = "n_groups",
                                               .state_dim = "ssm_state_size",
                                               .conv_width = "conv_kernel"});
  const auto has = [&](Block block) { return std::ranges::find(blocks, block) != blocks.end(); };
  MlpSpec experts = DenseMlpSpec{};
  std::vector<int64_t> widths(spec.layers.size());
  if (has(Block::kMlp)) {
    widths = h.IntPerLayer({"feed_forward_length", "intermediate_size"},
                           {h.is_gguf() ? 0 : 1, Limits::kWidth}, spec.layer_count());
  }
  if (has(Block::kExperts)) {
    experts = ReadExperts(h, activation, spec);
    spec.architecture = "nemotron_h_moe";
  } else {
    // Of experts that no layer has.
    for (const std::string_view key :
         {"moe_intermediate_size", "n_routed_experts", "n_shared_experts", "norm_topk_prob",
          "n_group", "routed_scaling_factor"}) {
      h.Ignore({"", key});
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const MlpSpec dense =
        DenseMlpSpec{.width = widths[i], .activation = activation, .is_gated = false};
    SetBlock(blocks[i], space, blocks[i] == Block::kExperts ? experts : dense, spec.layers[i]);
  }
  std::vector<std::string> unused = {"mtp."};
  DropPredictionLayers(h, spec, unused);
  const DecoderTensors tensors = TensorsOf(h, spec);
  ModelDescription description = WithParameters(h, tensors, std::move(spec));
  description.parameters.unused_prefixes = std::move(unused);
  return description;
}

}  // namespace weft
