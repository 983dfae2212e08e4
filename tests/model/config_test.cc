// Configurations of both formats: what they become, and what is refused with which words.
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "model/checkpoint.h"
#include "model/formats/config_readers.h"
#include "tests/data_paths.h"
#include "tests/model/parity_fixture.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;
using GgufValues = std::map<std::string, GgufValue, std::less<>>;

// --- GGUF ---

// A sound "llama" with 2 layers; the data of its tensors is never read.
struct GgufExample {
  GgufValues values = {
      {"general.architecture", std::string_view("llama")},
      {"general.name", std::string_view("example")},
      {"llama.block_count", int64_t{2}},
      {"llama.context_length", int64_t{128}},
      {"llama.embedding_length", int64_t{64}},
      {"llama.feed_forward_length", int64_t{96}},
      {"llama.attention.head_count", int64_t{8}},
      {"llama.attention.head_count_kv", int64_t{4}},
      {"llama.attention.layer_norm_rms_epsilon", 1e-5},
  };
  TensorMap tensors = {
      {"token_embd.weight", TensorView::Contiguous(nullptr, DataType::kF32, {100, 64})}};

  Result<ConfigAndArchitecture> Read() const {
    GgufFile file;
    file.metadata = GgufMetadata("example.gguf", values);
    file.tensors = tensors;
    return ReadGgufConfig(file);
  }
  std::string ErrorWith(const std::string& key, GgufValue value) {
    values.insert_or_assign(key, std::move(value));
    auto read = Read();
    return read ? "no error" : read.error().message;
  }
  std::string ErrorWithout(const std::string& key) {
    values.erase(key);
    auto read = Read();
    return read ? "no error" : read.error().message;
  }
};

TEST(GgufConfigTest, ReadsSizesAndDefaults) {
  const auto read = GgufExample().Read();
  ASSERT_TRUE(read) << read.error().message;
  const ModelConfig& config = read->config;
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.name, "example");
  EXPECT_EQ(config.vocab_size, 100);
  EXPECT_EQ(config.layer_count, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.rope.rotary_dim, 8);
  EXPECT_EQ(config.rope.base, 10000.0);
  EXPECT_EQ(config.rope.pairing, RopePairing::kNeighbours);
  EXPECT_EQ(config.rope.scaling, RopeScalingKind::kNone);
  EXPECT_EQ(config.sliding_window, 0);
  EXPECT_TRUE(config.tied_head);
  EXPECT_FALSE(config.is_moe());
}

TEST(GgufConfigTest, LlamaWithExpertsIsMixtral) {
  GgufExample example;
  example.values["llama.expert_count"] = int64_t{8};
  example.values["llama.expert_used_count"] = int64_t{2};
  const auto read = example.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->config.architecture, "mixtral");
  EXPECT_EQ(read->config.moe.feed_forward_length, 96);
  EXPECT_TRUE(read->config.moe.renormalize);
}

TEST(GgufConfigTest, OldLinearScalingHasNoType) {
  GgufExample example;
  example.values["llama.rope.scale_linear"] = 4.0;
  const auto read = example.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->config.rope.scaling, RopeScalingKind::kLinear);
  EXPECT_EQ(read->config.rope.factor, 4.0);
}

TEST(GgufConfigTest, PoolingIsTheLastPositionOrTheMean) {
  for (const auto& [kind, pooling] :
       {std::pair{0, Pooling::kLast}, {1, Pooling::kMean}, {3, Pooling::kLast}}) {
    GgufExample example;
    example.values["llama.pooling_type"] = int64_t{kind};
    const auto read = example.Read();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->config.pooling, pooling) << kind;
  }
  EXPECT_THAT(GgufExample().ErrorWith("llama.pooling_type", std::string_view("mean")),
              HasSubstr("llama.pooling_type"));
}

TEST(GgufConfigTest, RefusesSizesThatCannotBe) {
  struct Case {
    std::string key;
    int64_t value;
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (const auto& [key, value] :
       std::initializer_list<Case>{{"llama.block_count", 0},
                                   {"llama.block_count", -1},
                                   {"llama.block_count", kHuge},
                                   {"llama.context_length", 0},
                                   {"llama.context_length", kHuge},
                                   {"llama.embedding_length", 0},
                                   {"llama.embedding_length", kHuge},
                                   {"llama.feed_forward_length", 0},
                                   {"llama.feed_forward_length", kHuge},
                                   {"llama.attention.head_count", 0},
                                   {"llama.attention.head_count", kHuge},
                                   {"llama.attention.head_count_kv", 0},
                                   {"llama.attention.key_length", 0},
                                   {"llama.attention.key_length", kHuge},
                                   {"llama.rope.dimension_count", 0},
                                   {"llama.attention.sliding_window", -5}}) {
    EXPECT_THAT(GgufExample().ErrorWith(key, value),
                AllOf(HasSubstr("example.gguf: "), HasSubstr(key),
                      HasSubstr("is " + std::to_string(value)), HasSubstr("expected")));
  }
}

TEST(GgufConfigTest, RefusesHeadCountsThatDoNotDivide) {
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.head_count", int64_t{7}),
              HasSubstr("head_count is 7, expected a divisor of the embedding length 64"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.head_count_kv", int64_t{3}),
              HasSubstr("8 attention heads cannot share 3 key-value heads"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.head_count_kv", int64_t{16}),
              HasSubstr("8 attention heads cannot share 16 key-value heads"));
}

TEST(GgufConfigTest, RefusesRopeThatCannotBe) {
  EXPECT_THAT(GgufExample().ErrorWith("llama.rope.dimension_count", int64_t{5}),
              HasSubstr("RoPE rotates 5 dimensions"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.rope.dimension_count", int64_t{10}),
              HasSubstr("RoPE rotates 10 dimensions"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.rope.scaling.type", std::string_view("longrope")),
              HasSubstr("rope.scaling.type is 'longrope', expected none, linear or yarn"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.rope.freq_base", -1.0),
              HasSubstr("rope.freq_base is -1, expected a finite number above 0"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.rope.freq_base", 0.001),
              HasSubstr("more than 1 radian"));
  EXPECT_THAT(
      GgufExample().ErrorWith("llama.rope.freq_base", std::numeric_limits<double>::quiet_NaN()),
      HasSubstr("rope.freq_base"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.key_length", int64_t{7}),
              HasSubstr("head dimension 7 is odd"));
}

TEST(GgufConfigTest, RefusesFrequencyDivisorsThatCannotBe) {
  const std::array<float, 4> zero = {1, 2, 0, 4};
  GgufExample example;
  const auto set = [&](const float* data, int64_t count) {
    example.tensors["rope_freqs.weight"] =
        TensorView::Contiguous(reinterpret_cast<const std::byte*>(data), DataType::kF32, {count});
    const auto read = example.Read();
    return read ? "no error" : read.error().message;
  };
  EXPECT_THAT(set(zero.data(), 4), HasSubstr("rope_freqs.weight holds 0"));
  EXPECT_THAT(set(zero.data(), 2), HasSubstr("has 2 elements of type F32, expected 4"));
}

TEST(GgufConfigTest, RefusesWhatItDoesNotCompute) {
  EXPECT_THAT(GgufExample().ErrorWith("general.architecture", std::string_view("mamba")),
              AllOf(HasSubstr("'mamba' is not supported"),
                    HasSubstr("known are llama, qwen2, qwen3, qwen3moe, olmoe")));
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.clamp_kqv", 8.0),
              HasSubstr("llama.attention.clamp_kqv is not supported"));
  EXPECT_EQ(GgufExample().ErrorWith("llama.attention.clamp_kqv", 0.0), "no error");
  EXPECT_THAT(GgufExample().ErrorWith("llama.logit_scale", 0.5),
              HasSubstr("llama.logit_scale is not supported"));
  EXPECT_EQ(GgufExample().ErrorWith("llama.logit_scale", 1.0), "no error");
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.value_length", int64_t{16}),
              HasSubstr("attention.value_length is 16, expected the key length 8"));
}

TEST(GgufConfigTest, NamesWhatIsMissingOrOfTheWrongType) {
  for (const char* key : {"general.architecture", "llama.block_count", "llama.context_length",
                          "llama.embedding_length", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    EXPECT_THAT(GgufExample().ErrorWithout(key), AllOf(HasSubstr(key), HasSubstr("is missing")));
  }
  EXPECT_THAT(GgufExample().ErrorWith("llama.block_count", std::string_view("2")),
              AllOf(HasSubstr("llama.block_count"), HasSubstr("string")));
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.head_count_kv", std::vector<int64_t>{4, 4}),
              AllOf(HasSubstr("head_count_kv"), HasSubstr("array")));
}

TEST(GgufConfigTest, RefusesExpertsThatCannotBe) {
  GgufExample example;
  example.values["llama.expert_count"] = int64_t{8};
  EXPECT_THAT(example.ErrorWith("llama.expert_used_count", int64_t{9}),
              HasSubstr("9 experts per token, but only 8 experts"));
  EXPECT_THAT(example.ErrorWith("llama.expert_used_count", int64_t{0}),
              HasSubstr("llama.expert_used_count is 0"));
  EXPECT_THAT(example.ErrorWithout("llama.expert_used_count"), HasSubstr("is missing"));
}

TEST(GgufConfigTest, GatingFunctionIsOneOfTwo) {
  GgufExample example;
  example.values["llama.expert_count"] = int64_t{8};
  example.values["llama.expert_used_count"] = int64_t{2};
  EXPECT_TRUE(example.Read().value().config.moe.softmax_before_choice);
  example.values["llama.expert_gating_func"] = int64_t{3};
  EXPECT_FALSE(example.Read().value().config.moe.softmax_before_choice);
  EXPECT_THAT(example.ErrorWith("llama.expert_gating_func", int64_t{2}),
              HasSubstr("expert_gating_func is 2, expected 1 (softmax) or 3"));
}

TEST(GgufConfigTest, RefusesAModelWithoutEmbedding) {
  GgufExample example;
  example.tensors.clear();
  const auto read = example.Read();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("token_embd.weight is missing"));
}

// --- Hugging Face ---

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
  const auto read = ReadHfConfig(config.dump(), "config.json");
  return read ? "no error" : read.error().message;
}

ModelConfig HfConfigWith(const Json& changes) {
  Json config = HfExample();
  config.update(changes);
  const auto read = ReadHfConfig(config.dump(), "config.json");
  EXPECT_TRUE(read) << read.error().message;
  return read ? read->config : ModelConfig();
}

TEST(HfConfigTest, ReadsSizesAndDefaults) {
  const ModelConfig config = HfConfigWith({{"num_key_value_heads", nullptr}});
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.kv_head_count, 8);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.rope.base, 10000.0);
  EXPECT_EQ(config.rope.pairing, RopePairing::kHalves);
  EXPECT_FALSE(config.tied_head);
}

TEST(HfConfigTest, ReadsRopeOfTransformers4And5) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 32}};
  Json parameters = scaling;
  parameters["rope_theta"] = 500000.0;
  for (const ModelConfig& config :
       {HfConfigWith({{"rope_theta", 500000.0}, {"rope_scaling", scaling}}),
        HfConfigWith({{"rope_parameters", parameters}})}) {
    EXPECT_EQ(config.rope.base, 500000.0);
    EXPECT_EQ(config.rope.scaling, RopeScalingKind::kLlama3);
    EXPECT_EQ(config.rope.original_context_length, 32);
  }
  // As the first files with scaling spelt it.
  const ModelConfig old = HfConfigWith({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}});
  EXPECT_EQ(old.rope.scaling, RopeScalingKind::kLinear);
  EXPECT_EQ(old.rope.factor, 2.0);
}

TEST(HfConfigTest, YarnsMagnitudeIsTransformers) {
  const auto factor = [](const Json& more) {
    Json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32}};
    yarn.update(more);
    return HfConfigWith({{"rope_parameters", yarn}}).rope.attention_factor;
  };
  EXPECT_NEAR(factor(Json::object()), 0.1 * std::log(4.0) + 1, 1e-12);
  EXPECT_EQ(factor({{"attention_factor", 1.5}}), 1.5);
  EXPECT_NEAR(factor({{"mscale", 1.0}, {"mscale_all_dim", 0.5}}),
              (0.1 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1), 1e-12);
}

TEST(HfConfigTest, SlidingWindowFollowsTheFamily) {
  const Json mistral = {{"architectures", {"MistralForCausalLM"}}};
  const Json qwen = {{"architectures", {"Qwen3ForCausalLM"}}};
  const auto window = [](Json config, const Json& more) {
    config.update(more);
    return HfConfigWith(config).sliding_window;
  };
  EXPECT_EQ(window(mistral, {{"sliding_window", 12}}), 12);
  EXPECT_EQ(window(mistral, {{"sliding_window", nullptr}}), 0);
  EXPECT_EQ(window(mistral, Json::object()), 4096);
  EXPECT_EQ(window(qwen, {{"sliding_window", 12}}), 0);
  EXPECT_EQ(window(qwen, {{"sliding_window", 12}, {"use_sliding_window", false}}), 0);
  EXPECT_EQ(
      window(qwen,
             {{"sliding_window", 12}, {"use_sliding_window", true}, {"max_window_layers", 0}}),
      12);
  EXPECT_THAT(HfErrorWith({{"architectures", {"Qwen3ForCausalLM"}},
                           {"sliding_window", 12},
                           {"use_sliding_window", true},
                           {"layer_types", {"full_attention", "sliding_attention"}}}),
              HasSubstr("layer_types mixes kinds"));
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
  EXPECT_THAT(HfErrorWith({{"partial_rotary_factor", 1.5}}), HasSubstr("RoPE rotates 0"));
  EXPECT_THAT(HfErrorWith({{"head_dim", 9}}), HasSubstr("head dimension 9 is odd"));
}

TEST(HfConfigTest, RefusesWhatItDoesNotCompute) {
  EXPECT_THAT(HfErrorWith({{"architectures", {"GPT2LMHeadModel"}}}),
              AllOf(HasSubstr("'GPT2LMHeadModel' is not supported"),
                    HasSubstr("LlamaForCausalLM, MistralForCausalLM")));
  EXPECT_THAT(HfErrorWith({{"architectures", nullptr}, {"model_type", "gpt2"}}),
              HasSubstr("model_type 'gpt2' is not supported"));
  EXPECT_THAT(HfErrorWith({{"attention_bias", true}}), HasSubstr("attention_bias is true"));
  EXPECT_THAT(HfErrorWith({{"hidden_act", "relu"}}), HasSubstr("hidden_act is 'relu'"));
  EXPECT_THAT(HfErrorWith({{"quantization_config", Json::object({{"bits", 4}})}}),
              HasSubstr("quantization_config"));
  EXPECT_THAT(HfErrorWith({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}}),
              HasSubstr("rope_type is 'dynamic', expected default, linear, llama3 or yarn"));
  EXPECT_THAT(HfErrorWith({{"rope_parameters", {{"full_attention", Json::object()}}}}),
              HasSubstr("parameters a layer type are not supported"));
  EXPECT_THAT(HfErrorWith({{"rope_parameters", 3}}), HasSubstr("rope_parameters is not an object"));
}

TEST(HfConfigTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "3", "{", "{\"a\":}", "\xff"}) {
    const auto read = ReadHfConfig(text, "config.json");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "config.json: not a JSON object");
  }
  EXPECT_THAT(ReadHfConfig("{}", "config.json").error().message,
              HasSubstr("neither architectures nor model_type"));
}

TEST(HfConfigTest, PoolingIsTheLastPositionOrTheMean) {
  EXPECT_EQ(ReadHfPooling(R"({"pooling_mode_mean_tokens": true})", "p"), Pooling::kMean);
  for (const char* text :
       {R"({"pooling_mode_mean_tokens": false})", R"({"pooling_mode_lasttoken": true})", "{}"}) {
    EXPECT_EQ(ReadHfPooling(text, "p"), Pooling::kLast) << text;
  }
}

TEST(HfConfigTest, PoolingThatCannotBeReadIsRefused) {
  const auto error_of = [](const std::string& text) {
    const Result<Pooling> read = ReadHfPooling(text, "p");
    return read ? "read" : read.error().message;
  };
  for (const char* text : {"", "[]", "{"}) EXPECT_EQ(error_of(text), "p: not a JSON object");
  EXPECT_EQ(error_of(R"({"pooling_mode_mean_tokens": 1})"),
            "p: pooling_mode_mean_tokens is number, expected true or false");
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

// --- the table ---

TEST(ArchitecturesTest, NamesAreUnique) {
  for (const Architecture& a : Architectures()) {
    EXPECT_EQ(FindHfArchitecture(a.hf_class, "").value(), &a);
    EXPECT_EQ(FindHfArchitecture("", a.hf_type).value(), &a);
    EXPECT_EQ(FindGgufArchitecture(a.gguf, a.is_moe).value()->is_moe, a.is_moe);
  }
}

// Both files of a fixture describe one model.
TEST(ArchitecturesTest, BothFormatsOfAFixtureAgree) {
  for (const char* fixture : kParityFixtures) {
    std::ifstream stream(ParityPath(fixture, "hf/config.json"));
    std::stringstream text;
    text << stream.rdbuf();
    const auto hf = ReadHfConfig(text.str(), "config.json");
    const auto file = GgufFile::Open(ParityPath(fixture, "model.gguf"));
    ASSERT_TRUE(hf && file) << fixture;
    const auto gguf = ReadGgufConfig(*file);
    ASSERT_TRUE(gguf) << gguf.error().message;
    const ModelConfig& a = hf->config;
    const ModelConfig& b = gguf->config;
    EXPECT_EQ(a.vocab_size, b.vocab_size) << fixture;
    EXPECT_EQ(a.context_length, b.context_length) << fixture;
    EXPECT_EQ(a.layer_count, b.layer_count) << fixture;
    EXPECT_EQ(a.hidden_size, b.hidden_size) << fixture;
    EXPECT_EQ(a.head_count, b.head_count) << fixture;
    EXPECT_EQ(a.kv_head_count, b.kv_head_count) << fixture;
    EXPECT_EQ(a.head_dim, b.head_dim) << fixture;
    EXPECT_EQ(a.feed_forward_length, b.feed_forward_length) << fixture;
    EXPECT_EQ(a.sliding_window, b.sliding_window) << fixture;
    EXPECT_EQ(static_cast<float>(a.norm_epsilon), static_cast<float>(b.norm_epsilon)) << fixture;
    EXPECT_EQ(a.qk_norm, b.qk_norm) << fixture;
    EXPECT_EQ(a.tied_head, b.tied_head) << fixture;
    EXPECT_EQ(a.rope.rotary_dim, b.rope.rotary_dim) << fixture;
    EXPECT_EQ(a.rope.base, b.rope.base) << fixture;
    EXPECT_EQ(a.rope.attention_factor, b.rope.attention_factor) << fixture;
    EXPECT_EQ(a.moe.expert_count, b.moe.expert_count) << fixture;
    EXPECT_EQ(a.moe.experts_per_token, b.moe.experts_per_token) << fixture;
    EXPECT_EQ(a.moe.feed_forward_length, b.moe.feed_forward_length) << fixture;
    EXPECT_EQ(a.moe.renormalize, b.moe.renormalize) << fixture;
  }
}

}  // namespace
}  // namespace weft
