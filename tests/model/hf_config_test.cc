// Hyperparameters of Hugging Face directories: what they become, and what is refused with which
// words.
#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "model/checkpoint.h"
#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "model/rope.h"
#include "tests/data_paths.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

Result<ModelDescription> Describe(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(ConfigValues values, ReadConfigJson(text, "config.json"));
  return DescribeHf(std::move(values), "config.json");
}

Json HfExample() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", 100},
          {"max_position_embeddings", 128},
          {"num_hidden_layers", 2},
          {"hidden_size", 64},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 4},
          {"intermediate_size", 96},
          {"rms_norm_eps", 1e-5},
          {"hidden_act", "silu"}};
}

std::string HfErrorWith(const Json& changes) {
  Json config = HfExample();
  config.update(changes);
  const auto read = Describe(config.dump());
  return read ? "no error" : read.error().message;
}

ModelSpec SpecWith(const Json& changes) {
  Json config = HfExample();
  config.update(changes);
  return Describe(config.dump()).value().spec;
}

TEST(HfConfigTest, ReadsSizesAndDefaults) {
  const ModelSpec spec = SpecWith({{"num_key_value_heads", nullptr}});
  const AttentionSpec& attention = spec.layers.front().attention;
  EXPECT_EQ(spec.architecture, "llama");
  EXPECT_EQ(attention.kv_head_count, 8);
  EXPECT_EQ(attention.key_dim, 8);
  EXPECT_EQ(spec.ropes[0].base, 10000.0);
  EXPECT_EQ(spec.ropes[0].pairing, RopePairing::kHalves);
  EXPECT_FALSE(spec.has_tied_head());
}

TEST(HfConfigTest, CwmIsScaledWhereNothingIsSaid) {
  const ModelSpec spec = SpecWith({{"architectures", {"CwmForCausalLM"}}, {"model_type", "cwm"}});
  const RopeSpec& rope = spec.ropes.front();
  EXPECT_EQ(rope.base, 1e6);
  EXPECT_EQ(rope.scaling, RopeScalingKind::kLlama3);
  EXPECT_EQ(rope.factor, 16);
  EXPECT_EQ(rope.original_context_length, 8192);
  EXPECT_EQ(spec.layers[0].attention.window, 0);
  EXPECT_EQ(spec.layers[1].attention.window, 8192);
  EXPECT_EQ(spec.layers[1].attention.key_dim, 128);
}

TEST(HfConfigTest, ReadsRopeOfTransformers4And5) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 32}};
  Json parameters = scaling;
  parameters["rope_theta"] = 500000.0;
  for (const ModelSpec& spec : {SpecWith({{"rope_theta", 500000.0}, {"rope_scaling", scaling}}),
                                SpecWith({{"rope_parameters", parameters}})}) {
    EXPECT_EQ(spec.ropes[0].base, 500000.0);
    EXPECT_EQ(spec.ropes[0].scaling, RopeScalingKind::kLlama3);
    EXPECT_EQ(spec.ropes[0].original_context_length, 32);
  }
  // As the first files with scaling spelt it.
  const ModelSpec old = SpecWith({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}});
  EXPECT_EQ(old.ropes[0].scaling, RopeScalingKind::kLinear);
  EXPECT_EQ(old.ropes[0].factor, 2.0);
}

TEST(HfConfigTest, YarnsMagnitudeIsTransformers) {
  const auto factor = [](const Json& more) {
    Json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32}};
    yarn.update(more);
    return SpecWith({{"rope_parameters", yarn}}).ropes[0].attention_factor;
  };
  EXPECT_NEAR(factor(Json::object()), 0.1 * std::log(4.0) + 1, 1e-12);
  EXPECT_EQ(factor({{"attention_factor", 1.5}}), 1.5);
  EXPECT_NEAR(factor({{"mscale", 1.0}, {"mscale_all_dim", 0.5}}),
              (0.1 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1), 1e-12);
}

// Which set counts is decided once, by the context that will be served.
TEST(HfConfigTest, LongRopeHasASetForLongContexts) {
  const auto with = [](const Json& change) {
    Json config = {{"architectures", {"Phi3ForCausalLM"}},
                   {"original_max_position_embeddings", 32},
                   {"rope_scaling",
                    {{"type", "longrope"},
                     {"short_factor", {1.0, 1.1, 1.2, 1.3}},
                     {"long_factor", {1, 2, 3, 4}}}}};
    config["rope_scaling"].update(change);
    return config;
  };
  std::vector<RopeSpec> ropes = SpecWith(with(Json::object())).ropes;
  EXPECT_NEAR(ropes[0].attention_factor, std::sqrt(1 + std::log(4.0) / std::log(32.0)), 1e-12);
  ServeContext(32, ropes);
  EXPECT_EQ(ropes[0].frequency_divisors, (std::vector<float>{1.0F, 1.1F, 1.2F, 1.3F}));
  ServeContext(33, ropes);
  EXPECT_EQ(ropes[0].frequency_divisors, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_THAT(HfErrorWith(with({{"long_factor", {1, 2, 3}}})),
              HasSubstr("rope_scaling.long_factor is no list of 4 finite numbers above 0"));
  EXPECT_THAT(HfErrorWith(with({{"short_factor", {1, 2, 3, 0}}})),
              HasSubstr("rope_scaling.short_factor is no list of 4 finite numbers above 0"));
  EXPECT_THAT(HfErrorWith(with({{"long_factor", {1e-30, 1, 1, 1}}})),
              HasSubstr("more than 1 radian"));
}

// It begins behind the positions that the model was made for, which is all that is served.
TEST(HfConfigTest, DynamicScalingIsNone) {
  const auto with = [](const Json& change) {
    Json scaling = {{"rope_type", "dynamic"}, {"factor", 4.0}};
    scaling.update(change);
    return Json{{"rope_theta", 50000.0}, {"rope_scaling", scaling}};
  };
  const RopeSpec plain = SpecWith({{"rope_theta", 50000.0}}).ropes[0];
  for (const Json& change : {Json::object(), Json{{"original_max_position_embeddings", 128}}}) {
    std::vector<RopeSpec> ropes = SpecWith(with(change)).ropes;
    ServeContext(128, ropes);
    EXPECT_EQ(RopeFrequencies(ropes[0]), RopeFrequencies(plain));
    EXPECT_EQ(ropes[0].attention_factor, 1);
  }
  EXPECT_THAT(HfErrorWith(with({{"original_max_position_embeddings", 32}})),
              HasSubstr("rope_scaling.original_max_position_embeddings is 32, which is not "
                        "supported (expected 128)"));
  EXPECT_THAT(HfErrorWith(with({{"factor", nullptr}})),
              HasSubstr("rope_scaling.factor is missing"));
}

// Of a whole head's frequencies the first part.
TEST(HfConfigTest, ProportionalRopeKeepsTheHeadsFrequencies) {
  const std::vector<double> whole = RopeFrequencies(SpecWith(Json::object()).ropes[0]);
  const Json half = {{"rope_type", "proportional"}, {"partial_rotary_factor", 0.5}};
  const RopeSpec rope = SpecWith({{"rope_parameters", half}}).ropes[0];
  const std::vector<double> found = RopeFrequencies(rope);
  EXPECT_EQ(rope.rotary_dim, 8);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ((std::vector{found[0], found[1]}), (std::vector{whole[0], whole[1]}));
  EXPECT_LT(found[2], 1e-30);
  EXPECT_LT(found[3], 1e-30);
}

TEST(HfConfigTest, SlidingWindowFollowsTheFamily) {
  const Json mistral = {{"architectures", {"MistralForCausalLM"}}};
  const Json qwen = {{"architectures", {"Qwen3ForCausalLM"}}};
  const auto window = [](Json config, const Json& more) {
    config.update(more);
    return SpecWith(config).layers[0].attention.window;
  };
  EXPECT_EQ(window(mistral, {{"sliding_window", 12}}), 12);
  EXPECT_EQ(window(Json::object(), {{"sliding_window", 12}}), 0);  // Llama has none
  EXPECT_EQ(window(mistral, {{"sliding_window", nullptr}}), 0);
  EXPECT_EQ(window(mistral, Json::object()), 4096);
  EXPECT_EQ(window(qwen, {{"sliding_window", 12}}), 0);
  EXPECT_EQ(window(qwen, {{"sliding_window", 12}, {"use_sliding_window", false}}), 0);
  EXPECT_EQ(
      window(qwen,
             {{"sliding_window", 12}, {"use_sliding_window", true}, {"max_window_layers", 0}}),
      12);
  const Json switched_on = {{"architectures", {"Qwen3ForCausalLM"}},
                            {"sliding_window", 12},
                            {"use_sliding_window", true}};
  const auto windows = [&](const Json& more) {
    Json config = switched_on;
    config.update(more);
    const ModelSpec spec = SpecWith(config);
    return std::pair(spec.layers[0].attention.window, spec.layers[1].attention.window);
  };
  EXPECT_EQ(windows({{"layer_types", {"full_attention", "sliding_attention"}}}),
            std::pair(int64_t{0}, int64_t{12}));
  EXPECT_EQ(windows({{"max_window_layers", 1}}), std::pair(int64_t{0}, int64_t{12}));
  Json config = switched_on;
  config["layer_types"] = {"full_attention"};
  EXPECT_THAT(HfErrorWith(config), HasSubstr("layer_types is no list of 2, one a layer"));
  config["layer_types"] = {"full_attention", "chunked_attention"};
  EXPECT_THAT(HfErrorWith(config), HasSubstr("layer_types has 'chunked_attention', expected"));
}

TEST(HfConfigTest, RefusesValuesThatCannotBe) {
  for (const char* key : {"vocab_size", "max_position_embeddings", "num_hidden_layers",
                          "hidden_size", "num_attention_heads", "intermediate_size"}) {
    for (const Json& value :
         {Json(0), Json(-3), Json(uint64_t{1} << 63), Json(1.5), Json("8"), Json(true)}) {
      EXPECT_THAT(HfErrorWith({{key, value}}),
                  AllOf(HasSubstr("config.json: "), HasSubstr(key), HasSubstr("expected")))
          << value;
    }
    EXPECT_THAT(HfErrorWith({{key, nullptr}}), HasSubstr(std::string(key) + " is missing"));
  }
  EXPECT_THAT(HfErrorWith({{"num_attention_heads", 7}}), HasSubstr("expected a divisor"));
  EXPECT_THAT(HfErrorWith({{"num_key_value_heads", 3}}), HasSubstr("cannot share 3"));
  EXPECT_THAT(HfErrorWith({{"rms_norm_eps", 0}}), HasSubstr("rms_norm_eps is 0"));
  EXPECT_THAT(HfErrorWith({{"partial_rotary_factor", 1.5}}),
              HasSubstr("config.json: partial_rotary_factor is 1.5, expected at most 1"));
  EXPECT_THAT(HfErrorWith({{"head_dim", 9}}), HasSubstr("head dimension 9 is odd"));
}

TEST(HfConfigTest, RefusesWhatItDoesNotCompute) {
  EXPECT_THAT(
      HfErrorWith({{"architectures", {"MambaForCausalLM"}}}),
      AllOf(HasSubstr("'MambaForCausalLM' is not supported"), HasSubstr(", LlamaForCausalLM, ")));
  EXPECT_THAT(HfErrorWith({{"architectures", nullptr}, {"model_type", "mamba"}}),
              HasSubstr("model_type 'mamba' is not supported"));
  EXPECT_THAT(HfErrorWith({{"attention_bias", true}}), HasSubstr("attention_bias is true"));
  EXPECT_THAT(HfErrorWith({{"hidden_act", "relu"}}), HasSubstr("hidden_act is 'relu'"));
  EXPECT_THAT(
      HfErrorWith({{"rope_scaling", {{"type", "axial"}, {"factor", 2.0}}}}),
      HasSubstr("rope_type is 'axial', expected default, dynamic, linear, llama3, longrope, "
                "proportional or yarn"));
  EXPECT_THAT(HfErrorWith({{"rope_parameters", {{"sliding_attention", {{"rope_theta", 1e4}}}}}}),
              HasSubstr("rope_parameters.sliding_attention"));
  EXPECT_THAT(HfErrorWith({{"rope_parameters", 3}}),
              HasSubstr("rope_parameters is 3, expected an object"));
}

// Keys that this family does not have, but that would change what it computes.
TEST(HfConfigTest, RefusesWhatNobodyReads) {
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, Json>>{
           {"is_causal", false},
           {"use_bidirectional_attention", true},
           {"attn_logit_softcapping", 50.0},
           {"final_logit_softcapping", 30.0},
           {"logits_scaling", 8.0},
           {"embedding_multiplier", 12.0},
           {"num_experts", 8},
           {"kv_lora_rank", 512},
           {"rope_parameters", {{"rope_theta", 1e4}, {"mrope_section", {1, 1, 2}}}}}) {
    EXPECT_THAT(HfErrorWith({{key, value}}), AllOf(HasSubstr(key), HasSubstr("not supported")));
  }
  // As without them.
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"is_causal", true},
                                                           {"use_bidirectional_attention", nullptr},
                                                           {"attn_logit_softcapping", nullptr},
                                                           {"logits_scaling", 1},
                                                           {"mlp_only_layers", Json::array()},
                                                           {"torch_dtype", "bfloat16"}}) {
    EXPECT_EQ(HfErrorWith({{key, value}}), "no error") << key;
  }
}

// Published files leave out what transformers' classes have as defaults.
TEST(HfConfigTest, ReadsGemma3AsPublished) {
  const auto read = Describe(R"({"architectures": ["Gemma3ForConditionalGeneration"],
      "model_type": "gemma3", "mm_tokens_per_image": 256, "vision_config": {"hidden_size": 1152},
      "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
                      "num_hidden_layers": 34, "sliding_window": 1024,
                      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->is_text_tower);
  const ModelSpec& spec = read->spec;
  EXPECT_TRUE(spec.has_tied_head());
  EXPECT_EQ(spec.context_length, 131072);
  EXPECT_EQ(spec.layers[4].attention.window, 1024);
  EXPECT_EQ(spec.layers[5].attention.window, 0);
  EXPECT_EQ(spec.layers[5].attention.head_count, 8);
  EXPECT_EQ(spec.layers[5].attention.kv_head_count, 4);
  EXPECT_EQ(spec.layers[5].attention.key_dim, 256);
  const RopeSpec& global = spec.ropes[static_cast<size_t>(spec.layers[5].attention.rope)];
  const RopeSpec& local = spec.ropes[static_cast<size_t>(spec.layers[4].attention.rope)];
  EXPECT_EQ(global.base, 1e6);
  EXPECT_EQ(global.factor, 8);
  EXPECT_EQ(local.base, 1e4);
  EXPECT_EQ(local.scaling, RopeScalingKind::kNone);
}

TEST(HfConfigTest, YarnTakesWhatItsFirstFilesSay) {
  const ModelSpec spec = SpecWith({{"rope_scaling",
                                    {{"type", "yarn"},
                                     {"factor", 4.0},
                                     {"original_max_position_embeddings", 32},
                                     {"finetuned", true},
                                     {"mscale", 1.0}}}});
  EXPECT_NEAR(spec.ropes[0].attention_factor, 0.1 * std::log(4.0) + 1, 1e-12);
}

// As Python writes it, which is no JSON, and as transformers does.
TEST(HfConfigTest, ReadsInfinity) {
  const auto limits = [](std::string_view of_steps) {
    const Json config = {{"architectures", {"Mamba2ForCausalLM"}},
                         {"vocab_size", 100},
                         {"num_hidden_layers", 2},
                         {"hidden_size", 64},
                         {"num_heads", 8},
                         {"head_dim", 16}};
    std::string text = config.dump();
    text.back() = ',';
    text += fmt::format(R"("note": "a \"bare\" Infinity", "time_step_limit": {}}})", of_steps);
    const StateSpaceSpec space = *Describe(text).value().spec.layers[1].state_space;
    return std::pair(space.least_dt, space.most_dt);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(limits("null"), std::pair(0.0F, kInfinity));
  EXPECT_EQ(limits("[0.5, Infinity]"), std::pair(0.5F, kInfinity));
  EXPECT_EQ(limits(R"([0.5, {"__float__": "Infinity"}])"), std::pair(0.5F, kInfinity));
  EXPECT_EQ(limits("[0.25, 1e300]"), std::pair(0.25F, kInfinity));
  EXPECT_EQ(limits("[0, 2]"), std::pair(0.0F, 2.0F));
}

TEST(HfConfigTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "3", "{", "{\"a\":}", "\xff"}) {
    const auto read = Describe(text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "config.json: not a JSON object");
  }
  EXPECT_THAT(Describe("{}").error().message, HasSubstr("neither architectures nor model_type"));
}

TEST(HfConfigTest, PoolingIsAModeOrNone) {
  using Mode = std::optional<Pooling>;
  const std::pair<std::string_view, Mode> cases[] = {
      {R"({"pooling_mode_mean_tokens": true})", Pooling::kMean},
      {R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", Pooling::kFirst},
      {R"({"pooling_mode_max_tokens": true})", Pooling::kMax},
      {R"({"pooling_mode_weightedmean_tokens": true})", Pooling::kWeightedMean},
      {R"({"pooling_mode_lasttoken": true})", Pooling::kLast},
      {R"({"pooling_mode": "cls", "include_prompt": true})", Pooling::kFirst},  // of version 5
      {R"({"pooling_mode_mean_tokens": false})", std::nullopt},
      {"{}", std::nullopt},
  };
  for (const auto& [text, mode] : cases) {
    const Result<Mode> read = ReadHfPooling(text, "p");
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(*read, mode) << text;
  }
}

TEST(HfConfigTest, PoolingThatCannotBeReadIsRefused) {
  const auto error_of = [](const std::string& text) {
    const Result<std::optional<Pooling>> read = ReadHfPooling(text, "p");
    return read ? "read" : read.error().message;
  };
  for (const char* text : {"", "[]", "{"}) EXPECT_EQ(error_of(text), "p: not a JSON object");
  EXPECT_EQ(error_of(R"({"pooling_mode_mean_tokens": 1})"),
            "p: pooling_mode_mean_tokens is number, expected true or false");
  EXPECT_EQ(error_of(R"({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true})"),
            "p: has 2 modes of pooling, expected one");
  EXPECT_EQ(error_of(R"({"pooling_mode": "splade"})"), "p: pooling_mode 'splade' is not supported");
  std::string many = "[[]";
  for (int i = 0; i < 1'000'000; ++i) many += ",[]";
  EXPECT_THAT(error_of(many + "]"), HasSubstr("p: "));
}

TEST(HfConfigTest, PoolingIsReadFromARegularFileOrNotThere) {
  const TemporaryDirectory directory;
  const std::string model = directory.path() + "/model";
  std::filesystem::copy(SourcePath("tests/model/fixtures/parity/llama2/hf"), model);
  ASSERT_TRUE(LoadCheckpoint(model));
  std::filesystem::create_directory(model + "/1_Pooling");
  ASSERT_TRUE(LoadCheckpoint(model));
  const std::string path = model + "/1_Pooling/config.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto checkpoint = LoadCheckpoint(model);
  ASSERT_FALSE(checkpoint);
  EXPECT_EQ(checkpoint.error().message, path + ": is a named pipe, expected a regular file");
}

}  // namespace
}  // namespace weft
