// Tensors found by name, or refused with the name of what is wrong; and both loaders give one
// model.
#include "model/tensor_binding.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/config_readers.h"
#include "model/formats/dequantize.h"
#include "model/formats/safetensors.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Bound {
  ModelConfig config;
  const Architecture* architecture = nullptr;
  TensorMap map;
  std::vector<MappedFile> files;
  FileFormat format = FileFormat::kGguf;

  Result<ModelTensors> Bind() const {
    return BindTensors(map, format, config, *architecture, "file");
  }
  std::string Error() const {
    const auto tensors = Bind();
    return tensors ? "no error" : tensors.error().message;
  }
};

Bound OpenGguf(const std::string& fixture) {
  GgufFile file = GgufFile::Open(ParityPath(fixture, "model.gguf")).value();
  const ConfigAndArchitecture read = ReadGgufConfig(file).value();
  return {read.config, read.architecture, file.tensors, std::move(file.files), FileFormat::kGguf};
}

Bound OpenHf(const std::string& fixture) {
  std::ifstream stream(ParityPath(fixture, "hf/config.json"));
  std::stringstream text;
  text << stream.rdbuf();
  const ConfigAndArchitecture read = ReadHfConfig(text.str(), "config.json").value();
  SafetensorsFiles files = SafetensorsFiles::OpenDirectory(ParityPath(fixture, "hf")).value();
  return {read.config, read.architecture, files.tensors, std::move(files.files),
          FileFormat::kSafetensors};
}

std::vector<std::vector<float>> Values(const TensorView& view) {
  std::vector<std::vector<float>> rows;
  if (!view) return rows;
  for (int64_t row = 0; row < view.rows(); ++row) {
    rows.emplace_back(static_cast<size_t>(view.columns()));
    DequantizeRow(view.type, view.data + row * view.strides_bytes[0], view.columns(),
                  rows.back().data());
  }
  return rows;
}

// GGUF's row order of Llama's queries and keys undone: neighbours go back to half a head's
// distance.
std::vector<std::vector<float>> HeadsInHalves(std::vector<std::vector<float>> rows,
                                              const ModelConfig& config) {
  if (config.rope.pairing == RopePairing::kHalves) return rows;
  std::vector<std::vector<float>> result = rows;
  const auto head_dim = static_cast<size_t>(config.head_dim);
  const auto half = static_cast<size_t>(config.rope.rotary_dim / 2);
  for (size_t head = 0; head < rows.size(); head += head_dim) {
    for (size_t i = 0; i < half; ++i) {
      result[head + i] = rows[head + 2 * i];
      result[head + half + i] = rows[head + 2 * i + 1];
    }
  }
  return result;
}

TEST(TensorBindingTest, BothLoadersGiveEqualWeights) {
  for (const std::string fixture : kParityFixtures) {
    const Bound gguf = OpenGguf(fixture);
    const Bound hf = OpenHf(fixture);
    const ModelTensors a = gguf.Bind().value();
    const ModelTensors b = hf.Bind().value();
    EXPECT_EQ(Values(a.token_embedding), Values(b.token_embedding)) << fixture;
    EXPECT_EQ(Values(a.output_norm), Values(b.output_norm)) << fixture;
    EXPECT_EQ(Values(a.output_head), Values(b.output_head)) << fixture;
    ASSERT_EQ(a.layers.size(), b.layers.size()) << fixture;
    for (size_t i = 0; i < a.layers.size(); ++i) {
      const LayerTensors& x = a.layers[i];
      const LayerTensors& y = b.layers[i];
      EXPECT_EQ(HeadsInHalves(Values(x.query), gguf.config), Values(y.query)) << fixture;
      EXPECT_EQ(HeadsInHalves(Values(x.key), gguf.config), Values(y.key)) << fixture;
      for (const auto place :
           {&LayerTensors::attention_norm, &LayerTensors::value, &LayerTensors::query_bias,
            &LayerTensors::key_bias, &LayerTensors::value_bias, &LayerTensors::query_norm,
            &LayerTensors::key_norm, &LayerTensors::attention_output, &LayerTensors::mlp_norm,
            &LayerTensors::gate, &LayerTensors::up, &LayerTensors::down, &LayerTensors::router}) {
        EXPECT_EQ(Values(x.*place), Values(y.*place)) << fixture << ", layer " << i;
      }
      for (const auto place :
           {&LayerTensors::expert_gate, &LayerTensors::expert_up, &LayerTensors::expert_down}) {
        ASSERT_EQ((x.*place).size(), (y.*place).size()) << fixture;
        for (size_t expert = 0; expert < (x.*place).size(); ++expert) {
          EXPECT_EQ(Values((x.*place)[expert]), Values((y.*place)[expert]))
              << fixture << ", layer " << i << ", expert " << expert;
        }
      }
    }
  }
}

TEST(TensorBindingTest, NamesTheMissingTensor) {
  for (const auto& [fixture, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"llama2", "output_norm.weight"},
           {"llama2", "blk.1.attn_q.weight"},
           {"qwen2", "blk.0.attn_k.bias"},
           {"qwen3", "blk.2.attn_q_norm.weight"},
           {"mixtral", "blk.1.ffn_gate_inp.weight"},
           {"olmoe", "blk.0.ffn_down_exps.weight"}}) {
    Bound bound = OpenGguf(fixture);
    ASSERT_EQ(bound.map.erase(name), 1U) << name;
    EXPECT_THAT(bound.Error(), HasSubstr("file: tensor " + std::string(name) + " is missing"));
  }
  Bound hf = OpenHf("mixtral");
  ASSERT_EQ(hf.map.erase("model.layers.1.block_sparse_moe.experts.5.w2.weight"), 1U);
  EXPECT_THAT(hf.Error(),
              HasSubstr("model.layers.1.block_sparse_moe.experts.5.w2.weight is missing"));
}

TEST(TensorBindingTest, NamesFoundAndExpectedShape) {
  Bound bound = OpenGguf("llama2");
  bound.map["blk.1.attn_k.weight"].dims[0] = 24;
  EXPECT_THAT(bound.Error(),
              HasSubstr("tensor blk.1.attn_k.weight has shape (24, 48), expected (48, 48)"));
  Bound norm = OpenGguf("llama2");
  norm.map["blk.1.attn_norm.weight"].dims[0] = 47;
  EXPECT_THAT(norm.Error(), HasSubstr("has shape (47), expected (48)"));
  Bound experts = OpenGguf("olmoe");
  experts.map["blk.0.ffn_up_exps.weight"].dims[0] = 7;
  EXPECT_THAT(experts.Error(), HasSubstr("has shape (7, 24, 48), expected (8, 24, 48)"));
  Bound fused = OpenHf("qwen3_moe");
  fused.map["model.layers.1.mlp.experts.gate_up_proj"].dims[1] = 40;
  EXPECT_THAT(fused.Error(), HasSubstr("has shape (8, 40, 48), expected (8, 80, 48)"));
  Bound head = OpenGguf("llama2");
  head.map["output.weight"].dims[0] = 100;
  EXPECT_THAT(head.Error(), HasSubstr("output.weight has shape (100, 48), expected (264, 48)"));
}

TEST(TensorBindingTest, RefusesAQuantisedNorm) {
  Bound bound = OpenGguf("llama2");
  bound.map["output_norm.weight"].type = DataType::kQ8_0;
  EXPECT_THAT(bound.Error(), HasSubstr("output_norm.weight has type Q8_0, expected F32"));
}

TEST(TensorBindingTest, RefusesATensorWithoutAPlace) {
  Bound bound = OpenGguf("llama2");
  bound.map["blk.0.attn_output.bias"] = bound.map["blk.0.attn_norm.weight"];
  EXPECT_THAT(bound.Error(),
              AllOf(HasSubstr("'blk.0.attn_output.bias' has no place in architecture llama")));
  // A layer more than the configuration says.
  Bound layers = OpenGguf("llama2");
  layers.config.layer_count = 2;
  EXPECT_THAT(layers.Error(), HasSubstr("'blk.2.attn_k.weight' has no place"));
}

TEST(TensorBindingTest, IgnoresWhatRepeatsTheConfiguration) {
  Bound bound = OpenHf("llama3");
  bound.map["model.layers.0.self_attn.rotary_emb.inv_freq"] = bound.map["model.norm.weight"];
  bound.map["lm_head.weight"] = bound.map["model.embed_tokens.weight"];  // tied, yet saved
  EXPECT_EQ(bound.Error(), "no error");
}

TEST(TensorBindingTest, ReadsOneTensorAnExpertAsOldFilesHaveIt) {
  Bound stacked = OpenGguf("mixtral");
  Bound single = OpenGguf("mixtral");
  for (int64_t layer = 0; layer < single.config.layer_count; ++layer) {
    for (const char* kind : {"gate", "up", "down"}) {
      const auto node = single.map.extract(fmt::format("blk.{}.ffn_{}_exps.weight", layer, kind));
      for (int64_t expert = 0; expert < single.config.moe.expert_count; ++expert) {
        single.map[fmt::format("blk.{}.ffn_{}.{}.weight", layer, kind, expert)] =
            node.mapped()[expert];
      }
    }
  }
  const ModelTensors a = stacked.Bind().value();
  const auto b = single.Bind();
  ASSERT_TRUE(b) << b.error().message;
  for (size_t expert = 0; expert < 6; ++expert) {
    EXPECT_EQ(Values(a.layers[1].expert_gate[expert]), Values(b->layers[1].expert_gate[expert]));
    EXPECT_EQ(Values(a.layers[1].expert_down[expert]), Values(b->layers[1].expert_down[expert]));
  }
}

}  // namespace
}  // namespace weft
