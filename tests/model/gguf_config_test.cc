// Hyperparameters of GGUF files: what they become, and what is refused with which words.
#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/gguf_example.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(GgufConfigTest, ReadsSizesAndDefaults) {
  const auto read = GgufExample().Read();
  ASSERT_TRUE(read) << read.error().message;
  const ModelSpec& spec = read->spec;
  const AttentionSpec& attention = spec.layers.front().attention;
  EXPECT_EQ(spec.architecture, "llama");
  EXPECT_EQ(spec.name, "example");
  EXPECT_EQ(spec.vocab_size, 100);
  EXPECT_EQ(spec.layer_count(), 2);
  EXPECT_EQ(attention.key_dim, 8);
  EXPECT_EQ(spec.ropes[0].rotary_dim, 8);
  EXPECT_EQ(spec.ropes[0].base, 10000.0);
  EXPECT_EQ(spec.ropes[0].pairing, RopePairing::kNeighbours);
  EXPECT_EQ(spec.ropes[0].scaling, RopeScalingKind::kNone);
  EXPECT_EQ(attention.window, 0);
  EXPECT_TRUE(spec.has_tied_head());
  EXPECT_EQ(spec.expert_count(), 0);
}

TEST(GgufConfigTest, LlamaWithExpertsIsMixtral) {
  GgufExample example;
  example.values["llama.expert_count"] = int64_t{8};
  example.values["llama.expert_used_count"] = int64_t{2};
  const auto read = example.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->spec.architecture, "mixtral");
  EXPECT_EQ(read->spec.layers[1].mixture()->width, 96);
  EXPECT_TRUE(read->spec.layers[1].mixture()->router.renormalize);
}

TEST(GgufConfigTest, OldLinearScalingHasNoType) {
  GgufExample example;
  example.values["llama.rope.scale_linear"] = 4.0;
  const auto read = example.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->spec.ropes[0].scaling, RopeScalingKind::kLinear);
  EXPECT_EQ(read->spec.ropes[0].factor, 4.0);
}

// As llama.cpp has it: a factor alone is a linear one.
TEST(GgufConfigTest, AFactorWithoutATypeIsLinear) {
  GgufExample example;
  example.values["llama.rope.scaling.factor"] = 4.0;
  EXPECT_EQ(example.Read().value().spec.ropes[0].scaling, RopeScalingKind::kLinear);
  example.values["llama.rope.scaling.type"] = std::string_view("none");
  EXPECT_EQ(example.Read().value().spec.ropes[0].scaling, RopeScalingKind::kNone);
}

TEST(GgufConfigTest, PoolingIsAModeOrNone) {
  for (const auto& [kind, pooling] : {std::pair{0, Pooling::kLast},
                                      {1, Pooling::kMean},
                                      {2, Pooling::kFirst},
                                      {3, Pooling::kLast}}) {
    GgufExample example;
    example.values["llama.pooling_type"] = int64_t{kind};
    const auto read = example.Read();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->spec.pooling, pooling) << kind;
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
              HasSubstr("head_count is 7, expected a divisor of the hidden size 64"));
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
              AllOf(HasSubstr("'mamba' is not supported"), HasSubstr("known are "),
                    HasSubstr(", llama, ")));
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.clamp_kqv", 8.0),
              HasSubstr("llama.attention.clamp_kqv is 8, which changes what this model computes"));
  EXPECT_EQ(GgufExample().ErrorWith("llama.attention.clamp_kqv", 0.0), "no error");
  EXPECT_THAT(GgufExample().ErrorWith("llama.logit_scale", 0.5),
              HasSubstr("llama.logit_scale is 0.5, which"));
  EXPECT_EQ(GgufExample().ErrorWith("llama.logit_scale", 1.0), "no error");
}

TEST(GgufConfigTest, RefusesWhatNobodyReads) {
  EXPECT_THAT(GgufExample().ErrorWith("llama.attention.causal", false),
              HasSubstr("llama.attention.causal is false, which is not supported (expected true)"));
  EXPECT_EQ(GgufExample().ErrorWith("llama.attention.causal", true), "no error");
  EXPECT_THAT(GgufExample().ErrorWith("llama.something_new", int64_t{3}),
              HasSubstr("llama.something_new is 3, which changes what this model computes"));
  EXPECT_THAT(GgufExample().ErrorWith("llama.two\nlines", int64_t{3}),
              HasSubstr("llama.'two\\x0alines' is 3, which changes"));
  EXPECT_EQ(GgufExample().ErrorWith("llama.vocab_size", int64_t{100}), "no error");
  EXPECT_EQ(GgufExample().ErrorWith("quantize.imatrix.entries_count", int64_t{3}), "no error");
}

TEST(GgufConfigTest, OneValueForAllLayersOrOneEach) {
  GgufExample example;
  example.values["llama.feed_forward_length"] = std::vector<int64_t>{96, 48};
  const auto read = example.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<DenseMlpSpec>(read->spec.layers[0].mlp).width, 96);
  EXPECT_EQ(std::get<DenseMlpSpec>(read->spec.layers[1].mlp).width, 48);
  EXPECT_THAT(example.ErrorWith("llama.feed_forward_length", std::vector<int64_t>{96}),
              HasSubstr("feed_forward_length is an array of 1, expected 2 integers from 1 to"));
  EXPECT_THAT(example.ErrorWith("llama.feed_forward_length", std::vector<int64_t>{96, 0}),
              HasSubstr("expected 2 integers from 1 to"));
}

TEST(GgufConfigTest, ValuesMayBeOfAnotherSizeThanKeys) {
  GgufExample example;
  example.values["llama.attention.value_length"] = int64_t{16};
  const auto read = example.Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->spec.layers[0].attention.key_dim, 8);
  EXPECT_EQ(read->spec.layers[0].attention.value_size(), 64);
  EXPECT_EQ(read->spec.layers[0].attention.attended_size(), 128);
}

TEST(GgufConfigTest, NamesWhatIsMissingOrOfTheWrongType) {
  for (const char* key : {"general.architecture", "llama.block_count", "llama.context_length",
                          "llama.embedding_length", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    EXPECT_THAT(GgufExample().ErrorWithout(key), AllOf(HasSubstr(key), HasSubstr("is missing")));
  }
  EXPECT_THAT(GgufExample().ErrorWith("llama.block_count", std::string_view("2")),
              HasSubstr("llama.block_count is '2', expected an integer from 1 to"));
  EXPECT_THAT(
      GgufExample().ErrorWith("llama.attention.head_count_kv", std::vector<int64_t>{4, 4, 4}),
      AllOf(HasSubstr("head_count_kv"), HasSubstr("array of 3")));
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

TEST(GgufConfigTest, GatingFunctionIsOneOfThree) {
  GgufExample example;
  example.values["llama.expert_count"] = int64_t{8};
  example.values["llama.expert_used_count"] = int64_t{2};
  const auto router = [&] { return example.Read().value().spec.layers[0].mixture()->router; };
  EXPECT_TRUE(router().softmax_before_choice);
  example.values["llama.expert_gating_func"] = int64_t{3};
  EXPECT_FALSE(router().softmax_before_choice);
  example.values["llama.expert_gating_func"] = int64_t{2};
  EXPECT_EQ(router().score, RouterScore::kSigmoid);
  EXPECT_THAT(example.ErrorWith("llama.expert_gating_func", int64_t{4}),
              HasSubstr("expert_gating_func is 4, expected 1 (softmax), 2 (sigmoid) or 3"));
}

TEST(GgufConfigTest, RefusesAModelWithoutEmbedding) {
  GgufExample example;
  example.tensors.clear();
  const auto read = example.Read();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("token_embd.weight is missing"));
}

}  // namespace
}  // namespace weft
