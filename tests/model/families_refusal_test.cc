// What a family does not compute is refused by name: a fixture's config.json with one change.
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/resources.h"
#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "tests/model/encoder_fixture.h"
#include "tests/model/gguf_example.h"
#include "tests/model/refusals.h"
#include "tests/sanitizer.h"

namespace weft {
namespace {

using testing::HasSubstr;

struct Refusal {
  const char* fixture;
  const char* change;
  const char* error;
};

constexpr Refusal kRefusals[] = {
    {"apertus", R"({"hidden_act": "silu"})", "hidden_act is 'silu'"},
    {"arcee", R"({"hidden_act": "silu"})", "hidden_act is 'silu'"},
    {"arcee", R"({"mlp_bias": true})", "mlp_bias is true"},
    {"biogpt", R"({"add_cross_attention": true})", "add_cross_attention is true"},
    {"bloom", R"({"apply_residual_connection_post_layernorm": true})",
     "apply_residual_connection_post_layernorm is true"},
    {"codegen", R"({"n_head": 6})", "n_head is 6, expected a multiple of 4"},
    {"cohere", R"({"logit_scale": 0})", "logit_scale is 0"},
    {"cohere2", R"({"rotary_pct": 0.5})", "rotary_pct is 0.5"},
    {"cohere2", R"({"attention_bias": true})", "attention_bias is true"},
    {"cohere2_moe", R"({"expert_selection_fn": "tanh"})", "expert_selection_fn is 'tanh'"},
    {"cohere2_moe", R"({"mlp_layer_types": ["dense"]})", "mlp_layer_types has 1 entries"},
    {"cohere2_moe", R"({"shared_expert_combination_strategy": "max"})",
     "shared_expert_combination_strategy is 'max'"},
    {"cwm", R"({"layer_types": ["full_attention"]})", "layer_types is no list of 5"},
    {"dbrx", R"({"ffn_config": {"moe_normalize_expert_weights": 2}})",
     "moe_normalize_expert_weights is 2"},
    {"dbrx", R"({"ffn_config": {"ffn_act_fn": {"name": "gelu"}}})", "ffn_act_fn.name is 'gelu'"},
    {"ernie4_5", R"({"use_bias": true})", "use_bias is true"},
    {"exaone4", R"({"layer_types": ["full_attention"]})", "layer_types is no list of 4"},
    {"exaone_moe", R"({"mlp_layer_types": ["dense"]})", "mlp_layer_types has 1 entries"},
    {"falcon_40b", R"({"parallel_attn": false})", "parallel_attn is false"},
    {"falcon_40b", R"({"num_ln_in_parallel_attn": 3})", "num_ln_in_parallel_attn is 3"},
    {"falcon_7b", R"({"activation": "tanh"})", "activation is 'tanh'"},
    {"flex_olmo", R"({"attention_bias": true})", "attention_bias is true"},
    {"gemma", R"({"hidden_act": "silu"})", "hidden_act is 'silu'"},
    {"gemma2", R"({"attn_logit_softcapping": -1})", "attn_logit_softcapping is -1"},
    {"gemma3", R"({"use_bidirectional_attention": true})", "use_bidirectional_attention is true"},
    {"gemma3", R"({"hidden_activation": "silu"})", "hidden_activation is 'silu'"},
    {"gemma4_dense", R"({"use_bidirectional_attention": "all"})",
     "use_bidirectional_attention is 'all'"},
    {"gemma4_dense", R"({"num_kv_shared_layers": 6})", "an integer from 0 to 5"},
    {"gemma4_dense", R"({"num_kv_shared_layers": 5})", "leaves no layer of each kind"},
    {"gemma4_dense", R"({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}})",
     "rope_parameters.full_attention.rope_type is 'yarn'"},
    {"gemma4_dense", R"({"rope_parameters": {"full_attention": {"partial_rotary_factor": 1.5}}})",
     "full_attention.partial_rotary_factor is 1.5, expected at most 1, the whole head"},
    {"glm", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"gpt_bigcode", R"({"scale_attn_weights": false})", "scale_attn_weights is false"},
    {"gpt_oss", R"({"swiglu_limit": 5.0})", "swiglu_limit is 5"},
    {"granite", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"falcon_h1", R"({"ssm_multipliers": [1, 1]})", "ssm_multipliers is no list of 5"},
    {"falcon_h1", R"({"projectors_bias": true})", "projectors_bias is true"},
    {"falcon_h1", R"({"mlp_bias": true})", "mlp_bias is true"},
    {"granitehybrid", R"({"layer_types": ["mamba", "conv", "mamba"]})",
     "has 'conv', expected mamba or attention"},
    {"granitehybrid", R"({"layer_types": ["mamba"]})", "is no list of 3, one a layer"},
    {"granitehybrid", R"({"mamba_d_head": "auto", "mamba_n_heads": 5})",
     "mamba_expand makes 32 elements, expected a multiple of 5"},
    {"granitehybrid", R"({"mamba_n_groups": 3})", "cannot share 3 groups"},
    {"granitehybrid", R"({"mamba_n_heads": 65536, "mamba_d_head": 65536})",
     "expected at most 16777216 elements"},
    {"granitehybrid", R"({"time_step_limit": [1, 0.5]})", "time_step_limit is no list"},
    {"granitehybrid", R"({"mamba_d_conv": 9})", "expected an integer from 2 to 8"},
    {"granitemoehybrid", R"({"layer_types": ["attention"]})", "is no list of 2, one a layer"},
    {"gte", R"({"position_embedding_type": "absolute"})", "position_embedding_type is 'absolute'"},
    {"gte", R"({"layer_norm_type": "rms_norm"})", "layer_norm_type is 'rms_norm'"},
    {"gte", R"({"logn_attention_scale": true})", "logn_attention_scale is true"},
    {"gte", R"({"rope_scaling": {"type": "dynamic2"}})", "rope_scaling.rope_type is 'dynamic2'"},
    {"gte", R"({"rope_scaling": {"factor": 0.1}})", "turn a pair by more than 1 radian"},
    {"gte_classifier", R"({"rope_scaling": {"mixed_b": -1}})", "rope_scaling.mixed_b is -1"},
    {"helium", R"({"mlp_bias": true})", "mlp_bias is true"},
    {"hyperclovax", R"({"logits_scaling": 0})", "logits_scaling is 0"},
    {"jais2", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"jina_bert", R"({"position_embedding_type": "absolute"})",
     "position_embedding_type is 'absolute'"},
    {"jina_bert", R"({"position_embedding_type": null})", "position_embedding_type is missing"},
    {"jina_bert", R"({"feed_forward_type": "original"})",
     "feed_forward_type is 'original', expected geglu or reglu"},
    {"jina_embeddings_v3", R"({"position_embedding_type": "alibi"})",
     "position_embedding_type is 'alibi', expected absolute or rotary"},
    {"jina_reranker_v2", R"({"max_position_embeddings": 2})",
     "max_position_embeddings is 2, which leaves no position behind the 2 of padding"},
    {"mamba2", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"mamba2", R"({"state_size": 0})", "state_size is 0, expected an integer from 1"},
    {"mellum", R"({"mlp_layer_types": ["dense", "sparse", "sparse"]})",
     "has layers that are no mixture"},
    {"ministral", R"({"layer_types": ["chunked_attention"]})",
     "layer_types has 'chunked_attention'"},
    {"ministral3", R"({"attention_bias": true})", "attention_bias is true"},
    {"olmo", R"({"clip_qkv": -1})", "clip_qkv is -1"},
    {"olmo2", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"olmo3", R"({"layer_types": ["full_attention"]})", "layer_types is no list of 4"},
    {"persimmon", R"({"hidden_act": "tanh"})", "hidden_act is 'tanh'"},
    {"phi3", R"({"attention_bias": true})", "attention_bias is true"},
    {"lfm2", R"({"layer_types": ["conv", "mamba", "conv", "conv"]})",
     "expected conv or full_attention"},
    {"lfm2", R"({"layer_types": ["conv", "conv", "conv"]})", "is no list of 4, one a layer"},
    {"lfm2", R"({"layer_types": null, "full_attn_idxs": [1, 4]})", "expected indices of 4 layers"},
    {"lfm2", R"({"conv_L_cache": 9})", "expected an integer from 2 to 8"},
    {"lfm2", R"({"block_ffn_dim_multiplier": 1e12})", "expected 1 to 16777216"},
    {"lfm2", R"({"num_key_value_heads": 0})", "expected an integer from 1"},
    {"nemotron_h", R"({"hybrid_override_pattern": "-----"})", "no layer reads earlier positions"},
    {"qwen3_5", R"({"attn_output_gate": false})", "attn_output_gate is false"},
    {"qwen3_5", R"({"linear_num_value_heads": 3})",
     "3 value heads of a delta net cannot share 2 key heads"},
    {"qwen3_5", R"({"linear_key_head_dim": 65536})", "expected an integer from 1 to 4096"},
    {"qwen3_5", R"({"linear_conv_kernel_dim": 9})", "expected an integer from 2 to 8"},
    {"qwen3_5", R"({"layer_types": ["linear_attention", "full_attention"]})", "is no list of 4"},
    {"qwen3_5",
     R"({"layer_types": ["linear_attention", "conv", "full_attention", "full_attention"]})",
     "expected linear_attention or full_attention"},
    {"qwen3_5", R"({"attention_bias": true})", "attention_bias is true"},
    {"qwen3_5_moe_conditional",
     R"({"text_config": {"rope_parameters": {"mrope_section": [1], "unheard_of": 1}}})",
     "rope_parameters.unheard_of is 1"},
    {"qwen3_next", R"({"mlp_only_layers": [1]})", "mlp_only_layers is"},
    {"qwen3_next", R"({"decoder_sparse_step": 2})", "decoder_sparse_step is 2"},
    {"smollm3", R"({"no_rope_layers": [1, 1, 1, 2, 1]})", "expected 5 integers from 0 to 1"},
    {"glm4", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"gpt2", R"({"scale_attn_by_inverse_layer_idx": true})",
     "scale_attn_by_inverse_layer_idx is true"},
    {"gpt2", R"({"add_cross_attention": true})", "add_cross_attention is true"},
    {"gpt_neo", R"({"attention_layers": ["global"]})", "attention_layers has 1 elements"},
    {"gpt_neo", R"({"attention_layers": ["global", "sparse"]})", "attention_layers has 'sparse'"},
    {"gpt_neox", R"({"hidden_act": "mish"})", "hidden_act is 'mish'"},
    {"gptj", R"({"rotary_dim": 3})", "RoPE rotates 3 dimensions"},
    {"hunyuan_v1_dense",
     R"({"rope_parameters": {"rope_type": "dynamic", "alpha": 1000, "factor": 2}})",
     "rope_parameters.factor is 2"},
    {"modernbert", R"({"norm_bias": true})", "norm_bias is true"},
    {"mpnet", R"({"relative_attention_num_buckets": 64})", "relative_attention_num_buckets is 64"},
    {"mpnet", R"({"max_position_embeddings": 2})",
     "max_position_embeddings is 2, which leaves no position"},
    {"mpt", R"({"attn_config": {"alibi": false}})", "attn_config.alibi is false"},
    {"mpt", R"({"attn_config": {"qk_ln": true}})", "attn_config.qk_ln is true"},
    {"mpt", R"({"attn_config": {"softmax_scale": 0.5}})", "attn_config.softmax_scale is given"},
    {"nanochat", R"({"final_logit_softcapping": -1})", "final_logit_softcapping is -1"},
    {"nomic_bert_moe", R"({"moe_top_k": 5})", "moe_top_k is 5"},
    {"nomic_bert_moe", R"({"num_experts": 0})", "num_experts is 0"},
    {"nomic_bert_moe", R"({"expert_choice_router": true})", "expert_choice_router is true"},
    {"nomic_bert_moe", R"({"moe_normalize_expert_weights": true})",
     "moe_normalize_expert_weights is true"},
    {"nomic_bert_moe", R"({"num_shared_experts": 1})", "num_shared_experts is 1"},
    {"nomic_bert_moe", R"({"activation_function": "swiglu"})", "activation_function is 'swiglu'"},
    {"nomic_bert_moe", R"({"qkv_proj_bias": false})", "qkv_proj_bias is false"},
    {"nomic_bert_moe", R"({"moe_every_n_layers": 0})", "activation_function is 'gelu'"},
    {"nemotron_h", R"({"hybrid_override_pattern": "M-XM-"})",
     "hybrid_override_pattern has 'X', expected mamba, attention, mlp or moe"},
    {"nemotron_h", R"({"hybrid_override_pattern": "M-"})",
     "num_hidden_layers is 5, but 2 layers have a type"},
    {"nemotron_h_moe", R"({"moe_latent_size": 8})", "moe_latent_size is 8, which is not supported"},
    {"nemotron", R"({"hidden_act": "relu"})", "hidden_act is 'relu'"},
    {"opt", R"({"layer_norm_elementwise_affine": false})",
     "layer_norm_elementwise_affine is false"},
    {"opt_350m", R"({"word_embed_proj_dim": 48})", "embeddings have 48 elements"},
    {"phi", R"({"qk_layernorm": true})", "qk_layernorm is true"},
    {"seed_oss", R"({"mlp_bias": true})", "mlp_bias is true"},
    {"stablelm", R"({"hidden_act": "gelu"})", "hidden_act is 'gelu'"},
    {"starcoder2", R"({"hidden_act": "silu"})", "hidden_act is 'silu'"},
    {"vaultgemma", R"({"use_bidirectional_attention": true})",
     "use_bidirectional_attention is true"},
    {"xglm", R"({"max_position_embeddings": 60000000})", "more than 2^25 sinusoids"},
    {"xglm", R"({"d_model": 2, "attention_heads": 1})", "d_model"},
};

TEST(FamiliesRefusalTest, NamesWhatItDoesNotCompute) {
  for (const Refusal& refusal : kRefusals) {
    EXPECT_THAT(HfError(refusal.fixture, nlohmann::json::parse(refusal.change)),
                HasSubstr(refusal.error))
        << refusal.fixture << " " << refusal.change;
  }
}

TEST(FamiliesRefusalTest, DeltaNetsInGgufHaveWholeHeads) {
  EXPECT_THAT(GgufError("qwen3_5", "qwen35.ssm.inner_size", int64_t{25}),
              HasSubstr("ssm.inner_size is 25, expected 4 heads of at most 4096"));
  EXPECT_THAT(GgufError("qwen3_5", "qwen35.ssm.inner_size", int64_t{2}), HasSubstr("is 2"));
  EXPECT_THAT(GgufError("qwen3_5", "qwen35.ssm.time_step_rank", int64_t{0}),
              HasSubstr("expected an integer from 1"));
  EXPECT_THAT(GgufError("qwen3_5", "qwen35.attention.recurrent_layers", std::vector<bool>(6)),
              HasSubstr("is no list of 4, one a layer"));
  EXPECT_EQ(GgufError("qwen3_5", "qwen35.attention.recurrent_layers", {}), "no error");
}

// Every key of a GGUF file is read, or known to change nothing; `is_causal` as it is not.
void ExpectKeysRead(const std::string& fixture, bool is_causal) {
  const GgufFile file = GgufFile::Open(ParityPath(fixture, "model.gguf")).value();
  const auto& name = std::get<std::string_view>(file.metadata.values().at("general.architecture"));
  const std::string prefix = std::string(name) + ".attention.";
  EXPECT_THAT(GgufError(fixture, prefix + "unheard_of", int64_t{1}),
              HasSubstr(prefix + "unheard_of is 1, which changes"))
      << fixture;
  EXPECT_THAT(GgufError(fixture, prefix + "causal", is_causal),
              HasSubstr(fmt::format("{}causal is {}, which is not supported", prefix, is_causal)))
      << fixture;
}

TEST(FamiliesRefusalTest, NoFamilyPassesOverAKeyInGguf) {
  for (const char* const fixture : kParityFixtures) ExpectKeysRead(fixture, false);
  for (const char* const fixture : kEncoderFixtures) ExpectKeysRead(fixture, true);
}

// Of a config.json, those that are known to change the result.
TEST(FamiliesRefusalTest, NoFamilyPassesOverOtherMasksInConfigJson) {
  const auto expect_refusal = [](const char* fixture) {
    std::ifstream text(ParityPath(fixture, "hf/config.json"));
    nlohmann::json change = {{"is_causal", false}};
    if (nlohmann::json::parse(text).contains("text_config")) change = {{"text_config", change}};
    EXPECT_THAT(HfError(fixture, change), HasSubstr("is_causal is false")) << fixture;
  };
  for (const char* const fixture : kParityFixtures) expect_refusal(fixture);
  for (const char* const fixture : kParityFixturesWithoutGguf) expect_refusal(fixture);
}

// A table as large as any may be is not made of what a config.json claims alone.
TEST(FamiliesRefusalTest, SinusoidsAreNotMadeOfAClaim) {
  if (kUnderSanitizer) GTEST_SKIP() << "a sanitizer's memory would be counted";
  std::ifstream text(ParityPath("xglm", "hf/config.json"));
  auto config = nlohmann::json::parse(text);
  config["max_position_embeddings"] = (1 << 25) / config["d_model"].get<int64_t>() - 2;
  auto values = ReadConfigJson(config.dump(), "config.json").value();
  const auto before = static_cast<int64_t>(ResidentBytes());
  const auto read = DescribeHf(std::move(values), "config.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_LT(static_cast<int64_t>(ResidentBytes()) - before, 1 << 25);
}

// In GGUF, Apertus has xIELU's numbers as hyperparameters, a list of one a layer.
TEST(FamiliesRefusalTest, XieluOfEveryLayer) {
  const auto error = [](std::vector<double> alphas, std::vector<double> betas) {
    GgufExample example;
    GgufValues values;
    for (const auto& [key, value] : example.values) {
      values[key.starts_with("llama.") ? "apertus" + key.substr(5) : key] = value;
    }
    values["general.architecture"] = std::string_view("apertus");
    values["xielu.alpha_p"] = std::vector<double>{1, 1};
    values["xielu.alpha_n"] = std::move(alphas);
    values["xielu.beta"] = std::move(betas);
    example.values = values;
    const auto read = example.Read();
    return read ? "no error" : read.error().message;
  };
  EXPECT_EQ(error({1, 1}, {0.5, 0.5}), "no error");
  EXPECT_THAT(error({1}, {0.5, 0.5}),
              HasSubstr("xielu.alpha_n is no list of numbers, one a layer"));
  EXPECT_THAT(error({1, 1}, {0.5, 0.25}), HasSubstr("xielu.beta is not 0.5"));
}

// They are no place to hide keys in.
TEST(FamiliesRefusalTest, XieluOfAnotherFamily) {
  EXPECT_THAT(GgufExample().ErrorWith("xielu.alpha_p", std::vector<double>{1, 1}),
              HasSubstr("xielu.alpha_p is an array of 2, which changes what this model computes"));
}

}  // namespace
}  // namespace weft
