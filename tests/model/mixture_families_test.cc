// Families with experts refuse by name what contradicts them.
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "model/tensor_binding.h"
#include "tests/model/model_fixture.h"
#include "tests/model/refusals.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

struct Refusal {
  const char* fixture;
  Json changes;
  const char* words;
};

TEST(MixtureFamiliesTest, RefuseWhatContradictsThemInConfigJson) {
  for (const Refusal& refusal : std::initializer_list<Refusal>{
           {"qwen2_moe", {{"qkv_bias", false}}, "qkv_bias is false, which is not supported"},
           {"qwen2_moe", {{"decoder_sparse_step", 2}}, "decoder_sparse_step is 2, which changes"},
           {"dots1", {{"attention_bias", true}}, "attention_bias is true"},
           {"dots1", {{"n_group", 4}}, "n_group is 4, expected a divisor of the 6 experts"},
           {"dots1",
            {{"n_group", 6}},
            "n_group is 6, expected a divisor of the 6 experts, at most"},
           {"ernie4_5_moe", {{"use_bias", true}}, "use_bias is true"},
           {"deepseek_v3",
            {{"topk_group", 1}, {"num_experts_per_tok", 5}},
            "5 experts per token, but only"},
           {"ernie4_5_moe", {{"moe_layer_interval", 2}}, "moe_layer_interval is 2"},
           {"ernie4_5_moe", {{"moe_layer_end_index", 1}}, "moe_layer_end_index is 1"},
           {"glm4_moe", {{"first_k_dense_replace", 9}}, "an integer from 0 to 3"},
           {"glm4_moe", {{"topk_group", 2}}, "topk_group is 2, expected at most the 1 groups"},
           {"minimax_m2", {{"use_qk_norm", false}}, "use_qk_norm is false"},
           {"minimax_m2", {{"attn_type_list", {1, 0}}}, "attn_type_list has layers of linear"},
           {"hunyuan_v1_moe",
            {{"num_shared_expert", {1, 2}}},
            "num_shared_expert is an array of 2"},
           {"hunyuan_v1_moe", {{"use_cla", true}}, "use_cla is true"},
           {"solar_open", {{"scoring_func", "tanh"}}, "'tanh', expected softmax or sigmoid"},
           {"phimoe", {{"num_experts_per_tok", 3}}, "num_experts_per_tok is 3"},
           {"llama4", {{"no_rope_layers", {1, 1, 0, 1}}}, "layer_types must say chunked_attention"},
           {"llama4", {{"no_rope_layers", {1, 1}}}, "no_rope_layers is no list of one number"},
           {"deepseek_v2", {{"norm_topk_prob", true}}, "norm_topk_prob is true"},
           {"deepseek_v2", {{"topk_method", "noaux_tc"}}, "topk_method is 'noaux_tc'"},
           {"deepseek_v2", {{"n_group", 2}}, "n_group is 2, which is not supported (expected 1)"},
           {"deepseek_v2", {{"kv_lora_rank", nullptr}}, "kv_lora_rank is missing"},
           {"deepseek_v3", {{"topk_method", "greedy"}}, "topk_method is 'greedy'"},
           {"glm4_moe_lite", {{"attention_bias", true}}, "attention_bias is true"},
       }) {
    EXPECT_THAT(HfError(refusal.fixture, refusal.changes), HasSubstr(refusal.words))
        << refusal.fixture << " " << refusal.changes.dump();
  }
}

TEST(MixtureFamiliesTest, RefuseWhatContradictsThemInGguf) {
  EXPECT_THAT(GgufError("ernie4_5_moe", "ernie4_5-moe.interleave_moe_layer_step", int64_t{2}),
              HasSubstr("interleave_moe_layer_step is 2"));
  EXPECT_THAT(GgufError("llama4", "llama4.attention.sliding_window", int64_t{4096}),
              HasSubstr("attention.sliding_window is 4096"));
  EXPECT_THAT(GgufError("llama4", "llama4.interleave_moe_layer_step", {}), HasSubstr("is missing"));
  EXPECT_THAT(GgufError("phimoe", "phimoe.expert_used_count", int64_t{3}),
              HasSubstr("expert_used_count is 3"));
  EXPECT_THAT(GgufError("deepseek_v3", "deepseek2.attention.key_length", int64_t{24}),
              AllOf(HasSubstr("attention.key_length is 24"), HasSubstr("expected 20")));
  EXPECT_THAT(GgufError("deepseek_v3", "deepseek2.attention.key_length_mla", int64_t{4}),
              HasSubstr("key_length_mla is 4, expected an integer from 5"));
  EXPECT_THAT(GgufError("deepseek_v3", "deepseek2.attention.temperature_scale", 0.5),
              HasSubstr("temperature_scale is 0.5, which changes"));
}

// Without the key, the tensor of corrections says that scores are made by a sigmoid.
TEST(MixtureFamiliesTest, DeepSeekWithoutGatingFunction) {
  GgufFile file = GgufFile::Open(ParityPath("deepseek_v3", "model.gguf")).value();
  auto values = file.metadata.values();
  values.erase("deepseek2.expert_gating_func");
  file.metadata = GgufMetadata("model.gguf", std::move(values));
  const ModelDescription description = DescribeGguf(file).value();
  const MixtureSpec* mixture = description.spec.layers.back().mixture();
  ASSERT_NE(mixture, nullptr);
  EXPECT_EQ(mixture->router.score, RouterScore::kSigmoid);
  EXPECT_TRUE(mixture->router.groups.best_two);
}

// As llama.cpp wrote them before it had keys for the widths of experts.
TEST(MixtureFamiliesTest, EarlyQwen2MoeHasWidthsInItsTensors) {
  GgufFile file = GgufFile::Open(ParityPath("qwen2_moe", "model.gguf")).value();
  auto values = file.metadata.values();
  ASSERT_EQ(values.erase("qwen2moe.expert_feed_forward_length"), 1U);
  ASSERT_EQ(values.erase("qwen2moe.expert_shared_feed_forward_length"), 1U);
  file.metadata = GgufMetadata("model.gguf", std::move(values));
  const ModelDescription description = DescribeGguf(file).value();
  for (const LayerSpec& layer : description.spec.layers) {
    EXPECT_EQ(layer.mixture()->width, 10);
    EXPECT_EQ(layer.mixture()->shared.width, 16);
  }
  const Result<ModelTensors> bound = BindTensors(file.tensors, description, "file");
  EXPECT_TRUE(bound) << bound.error().message;
  file.tensors.erase("blk.0.ffn_gate_shexp.weight");
  EXPECT_THAT(DescribeGguf(file).error().message,
              HasSubstr("model.gguf: qwen2moe.expert_shared_feed_forward_length is missing, and no "
                        "tensor blk.0.ffn_gate_shexp.weight tells a width from 1 to"));
}

// Layers that guess tokens further ahead are counted in GGUF and not in config.json.
TEST(MixtureFamiliesTest, PredictionLayersAreNotComputed) {
  GgufFile file = GgufFile::Open(ParityPath("glm4_moe", "model.gguf")).value();
  auto values = file.metadata.values();
  values.insert_or_assign("glm4moe.nextn_predict_layers", int64_t{1});
  file.metadata = GgufMetadata("model.gguf", std::move(values));
  const ModelDescription description = DescribeGguf(file).value();
  EXPECT_EQ(description.spec.layer_count(), 2);
  EXPECT_THAT(description.parameters.unused_prefixes, testing::ElementsAre("blk.2."));
}

// Attention's tasks are a key-value head's queries, or a few of them where these are many.
TEST(MixtureFamiliesTest, HeadsOfLatentAttentionAreSeveralTasks) {
  const auto groups = [](int64_t heads, int64_t kv_heads) {
    return AttentionSpec{.head_count = heads, .kv_head_count = kv_heads}.group_count();
  };
  EXPECT_EQ(groups(32, 8), 8);
  EXPECT_EQ(groups(16, 1), 1);
  EXPECT_EQ(groups(128, 1), 8);
  EXPECT_EQ(groups(20, 1), 2);
  EXPECT_EQ(groups(71, 1), 1);
}

// Hunyuan's `dynamic` scaling is a wider base.
TEST(MixtureFamiliesTest, HunyuanAlpha) {
  std::ifstream stream(ParityPath("hunyuan_v1_moe", "hf/config.json"));
  Json config = Json::parse(stream);
  config.erase("rope_parameters");
  config["rope_theta"] = 10000.0;
  config["rope_scaling"] = {{"type", "dynamic"}, {"alpha", 1000.0}, {"factor", 1.0}};
  const ModelSpec spec =
      DescribeHf(ReadConfigJson(config.dump(), "config.json").value(), "config.json").value().spec;
  EXPECT_NEAR(spec.ropes[0].base, 10000.0 * std::pow(1000.0, 6.0 / 4.0), 1.0);
  config["rope_scaling"]["factor"] = 2.0;
  EXPECT_THAT(HfError("hunyuan_v1_moe",
                      {{"rope_parameters", nullptr}, {"rope_scaling", config["rope_scaling"]}}),
              HasSubstr("rope_scaling.factor is 2"));
}

}  // namespace
}  // namespace weft
