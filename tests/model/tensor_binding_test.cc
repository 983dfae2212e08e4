// Tensors found by name, or refused with the name of what is wrong; and both loaders give one
// model.
#include "model/tensor_binding.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "model/formats/dequantize.h"
#include "model/formats/safetensors.h"
#include "model/formats/schemes/scheme.h"
#include "model/weights.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Bound {
  ModelDescription description;
  TensorMap map;
  std::vector<MappedFile> files;
  AssembledTensors assembled = {};

  Result<ModelTensors> Bind() const { return BindTensors(map, description, "file", assembled); }
  std::string Error() const {
    const auto tensors = Bind();
    return tensors ? "no error" : tensors.error().message;
  }
};

Bound OpenGguf(const std::string& fixture) {
  GgufFile file = GgufFile::Open(ParityPath(fixture, "model.gguf")).value();
  ModelDescription description = DescribeGguf(file).value();
  return {std::move(description), file.tensors, std::move(file.files)};
}

Bound OpenHf(const std::string& fixture) {
  std::ifstream stream(ParityPath(fixture, "hf/config.json"));
  std::stringstream text;
  text << stream.rdbuf();
  const ConfigValues config = ReadConfigJson(text.str(), "config.json").value();
  ModelDescription description = DescribeHf(config, "config.json").value();
  SafetensorsFiles files = SafetensorsFiles::OpenDirectory(ParityPath(fixture, "hf")).value();
  if (description.is_text_tower) files.tensors = TextTowerOf(files.tensors, "file").value();
  AssembledTensors assembled = AssembleQuantized(config, files.tensors, "file").value();
  return {std::move(description), files.tensors, std::move(files.files), std::move(assembled)};
}

std::vector<std::vector<float>> Values(const BoundMatrix& matrix) {
  const TensorView& view = matrix.view;
  std::vector<std::vector<float>> rows;
  for (int64_t row = 0; row < view.rows(); ++row) {
    std::vector<float>& values = rows.emplace_back(static_cast<size_t>(view.columns()));
    if (matrix.assembled) {
      std::vector<std::byte> blocks(static_cast<size_t>(RowBytes(view.type, view.columns())));
      matrix.assembled->read_row(matrix.rows(row), blocks.data());
      DequantizeRow(view.type, blocks.data(), view.columns(), values.data());
      continue;
    }
    if (!matrix.is_transposed) {
      DequantizeRow(view.type, view.data + matrix.rows(row) * view.strides_bytes[0], view.columns(),
                    values.data());
      continue;
    }
    for (int64_t i = 0; i < view.columns(); ++i) {
      DequantizeRow(
          view.type,
          view.data + i * view.strides_bytes[0] + matrix.rows(row) * RowBytes(view.type, 1), 1,
          &values[static_cast<size_t>(i)]);
    }
  }
  return rows;
}

const BoundMatrix& MatrixOf(const ModelTensors& tensors, MatrixId id) {
  return tensors.matrices[static_cast<size_t>(id)];
}

// GGUF's row order of Llama's queries and keys undone: neighbours go back to half a head's
// distance.
std::vector<std::vector<float>> HeadsInHalves(const std::vector<std::vector<float>>& rows,
                                              const AttentionSpec& attention,
                                              const RopeSpec& rope) {
  if (rope.pairing == RopePairing::kHalves) return rows;
  std::vector<std::vector<float>> result = rows;
  const auto head_dim = static_cast<size_t>(attention.key_dim);
  const auto half = static_cast<size_t>(rope.rotary_dim / 2);
  for (size_t head = 0; head < rows.size(); head += head_dim) {
    for (size_t i = 0; i < half; ++i) {
      result[head + i] = rows[head + 2 * i];
      result[head + half + i] = rows[head + 2 * i + 1];
    }
  }
  return result;
}

// GGUF's order of value heads, which have a number of rows or values each, undone: those that share
// a key head go together.
template <typename Row>
std::vector<Row> HeadsByKey(const std::vector<Row>& rows, const DeltaNetSpec& net, int64_t each) {
  const int64_t sharing = net.value_head_count / net.key_head_count;
  std::vector<Row> result;
  for (int64_t head = 0; head < net.value_head_count; ++head) {
    const int64_t tiled = head % sharing * net.key_head_count + head / sharing;
    for (int64_t i = 0; i < each; ++i) {
      result.push_back(rows[static_cast<size_t>(tiled * each + i)]);
    }
  }
  return result;
}

// As it is packed.
std::vector<float> TableValues(const BoundTable& table) {
  ModelTensors tensors;
  tensors.tables = {table};
  ThreadPool threads(1);
  const Weights weights =
      Weights::Pack(tensors, {}, KernelsFor(Arithmetic::kBF16, Isa::kScalar), threads);
  int64_t count = table.value_count;
  for (const TensorView& entry : table.entries) count += entry.element_count();
  if (table.view) count = table.view.element_count();
  const float* values = weights.table(TableId{0});
  return {values, values + count};
}

TEST(TensorBindingTest, BothLoadersGiveEqualWeights) {
  for (const std::string fixture : kParityFixtures) {
    if (fixture == "falcon_h1") continue;  // GGUF's weights are multiplied
    SCOPED_TRACE(fixture);
    const Bound gguf = OpenGguf(fixture);
    const Bound hf = OpenHf(fixture);
    const ModelTensors a = gguf.Bind().value();
    const ModelTensors b = hf.Bind().value();
    std::set<MatrixId> rotated;
    std::vector<RopeSpec> ropes = gguf.description.spec.ropes;
    // Its converter has those of Nemotron-H, which nothing turns, in the order of Llama's.
    const bool is_nemotron_h = fixture.starts_with("nemotron_h");
    if (is_nemotron_h) ropes = {{.pairing = RopePairing::kNeighbours, .rotary_dim = 8}};
    for (const LayerSpec& layer : gguf.description.spec.layers) {
      const AttentionSpec& attention = layer.attention;
      if (layer.latent) continue;
      if (ropes.empty()) break;
      if (!is_nemotron_h && ropes[0].pairing == hf.description.spec.ropes[0].pairing) break;
      // Converters order the rows of layers without RoPE like the others.
      const RopeSpec& rope = ropes[static_cast<size_t>(std::max(attention.rope, 0))];
      for (const MatrixId id : {attention.query.weights, attention.key.weights}) {
        if (id == MatrixId::kNone) continue;
        rotated.insert(id);
        EXPECT_EQ(HeadsInHalves(Values(MatrixOf(a, id)), attention, rope), Values(MatrixOf(b, id)));
      }
    }
    std::set<TableId> reordered;
    for (const LayerSpec& layer : gguf.description.spec.layers) {
      if (!layer.delta_net || !layer.delta_net->heads_are_tiled) continue;
      const DeltaNetSpec& net = *layer.delta_net;
      for (const auto& [id, each] : {std::pair(net.value.weights, net.value_dim),
                                     {net.gate.weights, net.value_dim},
                                     {net.beta.weights, int64_t{1}},
                                     {net.decay.weights, int64_t{1}}}) {
        rotated.insert(id);
        EXPECT_EQ(HeadsByKey(Values(MatrixOf(a, id)), net, each), Values(MatrixOf(b, id)));
      }
      rotated.insert(net.output.weights);  // in its columns
      reordered.insert(net.conv_weight);
      for (const TableId id : {net.decay_rate, net.decay_bias}) {
        const auto at = static_cast<size_t>(id);
        reordered.insert(id);
        EXPECT_EQ(HeadsByKey(TableValues(a.tables[at]), net, 1), TableValues(b.tables[at]));
      }
    }
    ASSERT_EQ(a.matrices.size(), b.matrices.size());
    for (size_t i = 0; i < a.matrices.size(); ++i) {
      EXPECT_EQ(a.matrices[i].continues_loop, b.matrices[i].continues_loop);
      if (rotated.contains(static_cast<MatrixId>(i))) continue;
      EXPECT_EQ(Values(a.matrices[i]), Values(b.matrices[i])) << "matrix " << i;
    }
    ASSERT_EQ(a.tables.size(), b.tables.size());
    for (size_t i = 0; i < a.tables.size(); ++i) {
      if (reordered.contains(static_cast<TableId>(i))) continue;
      EXPECT_EQ(TableValues(a.tables[i]), TableValues(b.tables[i])) << "table " << i;
    }
    ASSERT_EQ(a.stacks.size(), b.stacks.size());
    for (size_t i = 0; i < a.stacks.size(); ++i) {
      ASSERT_EQ(a.stacks[i].size(), b.stacks[i].size());
      for (size_t expert = 0; expert < a.stacks[i].size(); ++expert) {
        EXPECT_EQ(Values(a.stacks[i][expert]), Values(b.stacks[i][expert]))
            << "stack " << i << ", expert " << expert;
      }
    }
  }
}

// As on the hub: GPT-2 without its head's class, and with its masks.
TEST(TensorBindingTest, NamesOfABareModel) {
  Bound bound = OpenHf("gpt2");
  TensorMap bare;
  for (const auto& [name, view] : bound.map) {
    ASSERT_TRUE(name.starts_with("transformer.")) << name;
    bare[name.substr(std::string_view("transformer.").size())] = view;
  }
  bare["h.0.attn.bias"] = bare["h.0.attn.masked_bias"] = bare["wpe.weight"];
  bound.map = bare;
  EXPECT_EQ(bound.Error(), "no error");
}

// Old GGUF files of latent attention have the heads' matrices in one tensor, as safetensors do.
TEST(TensorBindingTest, LatentMatricesInOneTensor) {
  Bound gguf = OpenGguf("deepseek_v3");
  const Bound hf = OpenHf("deepseek_v3");
  for (int64_t i = 0; i < gguf.description.spec.layer_count(); ++i) {
    const std::string prefix = fmt::format("blk.{}.", i);
    gguf.map.erase(prefix + "attn_k_b.weight");
    gguf.map.erase(prefix + "attn_v_b.weight");
    gguf.map[prefix + "attn_kv_b.weight"] =
        hf.map.at(fmt::format("model.layers.{}.self_attn.kv_b_proj.weight", i));
  }
  const ModelTensors a = gguf.Bind().value();
  const ModelTensors b = hf.Bind().value();
  for (const LayerSpec& layer : gguf.description.spec.layers) {
    for (const StackId id : {layer.latent->key, layer.latent->value}) {
      const auto stack = static_cast<size_t>(id);
      for (size_t head = 0; head < a.stacks[stack].size(); ++head) {
        EXPECT_EQ(Values(a.stacks[stack][head]), Values(b.stacks[stack][head]));
      }
    }
  }
}

// Makes one tensor of three that lie one below the other in it.
void JoinQkv(TensorMap& map, const std::string& layer, const std::string& what,
             std::vector<std::byte>& bytes) {
  TensorView joined;
  for (const char* part : {"q", "k", "v"}) {
    const auto node = map.extract(fmt::format("{}attn_{}.{}", layer, part, what));
    const TensorView& view = node.mapped();
    bytes.insert(bytes.end(), view.data, view.data + view.size_bytes());
    const int64_t rows = joined ? joined.dims[0] : 0;
    joined = view;
    joined.dims[0] += rows;
  }
  joined.data = bytes.data();
  map[layer + "attn_qkv." + what] = joined;
}

// Some versions of llama.cpp write phi-2's queries, keys and values as one tensor.
TEST(TensorBindingTest, QueriesKeysAndValuesInOneTensorOrThree) {
  const Bound three = OpenGguf("phi");
  const ModelTensors expected = three.Bind().value();
  using Kinds = std::vector<const char*>;
  for (const auto& kinds : {Kinds{"weight", "bias"}, Kinds{"weight"}}) {
    Bound one = OpenGguf("phi");
    std::array<std::vector<std::byte>, 4> bytes;
    size_t joined = 0;
    for (const char* layer : {"blk.0.", "blk.1."}) {
      for (const char* kind : kinds) JoinQkv(one.map, layer, kind, bytes[joined++]);
    }
    const auto found = one.Bind();
    ASSERT_TRUE(found) << found.error().message;
    for (size_t i = 0; i < expected.matrices.size(); ++i) {
      EXPECT_EQ(Values(found->matrices[i]), Values(expected.matrices[i])) << "matrix " << i;
    }
    for (size_t i = 0; i < expected.tables.size(); ++i) {
      EXPECT_EQ(TableValues(found->tables[i]), TableValues(expected.tables[i])) << "table " << i;
    }
    one.map["blk.0.attn_k.weight"] = three.map.at("blk.0.attn_k.weight");
    EXPECT_THAT(one.Error(), HasSubstr("'blk.0.attn_k.weight' has no place"));
  }
}

// What a file merely claims takes no memory before the rest of it has been looked at.
TEST(TensorBindingTest, TablesThatFollowFromSizesAreMadeLast) {
  Bound bound = OpenHf("xglm");
  int made = 0;
  int64_t elements = 0;
  for (Parameter& table : bound.description.parameters.tables) {
    if (!table.values) continue;
    elements += table.rows;
    table.values = [&made, make = table.values] {
      ++made;
      return make();
    };
  }
  const ModelTensors tensors = bound.Bind().value();
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  EXPECT_GT(Weights::PackedBytes(tensors, kernels), 4 * elements);
  EXPECT_EQ(made, 0);
  ThreadPool threads(1);
  const Weights weights = Weights::Pack(tensors, {}, kernels, threads);
  EXPECT_EQ(made, 1);
  const EmbeddingSpec& embedding = bound.description.spec.embedding;
  EXPECT_EQ(elements, embedding.position_count * bound.description.spec.hidden_size);
  EXPECT_EQ(weights.table(embedding.positions)[0], 0);  // the first position's first sine
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

TEST(TensorBindingTest, EmbeddingModelsHaveNamesWithoutABase) {
  Bound bound = OpenHf("qwen3");
  TensorMap bare;
  for (const auto& [name, view] : bound.map) {
    constexpr std::string_view kBase = "model.";
    bare[name.starts_with(kBase) ? name.substr(kBase.size()) : name] = view;
  }
  bound.map = bare;
  EXPECT_EQ(bound.Error(), "no error");
}

// One of another kind would be multiplied with rows that nobody has written.
TEST(TensorBindingTest, RefusesExpertsOfTwoKinds) {
  Bound bound = OpenHf("mixtral");
  bound.map["model.layers.0.block_sparse_moe.experts.3.w1.weight"].type = DataType::kQ8_0;
  EXPECT_THAT(bound.Error(), AllOf(HasSubstr("experts.3.w1.weight has type Q8_0"),
                                   HasSubstr("expected integers in both or neither")));
  // Floats of few bits are multiplied with the same rows as others.
  bound.map["model.layers.0.block_sparse_moe.experts.3.w1.weight"].type = DataType::kFP8_F32;
  EXPECT_EQ(bound.Error(), "no error");
}

TEST(TensorBindingTest, RefusesTwoTensorsOfOneName) {
  TensorMap map;
  map["language_model.model.norm.weight"] = map["model.norm.weight"] = TensorView();
  EXPECT_EQ(TextTowerOf(map, "file").error().message,
            "file: two tensors are 'model.norm.weight' of the text");
}

TEST(TensorBindingTest, RefusesATensorWithoutAPlace) {
  Bound bound = OpenGguf("llama2");
  bound.map["blk.0.attn_output.bias"] = bound.map["blk.0.attn_norm.weight"];
  EXPECT_THAT(bound.Error(),
              AllOf(HasSubstr("'blk.0.attn_output.bias' has no place in architecture llama")));
  // A layer more than the configuration says.
  Bound layers = OpenGguf("llama2");
  ParameterList& parameters = layers.description.parameters;
  const auto of_last_layer = [](const Parameter& parameter) {
    return parameter.sources[0].name.starts_with("blk.2.");
  };
  std::erase_if(parameters.matrices, of_last_layer);
  std::erase_if(parameters.tables, of_last_layer);
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
  const ModelSpec& spec = single.description.spec;
  for (int64_t layer = 0; layer < spec.layer_count(); ++layer) {
    for (const char* kind : {"gate", "up", "down"}) {
      const auto node = single.map.extract(fmt::format("blk.{}.ffn_{}_exps.weight", layer, kind));
      for (int64_t expert = 0; expert < spec.expert_count(); ++expert) {
        single.map[fmt::format("blk.{}.ffn_{}.{}.weight", layer, kind, expert)] =
            node.mapped()[expert];
      }
    }
  }
  const ModelTensors a = stacked.Bind().value();
  const auto b = single.Bind();
  ASSERT_TRUE(b) << b.error().message;
  for (size_t i = 0; i < a.stacks.size(); ++i) {
    for (size_t expert = 0; expert < 6; ++expert) {
      EXPECT_EQ(Values(a.stacks[i][expert]), Values(b->stacks[i][expert]));
    }
  }
}

}  // namespace
}  // namespace weft
