// The table of families, and that both formats of a checkpoint describe one model.
#include "model/families/families.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/rope.h"
#include "model/tensor_binding.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

TEST(FamiliesTest, NamesAreUnique) {
  for (const Family& a : Families()) {
    for (const Family& b : Families()) {
      if (&a == &b) continue;
      EXPECT_TRUE(a.hf_class.empty() || a.hf_class != b.hf_class) << a.hf_class;
      EXPECT_TRUE(a.hf_type.empty() || a.hf_type != b.hf_type) << a.hf_type;
      EXPECT_TRUE(a.gguf.empty() || a.gguf != b.gguf) << a.gguf;
    }
  }
}

void ExpectSame(const AttentionSpec& a, const AttentionSpec& b) {
  EXPECT_EQ(a.head_count, b.head_count);
  EXPECT_EQ(a.kv_head_count, b.kv_head_count);
  EXPECT_EQ(a.key_dim, b.key_dim);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.window, b.window);
  EXPECT_EQ(a.rope, b.rope);
  EXPECT_EQ(a.query.weights, b.query.weights);
  EXPECT_EQ(a.output.weights, b.output.weights);
  EXPECT_EQ(a.value.bias, b.value.bias);
  EXPECT_EQ(a.query_norm.weight, b.query_norm.weight);
  EXPECT_EQ(a.query_norm.epsilon, b.query_norm.epsilon);
  EXPECT_EQ(a.head_norm, b.head_norm);
  EXPECT_EQ(a.norms_after_rope, b.norms_after_rope);
  EXPECT_EQ(a.score.soft_cap, b.score.soft_cap);
  EXPECT_EQ(a.score.slopes, b.score.slopes);
  EXPECT_EQ(a.score.sinks, b.score.sinks);
}

void ExpectSame(const MlpSpec& a, const MlpSpec& b) {
  ASSERT_EQ(a.index(), b.index());
  if (const auto* x = std::get_if<DenseMlpSpec>(&a)) {
    const auto& y = std::get<DenseMlpSpec>(b);
    EXPECT_EQ(x->width, y.width);
    EXPECT_EQ(x->activation, y.activation);
    EXPECT_EQ(x->down.weights, y.down.weights);
  } else {
    const auto& x_mixture = std::get<MixtureSpec>(a);
    const auto& y_mixture = std::get<MixtureSpec>(b);
    EXPECT_EQ(x_mixture.expert_count, y_mixture.expert_count);
    EXPECT_EQ(x_mixture.experts_per_token, y_mixture.experts_per_token);
    EXPECT_EQ(x_mixture.width, y_mixture.width);
    EXPECT_EQ(x_mixture.router.softmax_before_choice, y_mixture.router.softmax_before_choice);
    EXPECT_EQ(x_mixture.router.renormalize, y_mixture.router.renormalize);
    EXPECT_EQ(x_mixture.down, y_mixture.down);
  }
}

// But for the rows' order, which RopePairing tells, and scaling that GGUF has as divisors.
void ExpectSame(const RopeSpec& a, const RopeSpec& b) {
  EXPECT_EQ(a.rotary_dim, b.rotary_dim);
  EXPECT_FLOAT_EQ(static_cast<float>(a.base), static_cast<float>(b.base));
  EXPECT_FLOAT_EQ(static_cast<float>(a.attention_factor), static_cast<float>(b.attention_factor));
}

TEST(FamiliesTest, BothFormatsOfAFixtureAgree) {
  for (const char* fixture : kParityFixtures) {
    SCOPED_TRACE(fixture);
    const auto hf = LoadCheckpoint(ParityPath(fixture, "hf"));
    const auto gguf = LoadCheckpoint(ParityPath(fixture, "model.gguf"));
    ASSERT_TRUE(hf) << hf.error().message;
    ASSERT_TRUE(gguf) << gguf.error().message;
    const ModelSpec& a = hf->spec;
    ModelSpec b = gguf->spec;
    if (a.architecture == "starcoder2") {
      // Of which these files do not tell: the published one.
      for (LayerSpec& layer : b.layers) layer.attention.window = 0;
    }
    if (a.architecture == "falcon-h1") {
      // Whose factors are in GGUF's weights.
      b.embedding.multiplier = a.embedding.multiplier;
      for (size_t i = 0; i < a.layers.size(); ++i) {
        b.layers[i].attention.scale = a.layers[i].attention.scale;
      }
    }
    EXPECT_EQ(a.vocab_size, b.vocab_size);
    // llama.cpp's converter has another number: that of the alpha which all its models have, or,
    // where positions are no matter to anything, one for all.
    const bool has_state_space = std::ranges::any_of(
        a.layers, [](const LayerSpec& layer) { return layer.state_space.has_value(); });
    if (a.architecture != "hunyuan-dense" && (!has_state_space || a.architecture == "falcon-h1")) {
      EXPECT_EQ(a.context_length, b.context_length);
    }
    EXPECT_EQ(a.hidden_size, b.hidden_size);
    EXPECT_EQ(a.has_tied_head(), b.has_tied_head());
    EXPECT_EQ(a.embedding.multiplier, b.embedding.multiplier);
    EXPECT_EQ(a.head.norm.epsilon, b.head.norm.epsilon);
    ASSERT_EQ(a.ropes.size(), b.ropes.size());
    for (size_t i = 0; i < a.ropes.size(); ++i) ExpectSame(a.ropes[i], b.ropes[i]);
    ASSERT_EQ(a.layers.size(), b.layers.size());
    for (size_t i = 0; i < a.layers.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSame(a.layers[i].attention, b.layers[i].attention);
      ExpectSame(a.layers[i].mlp, b.layers[i].mlp);
      EXPECT_EQ(a.layers[i].attention_norm.epsilon, b.layers[i].attention_norm.epsilon);
      EXPECT_EQ(a.layers[i].mlp_output_norm.weight, b.layers[i].mlp_output_norm.weight);
    }
  }
}

// The first files of OLMo 3 have all of YaRN's factor under another key. Without a list of windows,
// every fourth layer has none.
TEST(FamiliesTest, EarlyFilesOfOlmo3) {
  GgufFile file = GgufFile::Open(ParityPath("olmo3", "model.gguf")).value();
  const ModelSpec expected = DescribeGguf(file).value().spec;
  auto values = file.metadata.values();
  for (const char* key : {"attention.sliding_window_pattern", "rope.freq_base_swa",
                          "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"}) {
    ASSERT_EQ(values.erase(std::string("olmo2.") + key), 1U) << key;
  }
  auto factor = values.extract("olmo2.rope.scaling.yarn_attn_factor");
  factor.key() = "olmo2.rope.scaling.attn_factor";
  values.insert(std::move(factor));
  file.metadata = GgufMetadata("model.gguf", std::move(values));
  const ModelSpec spec = DescribeGguf(file).value().spec;
  ASSERT_EQ(spec.ropes.size(), expected.ropes.size());
  for (size_t i = 0; i < spec.ropes.size(); ++i) {
    EXPECT_EQ(spec.ropes[i].attention_factor, expected.ropes[i].attention_factor);
    EXPECT_EQ(RopeFrequencies(spec.ropes[i]), RopeFrequencies(expected.ropes[i]));
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    EXPECT_EQ(spec.layers[i].attention.window, expected.layers[i].attention.window);
    EXPECT_EQ(spec.layers[i].attention.rope, expected.layers[i].attention.rope);
  }
}

// Older files have the two halves of what is now one tensor under names of their own, whichever
// comes first in it.
TEST(FamiliesTest, EarlyFilesOfJinaBert) {
  for (const auto& [fixture, first, second] :
       {std::array{"jina_bert", ".ffn_gate.weight", ".ffn_up.weight"},
        std::array{"jina_bert_code", ".ffn_up.weight", ".ffn_gate.weight"}}) {
    GgufFile file = GgufFile::Open(ParityPath(fixture, "model.gguf")).value();
    const auto bind = [&] { return BindTensors(file.tensors, *DescribeGguf(file), "").value(); };
    const ModelTensors expected = bind();
    constexpr std::string_view kBoth = ".ffn_up.weight";
    TensorMap halves;
    for (const auto& [name, view] : file.tensors) {
      if (!name.ends_with(kBoth)) {
        halves.emplace(name, view);
        continue;
      }
      const std::string layer = name.substr(0, name.size() - kBoth.size());
      TensorView half = view;
      half.dims[0] /= 2;
      halves.emplace(layer + first, half);
      half.data += half.dims[0] * half.strides_bytes[0];
      halves.emplace(layer + second, half);
    }
    file.tensors = halves;
    const ModelTensors found = bind();
    ASSERT_EQ(found.matrices.size(), expected.matrices.size());
    for (size_t i = 0; i < found.matrices.size(); ++i) {
      EXPECT_EQ(found.matrices[i].view.data, expected.matrices[i].view.data) << fixture << " " << i;
    }
  }
}

}  // namespace
}  // namespace weft
