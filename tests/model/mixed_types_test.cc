// Experts and the MLP beside them may have weights of other types, whose products read other
// operands: neither half's result depends on the types of the other, and the laws hold.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "model/tensor_binding.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/model_fixture.h"
#include "tests/model/parity_fixture.h"

namespace weft {
namespace {

using Rows = std::vector<std::vector<float>>;

// Both read one norm; or each has norms of its own.
constexpr std::string_view kConfigs[] = {
    R"({"architectures": ["Qwen2MoeForCausalLM"], "vocab_size": 96, "max_position_embeddings": 128,
        "num_hidden_layers": 1, "hidden_size": 256, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 256, "moe_intermediate_size": 256,
        "shared_expert_intermediate_size": 512, "num_experts": 3, "num_experts_per_tok": 2})",
    R"({"architectures": ["Gemma4ForCausalLM"], "vocab_size": 96, "max_position_embeddings": 128,
        "num_hidden_layers": 1, "hidden_size": 256, "num_attention_heads": 4, "head_dim": 64,
        "global_head_dim": 64, "num_key_value_heads": 2, "intermediate_size": 512,
        "hidden_size_per_layer_input": 0, "enable_moe_block": true, "moe_intermediate_size": 256,
        "num_experts": 3, "top_k_experts": 2})"};

struct MlpTypes {
  DataType gate;
  DataType up;
  DataType down;
};
struct Types {
  MlpTypes routed;
  MlpTypes shared;
};
constexpr MlpTypes All(DataType type) { return {type, type, type}; }

// Of a half that is silent, what comes out is 0.
enum class Silent { kNeither, kRouted, kShared };

// Random weights under the names of the parameters, the same ones for the same type.
class RandomTensors {
 public:
  RandomTensors(ModelDescription description, const Types& types, Silent silent)
      : description_(std::move(description)) {
    const ParameterList& parameters = description_.parameters;
    for (size_t i = 0; i < parameters.matrices.size(); ++i) {
      const auto [type, is_silent] = TypeOf(static_cast<MatrixId>(i), types, silent);
      Add(parameters.matrices[i], type, is_silent);
    }
    for (size_t i = 0; i < parameters.stacks.size(); ++i) {
      const auto [type, is_silent] = TypeOf(static_cast<StackId>(i), types, silent);
      Add(parameters.stacks[i], type, is_silent);
    }
    for (const Parameter& table : parameters.tables) Add(table, DataType::kF32, false);
  }

  Checkpoint Bind() const {
    Checkpoint checkpoint;
    checkpoint.tensors = BindTensors(map_, description_, "random").value();
    checkpoint.spec = description_.spec;
    return checkpoint;
  }

 private:
  using TypeAndSilence = std::pair<DataType, bool>;

  TypeAndSilence TypeOf(MatrixId id, const Types& types, Silent silent) const {
    for (const LayerSpec& layer : description_.spec.layers) {
      const DenseMlpSpec& shared = layer.mixture()->shared;
      if (id == shared.gate.weights) return {types.shared.gate, false};
      if (id == shared.up.weights) return {types.shared.up, false};
      if (id == shared.down.weights) return {types.shared.down, silent == Silent::kShared};
    }
    return {DataType::kBF16, false};
  }
  TypeAndSilence TypeOf(StackId id, const Types& types, Silent silent) const {
    for (const LayerSpec& layer : description_.spec.layers) {
      if (id == layer.mixture()->gate) return {types.routed.gate, false};
      if (id == layer.mixture()->up) return {types.routed.up, false};
    }
    return {types.routed.down, silent == Silent::kRouted};
  }

  void Add(const Parameter& parameter, DataType type, bool is_silent) {
    const bool is_vector = parameter.columns == 0;
    for (int64_t i = 0; i < parameter.count; ++i) {
      FileMatrix& matrix = matrices_.emplace_back(RandomMatrix(
          type, parameter.rows, is_vector ? 1 : parameter.columns, Scales::kOrdinary, random_));
      if (is_silent) std::fill(matrix.bytes.begin(), matrix.bytes.end(), std::byte{0});
      std::string name = parameter.sources.front().name;
      const size_t at = name.find("{}");
      if (at != std::string::npos) name.replace(at, 2, std::to_string(i));
      map_[name] = is_vector ? TensorView::Contiguous(matrix.bytes.data(), type, {parameter.rows})
                             : matrix.view;
      // Whatever was drawn for this one, the next begins at a place of its own.
      random_ = Random(map_.size());
    }
  }

  ModelDescription description_;
  Random random_{0};
  std::vector<FileMatrix> matrices_;
  TensorMap map_;
};

RandomTensors Tensors(std::string_view config, const Types& types, Silent silent) {
  return {DescribeHf(ReadConfigJson(config, "config.json").value(), "config.json").value(), types,
          silent};
}

Rows LogitsOf(const RandomTensors& tensors, const RunOptions& options, size_t chunk_size) {
  RunnableModel model(tensors.Bind(), options);
  std::vector<TokenId> tokens;
  for (TokenId i = 0; i < 24; ++i) tokens.push_back((i * i * 7 + 3) % 96);
  return model.RunSequence(tokens, chunk_size);
}

RunOptions Int8(Isa isa) { return {.arithmetic = Arithmetic::kInt8, .isa = isa}; }

TEST(MixedTypesTest, NeitherHalfDependsOnTheTypesOfTheOther) {
  constexpr MlpTypes kHeard[] = {All(DataType::kBF16),
                                 All(DataType::kQ8_0),
                                 {DataType::kQ8_0, DataType::kBF16, DataType::kQ8_0}};
  constexpr DataType kOthers[] = {DataType::kBF16, DataType::kF16, DataType::kF32, DataType::kQ8_0,
                                  DataType::kQ4_K};
  for (const std::string_view config : kConfigs) {
    for (const MlpTypes& heard : kHeard) {
      const auto logits = [&](const Types& types, Silent silent) {
        return LogitsOf(Tensors(config, types, silent), Int8(ChooseIsa().value()), 1000);
      };
      const Rows routed = logits({heard, heard}, Silent::kShared);
      const Rows shared = logits({heard, heard}, Silent::kRouted);
      EXPECT_NE(routed, shared);
      SCOPED_TRACE(&heard - kHeard);
      for (const DataType type : kOthers) {
        EXPECT_EQ(logits({heard, All(type)}, Silent::kShared), routed)
            << "experts beside " << TraitsOf(type).name;
        EXPECT_EQ(logits({All(type), heard}, Silent::kRouted), shared)
            << "beside experts of " << TraitsOf(type).name;
      }
    }
  }
}

// As quantised files mix them, and a few that none does.
constexpr Types kMixes[] = {
    {All(DataType::kQ4_K), All(DataType::kBF16)},
    {All(DataType::kF16), All(DataType::kQ8_0)},
    {{DataType::kQ4_K, DataType::kQ4_K, DataType::kQ6_K}, All(DataType::kF32)},
    {{DataType::kQ4_K, DataType::kQ4_K, DataType::kBF16},
     {DataType::kBF16, DataType::kBF16, DataType::kQ8_0}},
    {{DataType::kQ8_0, DataType::kBF16, DataType::kQ8_0},
     {DataType::kF16, DataType::kQ8_0, DataType::kF16}},
};

// Either half alone, since both could be wrong in the same way.
TEST(MixedTypesTest, EachHalfIsCloseToFloat32) {
  const Isa isa = ChooseIsa().value();
  for (const std::string_view config : kConfigs) {
    for (const Types& types : kMixes) {
      SCOPED_TRACE(&types - kMixes);
      for (const Silent silent : {Silent::kRouted, Silent::kShared}) {
        const RandomTensors tensors = Tensors(config, types, silent);
        const Rows exact = LogitsOf(tensors, {.arithmetic = Arithmetic::kF32, .isa = isa}, 1000);
        EXPECT_LT(RelativeError(LogitsOf(tensors, Int8(isa), 1000), exact), 0.03);
      }
    }
  }
}

TEST(MixedTypesTest, TheLawsHold) {
  for (const std::string_view config : kConfigs) {
    for (const Types& types : kMixes) {
      SCOPED_TRACE(&types - kMixes);
      const RandomTensors tensors = Tensors(config, types, Silent::kNeither);
      const Rows expected = LogitsOf(tensors, Int8(Isa::kScalar), 1000);
      for (const Isa isa : IsasHere()) {
        RunOptions options = Int8(isa);
        EXPECT_EQ(LogitsOf(tensors, options, 1), expected) << NameOf(isa);
        options.thread_count = 3;
        EXPECT_EQ(LogitsOf(tensors, options, 7), expected) << NameOf(isa) << ", 3 threads";
      }
    }
  }
}

}  // namespace
}  // namespace weft
